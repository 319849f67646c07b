package middleware

import "github.com/tegenaria/tegenaria"

// Standard returns the recommended middlewares, new ones with each call: [TrapGuard], [DefaultHeaders], [Retry],
// [MetaRefresh] and [Cookies], all with their defaults. The User-Agent is Politeness.UserAgent, which the engine
// sends without a middleware.
//
// The other middlewares need settings (Scope, BasicAuth, UserAgents), cost time for each
// link (Referer and the other filters), or drop pages that a crawl may want (RobotsTags, HTTPErrors).
func Standard() []tegenaria.MiddlewaresInterface {
	return []tegenaria.MiddlewaresInterface{
		NewTrapGuard(TrapOptions{}),
		NewDefaultHeaders(nil),
		NewRetry(RetryOptions{}),
		NewMetaRefresh(MetaRefreshOptions{}),
		NewCookies(CookieOptions{}),
	}
}

// The places of the middlewares, see the table in the package comment.
const (
	priorityLostHosts      = 40
	priorityScope          = 50
	priorityURLLength      = 60
	priorityDepth          = 70
	priorityTrapGuard      = 100
	priorityBasicAuth      = 300
	priorityDefaultHeaders = 400
	priorityUserAgents     = 450
	priorityReferer        = 500
	priorityRetry          = 550
	priorityHTTPErrors     = 590
	priorityRobotsTags     = 600
	priorityMetaRefresh    = 650
	priorityCookies        = 700
	priorityBlocks         = 750
)
