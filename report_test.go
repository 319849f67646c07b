package tegenaria_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/selector"
)

// products is a page with so many products, of which each has a name.
func products(n int) enginetest.Answer {
	return enginetest.Text("<html>" + strings.Repeat(`<div class="product"><b>x</b></div>`, n))
}

// A crawl that has parsed pages and sent no item says so, with an example; one that has sent an item does not.
func TestNoItemIsTold(t *testing.T) {
	const told = "no item was sent"
	send := func(v any) tegenaria.Parser {
		return tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error { return out.Item(v) })
	}
	drop := tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(1, func(context.Context, any) (any, error) { return nil, tegenaria.DropItem(nil) }))
	for _, tt := range []struct {
		name   string
		parser tegenaria.Parser
		opts   []tegenaria.EngineOption
		want   string
	}{
		{"nothing", enginetest.Nothing, nil, "although 2 pages were parsed"},
		{"an item", send(1), nil, ""},
		{"an item that was dropped", send(1), []tegenaria.EngineOption{drop}, ""},
		{"none is expected", enginetest.Nothing, []tegenaria.EngineOption{tegenaria.EngineWithEmptyOK()}, ""},
		{"quiet", enginetest.Nothing, []tegenaria.EngineOption{tegenaria.EngineWithQuiet()}, "although 2 pages were parsed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := enginetest.NewWorld().Page("http://a.test/", products(1)).Page("http://a.test/2", products(2))
				var log bytes.Buffer
				if err := runQuietly(w, tegenaria.NewSpider("test", tt.parser, "http://a.test/", "http://a.test/2"), append(tt.opts, logTo(&log))...); err != nil {
					t.Fatal(err)
				}
				if tt.want == "" && strings.Contains(log.String(), told) {
					t.Errorf("it was told:\n%s", log.String())
				} else if tt.want != "" {
					line := lineWith(t, &log, told)
					if !strings.Contains(line, tt.want) || !strings.Contains(line, "url=http://a.test/") || !strings.Contains(line, "level=warning") {
						t.Errorf("%q is not in %s", tt.want, line)
					}
				}
			})
		})
	}
}

// A crawl that its parser closes before the first item has the parser's reason, and no advice to try that parser.
func TestNoItemIsExpectedOfClosedCrawl(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", products(1)).Page("http://a.test/2", products(2))
		parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
			if page.URL == "http://a.test/2" {
				return tegenaria.CloseSpider("the login was refused")
			}
			return out.Follow("/2")
		})
		var log bytes.Buffer
		var stopped *tegenaria.StoppedError
		err := runQuietly(w, tegenaria.NewSpider("test", parser, "http://a.test/"), logTo(&log))
		if !errors.As(err, &stopped) || stopped.Reason != "the login was refused" {
			t.Errorf("run: %v", err)
		}
		if strings.Contains(log.String(), "no item was sent") {
			t.Errorf("it was told:\n%s", log.String())
		}
	})
}

// A selector that matches nothing on any page of a run is told at its end, with the number of pages; one that matches once is not,
// wherever it was tried, nor one of a middleware, which may look for what should not be there. The next run begins anew.
func TestSelectorWithoutMatchIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := enginetest.NewWorld().Page("http://a.test/", products(3)).Page("http://a.test/2", products(0)).Page("http://a.test/3", products(1))
		parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
			for _, card := range page.CSS(".product").All() {
				card.CSS(".discount")
				card.XPath(".//i")
				card.CSS("b").Re("[0-9]+")
			}
			page.CSS("div.prodcut").CSS("b")
			return out.Item(1)
		})
		for run := range 2 {
			var log bytes.Buffer
			spider := tegenaria.NewSpider("test", parser, "http://a.test/", "http://a.test/2", "http://a.test/3")
			expired := tegenaria.MiddlewareFuncs{Name: "expired", Response: func(ctx *tegenaria.Context, _ chan<- *tegenaria.Context) error {
				if ctx.Response().CSS("form.login").Len() > 0 {
					return tegenaria.GiveUp(errors.New("not logged in"))
				}
				return nil
			}}
			if err := runQuietly(w, spider, logTo(&log), tegenaria.EngineWithMiddlewares(expired)); err != nil {
				t.Fatal(err)
			}
			line := lineWith(t, &log, "matched nothing on any page")
			for _, want := range []string{"level=warning", "4 selectors", `the CSS selector "div.prodcut" (3 pages)`, `the CSS selector ".discount" (2 pages)`,
				`the XPath expression ".//i" (2 pages)`, `the regular expression "[0-9]+" (2 pages)`} {
				if !strings.Contains(line, want) {
					t.Errorf("run %d: %q is not in %s", run, want, line)
				}
			}
			if n := strings.Count(log.String(), "matched nothing"); n != 1 {
				t.Errorf("run %d: selectors have %d lines:\n%s", run, n, log.String())
			}
		}
	})
}

// A field that was filled on no item of a run is told at its end, with what became of it: one that the pages lack, that
// has its default alone, whose text never fits, and one of items that are made by hand. One that was filled once is not
// told, nor one that was found and is zero, nor any if fields are not counted.
func TestFieldWithoutValueIsTold(t *testing.T) {
	type product struct {
		Name  string `css:"b" json:"name"`
		Price string `css:".price" json:"price"`
		Stock int    `css:".stock" json:"stock" default:"0"`
		Size  int    `css:"b" json:"size"`
		Zero  int    `css:"i" json:"zero"`
		Sale  bool   `css:".sale" conv:"exists" json:"sale"`
		Once  string `css:"u" json:"once"`
		Hand  string `json:"hand"`
	}
	parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[product]) error {
		for p, err := range tegenaria.Each[product](page, ".product") {
			if field := (*selector.FieldError)(nil); err != nil && !errors.As(err, &field) {
				return err
			}
			if err := out.Item(p); err != nil {
				return err
			}
		}
		return nil
	})
	const told = "filled on no item"
	pages := enginetest.NewWorld().Page("http://a.test/", enginetest.Text(strings.Repeat("<div class=product><b>x</b><i>0</i></div>", 3))).
		Page("http://a.test/2", enginetest.Text("<div class=product><b>x</b><i>0</i><u>y</u></div>"))
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		urls []string
		want string
	}{
		{"those that are extracted", nil, []string{"http://a.test/", "http://a.test/2"},
			`3 fields were filled on no item: "product.price" (4 missing), "product.size" (4 failed), "product.stock" (4 defaulted)`},
		{"those of items", []tegenaria.EngineOption{tegenaria.EngineWithFieldCounts(true)}, []string{"http://a.test/", "http://a.test/2"},
			`4 fields were filled on no item: "product.hand" (4 items), "product.price" (4 items, 4 missing), "product.size" (4 failed, 4 items), "product.stock" (4 defaulted, 4 items)`},
		{"none", []tegenaria.EngineOption{tegenaria.EngineWithFieldCounts(false)}, []string{"http://a.test/", "http://a.test/2"}, ""},
		{"one page", nil, []string{"http://a.test/2"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				if err := runQuietly(pages, tegenaria.NewSpider("test", parser, tt.urls...), append(tt.opts, logTo(&log))...); err != nil {
					t.Fatal(err)
				}
				if tt.want == "" {
					if strings.Contains(log.String(), told) {
						t.Errorf("it was told:\n%s", log.String())
					}
					return
				}
				if line := strings.ReplaceAll(lineWith(t, &log, told), `\"`, `"`); !strings.Contains(line, tt.want) || !strings.Contains(line, "level=warning") {
					t.Errorf("%q is not in %s", tt.want, line)
				}
			})
		})
	}
}

// Json of a body that is not a JSON object returns nil and says so: three times in a run.
func TestJsonOfOtherBodies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, urls := enginetest.NewWorld(), []string(nil)
		for i := range 5 {
			urls = append(urls, fmt.Sprintf("http://a.test/%d", i))
			w.Page(urls[i], enginetest.Text("<html>"))
		}
		w.Page("http://a.test/null", enginetest.Text("null")).Page("http://a.test/object", enginetest.Text(`{"a": 1}`))
		parser := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
			return out.Item(page.Json()["a"] == 1.0)
		})
		for range 2 {
			var log bytes.Buffer
			if err := runQuietly(w, tegenaria.NewSpider("test", parser, append(urls, "http://a.test/null", "http://a.test/object")...), logTo(&log)); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(log.String(), "Json has returned nil"); n != 3 {
				t.Errorf("%d lines:\n%s", n, log.String())
			}
			line := lineWith(t, &log, "Json has returned nil")
			for _, want := range []string{"level=warning", "url=http://a.test/", "Decode", "invalid character '<'"} {
				if !strings.Contains(line, want) {
					t.Errorf("%q is not in %s", want, line)
				}
			}
		}
	})
}

// The empty reference of the last page is filtered and no trouble. It fails if the log warns of it, or advises on it.
func TestFollowOfNothingIsNoTrouble(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("the last page"))
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		if err := out.Item(r.String()); err != nil {
			return err
		}
		return errors.Join(out.Follow(""), out.Follow("", tegenaria.RequestWithPriority(1)))
	})
	var log bytes.Buffer
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, logTo(&log)))
	if stats.Outcomes[tegenaria.Filtered] != 2 || stats.Reasons["filtered: empty"] != 2 {
		t.Errorf("outcomes %v, reasons %v", stats.Outcomes, stats.Reasons)
	}
	if text := log.String(); strings.Contains(text, "level=warning") || strings.Contains(text, "help") || !strings.Contains(text, "finished") {
		t.Errorf("the log says\n%s", text)
	}
}
