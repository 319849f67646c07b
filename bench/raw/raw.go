//go:build unix

// Package raw is a crawl without a framework, as one writes it by hand on net/http: workers, a mutex, a map of known
// URLs, a slice that waits. It stops at the first error.
package raw

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"

	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/site"
)

// Page is what a reader found in a page. Links are strings where they are made as strings, otherwise bytes: most are
// known already, and need no string then.
type Page[L string | []byte] struct {
	Links   []L // absolute URLs without fragments
	Item    site.Item
	HasItem bool
}

// Reader reads a page. The body is overwritten when it has returned, and so may be the Links it returned before.
type Reader[L string | []byte] func(address string, body []byte) (Page[L], error)

// Crawl does the job. Each worker has a reader of its own.
func Crawl[L string | []byte](j job.Job, newReader func() Reader[L]) (err error) {
	start, err := url.Parse(j.URL)
	if err != nil {
		return err
	}
	transport, err := j.Transport()
	if err != nil {
		return err
	}
	items, err := j.Items()
	if err != nil {
		return err
	}
	f := &frontier{waiting: []string{start.String()}, seen: map[string]struct{}{start.String(): {}}}
	f.more.L = &f.mu
	if !j.AnyHost {
		f.prefix = start.Scheme + "://" + start.Host + "/"
	}
	var workers sync.WaitGroup
	for range j.Concurrency {
		w := worker[L]{client: &http.Client{Transport: transport}, read: newReader(), items: items, frontier: f}
		workers.Go(w.work)
	}
	workers.Wait()
	return errors.Join(f.err, items.Close())
}

// frontier is what is known and what waits.
type frontier struct {
	prefix string // of the URLs that belong to the crawl

	mu      sync.Mutex // guards the fields below
	more    sync.Cond
	waiting []string
	first   int // of waiting that was not taken
	seen    map[string]struct{}
	busy    int
	err     error
}

// next takes a URL; ok is false at the end.
func (f *frontier) next() (address string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.first == len(f.waiting) && f.busy > 0 && f.err == nil {
		f.more.Wait()
	}
	if f.first == len(f.waiting) || f.err != nil {
		return "", false
	}
	address = f.waiting[f.first]
	f.waiting[f.first] = ""
	f.first++
	f.busy++
	return address, true
}

// done ends a page.
func done[L string | []byte](f *frontier, links []L, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, link := range links {
		if len(link) < len(f.prefix) || string(link[:len(f.prefix)]) != f.prefix {
			continue
		}
		if _, known := f.seen[string(link)]; !known {
			address := string(link)
			f.seen[address] = struct{}{}
			f.waiting = append(f.waiting, address)
		}
	}
	if f.err == nil {
		f.err = err
	}
	f.busy--
	f.more.Broadcast()
}

type worker[L string | []byte] struct {
	client   *http.Client
	read     Reader[L]
	items    *job.Items
	frontier *frontier
	body     bytes.Buffer
}

func (w *worker[L]) work() {
	for {
		address, ok := w.frontier.next()
		if !ok {
			return
		}
		links, err := w.page(address)
		done(w.frontier, links, err)
	}
}

func (w *worker[L]) page(address string) ([]L, error) {
	resp, err := w.client.Get(address)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, resp.Status)
	}
	w.body.Reset()
	if _, err := w.body.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	page, err := w.read(address, w.body.Bytes())
	if err == nil && page.HasItem {
		w.items.Add(page.Item)
	}
	return page.Links, err
}

// Resolve makes a reference absolute by net/url, without its fragment.
func Resolve(base *url.URL, reference string) (string, error) {
	u, err := base.Parse(reference)
	if err != nil {
		return "", err
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String(), nil
}
