package main

import (
	"slices"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/spiders"
)

// spider starts from the URLs and, with -sitemaps, from what the sitemaps of their sites name.
func (o *options) spider() tegenaria.SpiderInterface {
	if !o.sitemaps {
		return tegenaria.NewSpider(o.name(), tegenaria.Handle(read), o.urls...)
	}
	var sites []string
	for _, raw := range o.urls {
		if origin := urlx.Origin(raw); !slices.Contains(sites, origin) {
			sites = append(sites, origin)
		}
	}
	return &mappedSpider{spiders.NewSitemap(o.name(), tegenaria.Handle(read), sites...), o.urls}
}

// mappedSpider has URLs to start from beside the sitemaps.
type mappedSpider struct {
	*spiders.Sitemap
	urls []string
}

// StartRequest sends the URLs, then the sites.
func (s *mappedSpider) StartRequest(req chan<- *tegenaria.Context) {
	for _, url := range s.urls {
		req <- tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil))
	}
	s.Sitemap.StartRequest(req)
}
