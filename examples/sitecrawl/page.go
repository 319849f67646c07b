package main

import (
	"context"
	"mime"
	"net/http"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/links"
)

// page is one line of output.
type page struct {
	URL      string `json:"url"`
	FinalURL string `json:"final_url"`
	Status   int    `json:"status"`
	Depth    int    `json:"depth"`
	Title    string `json:"title"`
	Words    int    `json:"words"`
	Links    int    `json:"links"`
}

// read is the parser of all pages. The item comes last: when the parser fails there is no line.
func read(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[page]) error {
	r := resp.Request()
	p := page{URL: bare(r.Url), FinalURL: bare(resp.URL), Status: resp.Status, Depth: r.Depth}
	if len(r.Redirects) > 0 {
		p.URL = bare(r.Redirects[0])
	}
	if isHTML(resp) {
		p.Title = resp.CSS("title:not(svg title)").First().Text()
		for range strings.FieldsSeq(resp.CSS("body").Text()) {
			p.Words++
		}
		found := resp.Links() // each once, so that the page is read once for both
		p.Links = len(found)
		for _, link := range found {
			if err := out.Follow(link.URL); err != nil {
				return err
			}
		}
		if err := followRefresh(resp, out); err != nil {
			return err
		}
	}
	return out.Item(p)
}

// isHTML reports whether a response is a page with links and text: by its Content-Type, or by what the body
// looks like if there is none.
func isHTML(resp *tegenaria.Response) bool {
	contentType := http.Header(resp.Header).Get("Content-Type")
	if contentType == "" {
		contentType = http.DetectContentType(resp.Bytes())
	}
	media, _, _ := mime.ParseMediaType(contentType) // it is returned even if a parameter is wrong
	return media == "text/html" || media == "application/xhtml+xml"
}

// maxRefreshes is how many meta refreshes in a row keep the depth, as MaxRedirects for redirects. What
// follows is a link like any other, so that -depth bounds it.
const maxRefreshes = tegenaria.DefaultMaxRedirects

// refreshes is the key in Request.Meta of the number of refreshes in a row that led to a page.
const refreshes = "refreshes"

// followRefresh follows the page's meta refresh, whatever its time.
func followRefresh(resp *tegenaria.Response, out *tegenaria.Output[page]) error {
	if resp.CSS("meta[http-equiv]").Len() == 0 { // most pages need not be copied
		return nil
	}
	text, err := resp.Text()
	if err != nil {
		return err
	}
	target, _, ok := links.Refresh([]byte(text), resp.URL)
	if !ok {
		return nil
	}
	n, _ := resp.Request().Meta[refreshes].(int)
	if n == maxRefreshes {
		return out.Follow(target)
	}
	return out.Follow(target, tegenaria.RequestWithSameDepth(),
		tegenaria.RequestWithRequestMeta(map[string]any{refreshes: n + 1}))
}
