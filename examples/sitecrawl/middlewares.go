package main

import (
	"slices"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/middleware"
)

// middlewares is the standard set, with a timeout and the logins. A meta refresh is not followed as a redirect would
// be: a page that has one is a page with a line, see followRefresh.
func (o *options) middlewares() []tegenaria.MiddlewaresInterface {
	set := slices.DeleteFunc(middleware.Standard(), func(m tegenaria.MiddlewaresInterface) bool {
		_, ok := m.(*middleware.MetaRefresh)
		return ok
	})
	set = append(set, timeout(o.timeout))
	if o.auth != nil {
		set = append(set, o.auth)
	}
	switch o.render {
	case "auto":
		set = append(set, browser.Adaptive(browser.AdaptiveOptions{}))
	case "always":
		set = append(set, tegenaria.MiddlewareFuncs{Name: "render", Request: func(ctx *tegenaria.Context) error {
			tegenaria.RequestWithDownloader("browser")(ctx.Request)
			return nil
		}})
	}
	return set
}

// timeout is a middleware that gives every request, also those for robots.txt, its timeout.
type timeout time.Duration

// GetName is part of tegenaria.MiddlewaresInterface.
func (timeout) GetName() string { return "timeout" }

// GetPriority is part of tegenaria.MiddlewaresInterface.
func (timeout) GetPriority() int { return 0 }

// SeesInternal makes robots.txt pass too.
func (timeout) SeesInternal() bool { return true }

// ProcessRequest sets the timeout.
func (t timeout) ProcessRequest(ctx *tegenaria.Context) error {
	tegenaria.RequestWithTimeout(time.Duration(t))(ctx.Request)
	return nil
}

// ProcessResponse does nothing.
func (timeout) ProcessResponse(*tegenaria.Context, chan<- *tegenaria.Context) error { return nil }
