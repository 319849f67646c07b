// Package middleware holds the standard middlewares of a crawl: what stands between "a request may go now" and
// "this response may be parsed".
//
// [Standard] is the recommended set, in one line:
//
//	tegenaria.EngineWithMiddlewares(middleware.Standard()...)
//
// Each middleware is one file and one constructor, New and its name. Most take a struct of options whose zero value
// is a sane default; its Priority of 0 keeps the place in the table. All are safe for concurrent use, and what
// they remember is bounded. Requests pass them by ascending priority, responses by descending; filters are asked
// in ascending order when a request is accepted:
//
//	 50  Scope           refuses foreign hosts, ports, paths                    filter
//	 60  URLLength       refuses long URLs                                      filter
//	 70  Depth           refuses deep pages; breadth or depth first             filter
//	100  TrapGuard       ends endless spaces of URLs                            in Standard
//	300  BasicAuth       logs in, by origin
//	400  DefaultHeaders  Accept and Accept-Language                             in Standard
//	450  UserAgents      rotates User-Agent
//	500  Referer         sends Referer as the page's Referrer Policy allows     filter
//	550  Retry           tries again what may be better next time               in Standard
//	590  HTTPErrors      fails or drops what is not 2xx
//	600  RobotsTags      obeys X-Robots-Tag, meta robots, rel=nofollow          filter
//	650  MetaRefresh     follows <meta http-equiv=refresh>                      in Standard
//	700  Cookies         keeps cookies in named jars                            in Standard
//
// A filter sees each link before it is queued. That has its price: with a filter every link becomes a request
// object before it is known to be new, so a page of ten links costs about 70 % more of the framework's own time.
// Standard has none. For domains and depth alone the engine's EngineWithAllowedDomains and Limits.Depth are
// cheaper than [Scope] and [Depth]; its Limits.URLLength holds in any case.
package middleware
