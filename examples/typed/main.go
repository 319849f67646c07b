// Command typed is a spider without channels and type assertions: a handler and pipelines of one item type,
// and a loop over what came through. To each quote of the demo site, which the program serves itself on
// loopback, it adds the years of the author's life from another page, and prints the short ones.
//
//	go run ./examples/typed
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
)

// Quote is the item.
type Quote struct{ Text, Author, Life string }

// reader parses the pages. Several pages may be parsed at the same time.
type reader struct {
	mu    sync.Mutex // guards lives
	lives map[string]string
}

// quotes reads a page of quotes. The next page follows at the end, so that it finds all authors known whom
// this page has fetched.
func (r *reader) quotes(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[Quote]) error {
	for _, q := range page.CSS("div.quote").All() {
		life, err := r.life(page, out, q.CSS("a[href^='/author/']").Attr("href"))
		if err != nil {
			return err
		}
		if err := out.Item(Quote{q.CSS("span.text").Text(), q.CSS("small.author").Text(), life}); err != nil {
			return err
		}
	}
	return out.Follow(page.CSS("li.next a").Attr("href"))
}

// life fetches an author's page inline: the handler goes on when it is there. Fetch obeys robots.txt and
// the site's delay like any request, but it does not know what was fetched before.
func (r *reader) life(page *tegenaria.Response, out *tegenaria.Output[Quote], href string) (string, error) {
	r.mu.Lock()
	life, known := r.lives[href]
	r.mu.Unlock()
	if known {
		return life, nil
	}
	request, err := page.Follow(href)
	if err != nil {
		return "", err
	}
	author, err := out.Fetch(request)
	if err != nil {
		return "", err
	}
	life = author.CSS(".author-life").Text()
	r.mu.Lock()
	r.lives[href] = life
	r.mu.Unlock()
	return life, nil
}

// unquote is a pipeline: it returns the item that the next one gets.
func unquote(_ context.Context, q Quote) (Quote, error) {
	q.Text = strings.Trim(q.Text, "“”")
	return q, nil
}

var errLong = errors.New("too long")

// short is a pipeline that lets only short quotes pass.
func short(_ context.Context, q Quote) (Quote, error) {
	if utf8.RuneCountInString(q.Text) > 50 {
		return q, tegenaria.DropItem(errLong)
	}
	return q, nil
}

func main() {
	site := demosite.MustStart()
	err := run(context.Background(), site.URL(), os.Stdout)
	if err = errors.Join(err, site.Close()); err != nil {
		log.Fatal(err)
	}
}

// run crawls the site at that address and prints a line for each quote that passed the pipelines.
func run(ctx context.Context, site string, w io.Writer) error {
	r := &reader{lives: make(map[string]string)}
	spider := tegenaria.NewSpider("quotes", tegenaria.Handle(r.quotes), site+"/quotes/")
	pipelines := tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, unquote), tegenaria.PipelineFunc(2, short))
	for q, err := range tegenaria.Crawl[Quote](ctx, spider, pipelines) {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%-22s (%s)  %s\n", q.Author, q.Life, q.Text); err != nil {
			return err
		}
	}
	return nil
}
