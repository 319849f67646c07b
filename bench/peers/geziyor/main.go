//go:build unix

// Command geziyor is geziyor as its documentation shows it, with its own exporter. We cut the fragments off: to geziyor a
// page with another fragment is another page.
package main

import (
	"net/url"

	"github.com/PuerkitoBio/goquery"
	"github.com/geziyor/geziyor"
	"github.com/geziyor/geziyor/client"
	"github.com/geziyor/geziyor/export"
	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/peers/shop"
)

func main() { job.Main(run) }

func run(j job.Job) error {
	start, err := url.Parse(j.URL)
	if err != nil {
		return err
	}
	config, err := j.TLS()
	if err != nil {
		return err
	}
	g := geziyor.NewGeziyor(&geziyor.Options{
		StartURLs: []string{j.URL}, AllowedDomains: []string{start.Host}, ConcurrentRequests: j.Concurrency,
		RobotsTxtDisabled: true, LogDisabled: true, Exporters: []export.Exporter{&export.JSONLine{FileName: j.Out}},
		ParseFunc: parse,
	})
	if config != nil {
		transport, err := j.Transport()
		if err != nil {
			return err
		}
		g.Client.Transport = transport
	}
	g.Start()
	return nil
}

func parse(g *geziyor.Geziyor, r *client.Response) {
	r.HTMLDoc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
		if link := job.WithoutFragment(r.JoinURL(a.AttrOr("href", ""))); link != "" {
			g.Get(link, parse)
		}
	})
	if it, ok := shop.Item(r.HTMLDoc.Selection); ok {
		g.Exports <- it
	}
}
