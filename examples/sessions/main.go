// Command sessions reads a library through three proxies: as two readers, who have a login each, and as three visitors. Library and proxies
// are served on loopback by the program itself. Each line says who has asked for a page, and through which proxy; #1 is the first visitor.
//
// After some pages the proxy of a reader breaks down, and the reader logs in again through another one. The library bans each visitor after
// six pages, and another visitor takes over. Nothing is sent without a proxy.
//
//	go run ./examples/sessions
//
//	bob  through north  all that is on loan to bob
//	ann  through south  all that is on loan to ann
//	ann  through south  Middlemarch, on loan to ann
//	#1   through east   all that is on the shelf
//	…
//	ann  through east   Hamlet, on loan to ann
//	#4   through east   Dubliners, on the shelf
//	…
//	north: 36 requests, 0 failed
//	east: 17 requests, 0 failed
//	south: 9 requests, 3 failed
//	2 readers, 8 visitors; thrown away: map[blocked: status 403:4 proxy not used:1]
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/proxy"
	"github.com/tegenaria/tegenaria/session"
)

// page is what the crawl prints of each page.
type page struct{ Who, Proxy, Title string }

// reading is a crawl of a library.
type reading struct {
	library   string            // its URL
	passwords map[string]string // by reader
	proxies   map[string]string // names by URL
}

// spider begins with the shelf, which any visitor may ask for, and with the loans of each reader: one URL, in a session of each.
func (r reading) spider() tegenaria.SpiderInterface {
	requests := []*tegenaria.Request{tegenaria.NewRequest(r.library+"/shelf", tegenaria.GET, nil)}
	for reader := range r.passwords {
		requests = append(requests, tegenaria.NewRequest(r.library+"/loans", tegenaria.GET, nil, session.As(reader)))
	}
	return tegenaria.NewSpiderOf("library", tegenaria.Handle(r.parse), requests...)
}

// parse says who has asked for a page. Its links are followed by the same reader, or by any visitors.
func (r reading) parse(_ context.Context, response *tegenaria.Response, out *tegenaria.Output[page]) error {
	who := session.Of(response)
	if err := out.Item(page{who.Name(), r.proxies[response.Request().Proxy.ProxyUrl], response.CSS("h1").Text()}); err != nil {
		return err
	}
	if !who.HasName() {
		return out.FollowLinks()
	}
	return out.FollowLinks(session.As(who.Name())) // a link leaves the session unless it names it
}

// login fills in the form of the library, for the session of a reader. A visitor needs none.
func (r reading) login(l *session.Login) error {
	if !l.Session().HasName() {
		return nil
	}
	response, err := l.Fetch(tegenaria.NewRequest(r.library+"/login", tegenaria.GET, nil))
	if err != nil {
		return err
	}
	form, err := response.Form("form")
	if err != nil {
		return err
	}
	form.Set("reader", l.Session().Name())
	form.Set("password", r.passwords[l.Session().Name()])
	request, err := form.Request()
	if err != nil {
		return err
	}
	if response, err = l.Fetch(request); err == nil && isForm(response) {
		err = errors.New("the library has not let us in")
	}
	return err
}

// isForm reports whether the library asks for a login.
func isForm(response *tegenaria.Response) bool { return response.CSS("h1").Text() == "log in" }

// crawl prints each page when it comes, and in the end what the proxies and the sessions have done.
func (r reading) crawl(ctx context.Context, w io.Writer) error {
	var urls []string
	for url := range r.proxies {
		urls = append(urls, url)
	}
	sessions := session.NewPool(session.Options{
		Size:    3,
		Login:   r.login,
		Expired: isForm,
		Proxies: proxy.NewPool(proxy.List(urls...), proxy.Options{Choose: proxy.InTurn}),
	})
	blocks := middleware.NewBlocks(middleware.BlockRules{Status: []int{http.StatusForbidden}})
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(r.spider()),
		tegenaria.EngineWithMiddlewares(append(middleware.Standard(), sessions, blocks)...),
		tegenaria.EngineWithItemConcurrency(1), // one line at a time
		tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(_ context.Context, p page) (page, error) {
			_, err := fmt.Fprintf(w, "%-4s through %-6s %s\n", p.Who, p.Proxy, p.Title)
			return p, err
		})),
		tegenaria.EngineWithQuiet(),
	)
	if err := engine.Run(ctx, "library"); err != nil {
		return err
	}
	stats := engine.Stats()
	for _, p := range stats.Proxies {
		fmt.Fprintf(w, "%s: %d requests, %d failed\n", r.proxies[p.Name], p.Requests, p.Errors)
	}
	s := stats.Sessions
	_, err := fmt.Fprintf(w, "%d readers, %d visitors; thrown away: %v\n", s.Named, s.Nameless, s.Reasons)
	return err
}

func main() {
	l := openLibrary()
	defer l.close()
	if err := l.reading().crawl(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
