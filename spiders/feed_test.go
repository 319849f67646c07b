package spiders_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/records"
	"github.com/tegenaria/tegenaria/spiders"
	"github.com/tegenaria/tegenaria/spidertest"
)

// paper is a site whose feed changes: at each request its next edition is out. It notes what it was asked, and how.
type paper struct {
	editions []string // titles of entries, the newest first; "=" is as before, "503" an error, "!" a broken feed
	modified bool     // it sends Last-Modified instead of an ETag

	mu  sync.Mutex // guards below
	at  int
	log []string
}

func (p *paper) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	edition := p.editions[min(p.at, len(p.editions)-1)]
	p.at++
	was := r.Header.Get("If-None-Match") + r.Header.Get("If-Modified-Since")
	if edition == "=" {
		w.WriteHeader(http.StatusNotModified)
		p.log = append(p.log, was+" 304")
		return
	}
	if edition == "503" {
		w.WriteHeader(http.StatusServiceUnavailable)
		p.log = append(p.log, was+" 503")
		return
	}
	tag := fmt.Sprintf(`"%d"`, p.at)
	if p.modified {
		tag = fmt.Sprintf("Mon, 02 Jan 2006 15:04:%02d GMT", p.at)
		w.Header().Set("Last-Modified", tag)
	} else {
		w.Header().Set("ETag", tag)
	}
	io.WriteString(w, rssOf(strings.Fields(strings.TrimSuffix(edition, "!"))...))
	if !strings.HasSuffix(edition, "!") {
		io.WriteString(w, "</channel></rss>")
	}
	p.log = append(p.log, was+" 200")
}

// rssOf is a feed without its end.
func rssOf(titles ...string) string {
	var b strings.Builder
	b.WriteString("<rss version='2.0'><channel><title>News</title>")
	for _, title := range titles {
		fmt.Fprintf(&b, "<item><title>%s</title><guid>%s</guid><link>/%[1]s</link></item>", title, title)
	}
	return b.String()
}

// titles is a func that makes an item of an entry's title.
func titles(_ context.Context, entry *records.Entry, out *tegenaria.Output[string]) error {
	if entry.Title == "bad" {
		return errors.New("a bad entry")
	}
	return out.Item(entry.Title)
}

// gather runs a spider for a time, and returns the items, sorted.
func gather(t *testing.T, handler http.Handler, spider tegenaria.SpiderInterface, limit time.Duration, options ...tegenaria.EngineOption) (items []string, stats tegenaria.Stats) {
	t.Helper()
	network := spidertest.NewWeb(handler)
	defer network.Close()
	var mu sync.Mutex // guards items
	pipeline := tegenaria.PipelineFunc(1, func(_ context.Context, item string) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		items = append(items, item)
		return item, nil
	})
	all := []tegenaria.EngineOption{tegenaria.EngineWithSpiders(spider), silent, tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithPipelines(pipeline),
		tegenaria.EngineWithHTTPClient(network.Client()), tegenaria.EngineWithLimits(tegenaria.Limits{Time: limit})}
	e := tegenaria.NewSpiderEngine(append(all, options...)...)
	err := e.Run(t.Context(), spider.GetName())
	var stopped *tegenaria.StoppedError
	if err != nil && !errors.As(err, &stopped) {
		t.Errorf("Run: %v", err)
	}
	slices.Sort(items) // they pass the pipelines concurrently
	return items, e.Stats()
}

func TestFeedRounds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		editions []string
		modified bool
		items    string
		log      []string
	}{
		{"new entries", []string{"b a", "=", "c b a", "d c"}, false, "a b c d", []string{" 200", `"1" 304`, `"1" 200`, `"3" 200`}},
		{"by date", []string{"a", "=", "b a", "="}, true, "a b",
			[]string{" 200", "Mon, 02 Jan 2006 15:04:01 GMT 304", "Mon, 02 Jan 2006 15:04:01 GMT 200", "Mon, 02 Jan 2006 15:04:03 GMT 304"}},
		{"one that comes again", []string{"a", "b", "a b", "="}, false, "a b", []string{" 200", `"1" 200`, `"2" 200`, `"3" 304`}},
		{"an error", []string{"a", "503", "b a", "="}, false, "a b", []string{" 200", `"1" 503`, `"1" 200`, `"3" 304`}},
		{"a broken one is asked for without conditions", []string{"b a!", "b a", "=", "="}, false, "a b", []string{" 200", " 200", `"2" 304`, `"2" 304`}},
		{"a bad entry is new again", []string{"bad a", "bad a", "=", "="}, false, "a", []string{" 200", " 200", " 304", " 304"}},
		{"twice in one", []string{"a a", "=", "=", "="}, false, "a", []string{" 200", `"1" 304`, `"1" 304`, `"1" 304`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &paper{editions: tt.editions, modified: tt.modified}
				spider := spiders.NewFeed("news", titles, "http://a.test/feed")
				spider.Every = time.Hour
				items, _ := gather(t, p, spider, 3*time.Hour+time.Minute)
				if got := strings.Join(items, " "); got != tt.items {
					t.Errorf("items %s, want %s", got, tt.items)
				}
				if !slices.Equal(p.log, tt.log) {
					t.Errorf("asked %q, want %q", p.log, tt.log)
				}
			})
		})
	}
}

// Entries that share a key are told apart by what they say, and those that were corrected do not come again.
func TestFeedSharedKeys(t *testing.T) {
	item := func(title, fields string) string { return "<item><title>" + title + "</title>" + fields + "</item>" }
	const guid, link = "<guid isPermaLink='false'>http://a.test/</guid>", "<link>/</link>"
	a, b, c := item("a", guid), item("b", guid), item("c", guid)
	for _, tt := range []struct {
		name    string
		answers []string // the entries of each
		items   string
	}{
		{"a guid", []string{c + b + a}, "a b c"},
		{"no guid and a link", []string{item("c", link) + item("b", link) + item("a", link)}, "a b c"},
		{"a guid, and other links", []string{item("x", guid+"<link>/1</link>") + item("x", guid+"<link>/2</link>")}, "x x"},
		{"a guid, and other files", []string{item("x", guid+"<enclosure url='/1.mp3'/>") + item("x", guid+"<enclosure url='/2.mp3'/>")}, "x x"},
		{"a guid, and other texts", []string{item("x", guid+"<description>1</description>") + item("x", guid+"<description>2</description>")}, "x x"},
		{"the same twice", []string{a + a + b + b}, "a b"},
		{"again", []string{b + a, b + a, b + a}, "a b"},
		{"a new one", []string{b + a, c + b + a}, "a b c"},
		{"first alone", []string{a, b + a, c + b}, "a b c"},
		{"later alone", []string{b + a, c}, "a b c"},
		{"the title of one that is alone is corrected", []string{item("a", "<guid>1</guid>") + b, item("A", "<guid>1</guid>") + b}, "a b"},
		{"and corrected before another shares its guid", []string{a, item("A", guid), b + item("A", guid)}, "a b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				round := 0
				handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/robots.txt" {
						http.NotFound(w, r)
						return
					}
					io.WriteString(w, "<rss version='2.0'><channel>"+tt.answers[min(round, len(tt.answers)-1)]+"</channel></rss>")
					round++
				})
				spider := spiders.NewFeed("news", titles, "http://a.test/feed")
				spider.Every = time.Hour
				items, stats := gather(t, handler, spider, 4*time.Hour+time.Minute)
				if got := strings.Join(items, " "); got != tt.items || stats.Outcomes[tegenaria.Failed] != 0 {
					t.Errorf("items %s, want %s; %v", got, tt.items, stats.Reasons)
				}
			})
		})
	}
}

// A date that cannot be read is said once, and its entry is handed over: the feed is asked for as if nothing were wrong.
func TestFeedUnreadDates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				http.NotFound(w, r)
				return
			}
			asked = append(asked, r.Header.Get("If-None-Match"))
			w.Header().Set("ETag", fmt.Sprintf(`"%d"`, len(asked)))
			io.WriteString(w, `<rss version="2.0"><channel><item><guid>1</guid><title>a</title><pubDate>the day before</pubDate></item>
<item><guid>2</guid><title>b</title><pubDate>Tue, 18 Jul 2017 05:06:07 -0700 (MST)</pubDate></item></channel></rss>`)
		})
		spider := spiders.NewFeed("news", titles, "http://a.test/feed")
		spider.Every = time.Hour
		var wrong []*spiders.DateError
		items, stats := gather(t, handler, spider, 2*time.Hour+time.Minute, tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
			var date *spiders.DateError
			if errors.As(err, &date) {
				wrong = append(wrong, date)
			}
		}))
		if len(wrong) != 1 || wrong[0].Entry != "1" || wrong[0].Date != "the day before" || stats.Outcomes[tegenaria.Failed] != 1 {
			t.Errorf("errors %v, failed %d", wrong, stats.Outcomes[tegenaria.Failed])
		}
		if got := strings.Join(items, " "); got != "a b" || !slices.Equal(asked, []string{"", `"1"`, `"2"`}) {
			t.Errorf("items %s, asked %q", got, asked)
		}
	})
}

// Without Every a feed is asked for once, and the crawl ends; feeds that are named twice too.
func TestFeedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{editions: []string{"b a"}}
		items, stats := gather(t, p, spiders.NewFeed("news", titles, "http://a.test/feed", "http://a.test/feed"), 0)
		if strings.Join(items, " ") != "a b" || len(p.log) != 1 || stats.Settled != 1 {
			t.Errorf("items %q, asked %q", items, p.log)
		}
	})
}

// A feed that cannot be reached is asked for again, and so is one whose func panics, with all the middlewares that there are.
func TestFeedGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &paper{editions: []string{"b a", "c b a", "c b a", "d c b a"}}
		down := 2
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/feed" && down > 0 {
				down--
				panic(http.ErrAbortHandler)
			}
			p.ServeHTTP(w, r)
		})
		panicked := false
		spider := spiders.NewFeed("news", func(_ context.Context, entry *records.Entry, out *tegenaria.Output[string]) error {
			if entry.Title == "a" && !panicked {
				panicked = true
				panic("a")
			}
			return out.Item(entry.Title)
		}, "http://a.test/feed")
		spider.Every = time.Hour
		items, stats := gather(t, handler, spider, 8*time.Hour+time.Minute, tegenaria.EngineWithMiddlewares(append(middleware.Standard(), middleware.NewHTTPErrors(middleware.HTTPErrorOptions{Drop: true}))...))
		if got := strings.Join(items, " "); got != "a b c d" {
			t.Errorf("items %s; %v", got, stats.Reasons)
		}
	})
}

// An entry's page can be asked for, by a parser of On; what a request without a parser means is said.
func TestFeedPages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		page := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
			entry, err := tegenaria.Data[records.Entry](page)
			if err != nil {
				return err
			}
			return out.Item(entry.Title + " " + page.URL)
		})
		name := "page"
		spider := spiders.NewFeed("news", func(_ context.Context, entry *records.Entry, out *tegenaria.Output[string]) error {
			return out.Follow(entry.URL, tegenaria.RequestWithParserName(name), tegenaria.RequestWithData(*entry))
		}, "http://a.test/feed").On("page", page)
		w := &web{pages: map[string]string{"http://a.test/feed": rssOf("x") + "</channel></rss>", "http://a.test/x": "page"}}
		items, _ := gather(t, w, spider, 0)
		if len(items) != 1 || items[0] != "x http://a.test/x" {
			t.Errorf("items %q", items)
		}
		name = ""
		var told error
		gather(t, w, spider, 0, tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = err }))
		if told == nil || !strings.Contains(told.Error(), "names no parser") {
			t.Errorf("told %v", told)
		}
	})
}

// What earlier jobs have handed over is in a file.
func TestFeedState(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	synctest.Test(t, func(t *testing.T) {
		p := &paper{editions: []string{"b a", "=", "c b"}}
		var all []string
		for range 3 {
			spider := spiders.NewFeed("news", titles, "http://a.test/feed")
			spider.State = state
			items, _ := gather(t, p, spider, 0)
			all = append(all, strings.Join(items, " "))
		}
		if want := []string{"a b", "", "c"}; !slices.Equal(all, want) {
			t.Errorf("items %q, want %q", all, want)
		}
		if want := []string{" 200", `"1" 304`, `"1" 200`}; !slices.Equal(p.log, want) {
			t.Errorf("asked %q, want %q", p.log, want)
		}
	})
	if files, err := filepath.Glob(state + "*"); err != nil || len(files) != 1 {
		t.Errorf("files %q, %v", files, err)
	}
	if err := os.WriteFile(state, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	spider := spiders.NewFeed("news", titles, "http://127.0.0.1:1/feed")
	spider.State = state
	wantMistake(t, spider, "cannot be read")
}

func TestFeedMistakes(t *testing.T) {
	wantMistake(t, spiders.NewFeed[string]("news", nil, "http://a.test/feed"), "the func is nil")
}

// wantMistake fails unless a spider cannot be run, and the error says why.
func wantMistake(t *testing.T, spider tegenaria.SpiderInterface, says string) {
	t.Helper()
	err := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), silent).Run(t.Context(), "news")
	if err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v", err)
	}
}
