// Package middleware has the standard middlewares of a crawl. They see each request before it is sent, and each
// response before it is parsed.
//
// [Standard] is the recommended set, in one line:
//
//	tegenaria.EngineWithMiddlewares(middleware.Standard()...)
//
// Each middleware has one constructor, New and its name. Most take a struct of options whose zero value
// is a sane default; a Priority of 0 means that of the table. All are safe for concurrent use, and the memory that
// they take is bounded. Requests pass them by ascending priority, responses by descending; filters are called
// in ascending order when a request is accepted:
//
//	 40  (of Blocks)     gives up requests to hosts that block them all
//	 50  Scope           refuses foreign hosts, ports, paths                    filter
//	 60  URLLength       refuses long URLs                                      filter
//	 70  Depth           refuses deep pages; breadth or depth first             filter
//	100  TrapGuard       filters the URLs of crawler traps                      in Standard
//	300  BasicAuth       logs in, by origin
//	400  DefaultHeaders  Accept and Accept-Language                             in Standard
//	450  UserAgents      rotates User-Agent
//	500  Referer         sends Referer as the page's Referrer Policy allows     filter
//	550  Retry           retries temporary failures                             in Standard
//	590  HTTPErrors      fails or filters responses without a 2xx status
//	600  RobotsTags      obeys X-Robots-Tag, meta robots, rel=nofollow          filter
//	650  MetaRefresh     follows a Refresh header or meta element               in Standard
//	700  Cookies         keeps cookies in named jars                            in Standard
//	750  Blocks          ends attempts whose answers are blocks, not pages
//
// A filter sees each link before it is queued. This has a price: with a filter a request is allocated for every link,
// even for duplicates, so a page of ten links takes about 70 % more of the framework's own time.
// Standard has no filter. For domains and depth alone the engine's EngineWithAllowedDomains and Limits.Depth are
// cheaper than [Scope] and [Depth]; its Limits.URLLength applies in any case.
package middleware
