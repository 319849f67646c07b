package main

import (
	"context"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/spiders"
)

// page is one line of output.
type page spiders.SitePage

// The refreshes in a row that led to a page, and how many of them keep the depth.
const (
	refreshes    = spiders.MetaRefreshes
	maxRefreshes = spiders.MaxRefreshes
)

// read is the parser of all pages.
func read(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[page]) error {
	return spiders.ReadSite(resp, out, func(p spiders.SitePage) page { return page(p) })
}

// spider starts from the URLs and, with -sitemaps, from what the sitemaps of their sites name.
func (o *options) spider() *spiders.Site {
	return spiders.NewSite(o.name(), o.sitemaps, tegenaria.Handle(read), o.urls...)
}
