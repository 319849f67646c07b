package tegenaria_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/internal/enginetest"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// A page that exceeds a bound ends its parser by a panic of CSS, XPath or Links. That is no mistake in the code: the log
// has a warning that names the limit, without a stack, and advice about the limit.
func TestPageOverALimit(t *testing.T) {
	many := "<html><body>" + strings.Repeat("<p a=1 b=2><a href=/x>x</a></p>", 50)
	nodes, attributes := tegenaria.Limits{Nodes: 20}, tegenaria.Limits{Attributes: 20}
	for _, tt := range []struct {
		name   string
		limits tegenaria.Limits
		parse  func(r *tegenaria.Response) error
		kind   string // of the failure
		advice string
	}{
		{"CSS", nodes, func(r *tegenaria.Response) error { r.CSS("p"); return nil }, "page over Limits.Nodes", "raise Limits.Nodes"},
		{"XPath", nodes, func(r *tegenaria.Response) error { r.XPath("//p"); return nil }, "page over Limits.Nodes", "raise Limits.Nodes"},
		{"attributes", attributes, func(r *tegenaria.Response) error { r.CSS("p"); return nil }, "page over Limits.Attributes", "raise Limits.Attributes"},
		{"an error that is returned", tegenaria.Limits{}, func(*tegenaria.Response) error {
			return &selector.ParseError{Err: &html.LimitError{What: "nodes", Limit: 20}}
		}, "page over Limits.Nodes", "raise Limits.Nodes"},
		{"another bound of a page", tegenaria.Limits{}, func(*tegenaria.Response) error {
			panic(&selector.ParseError{Err: &html.LimitError{What: "names", Limit: 20}})
		}, "page too large", "leave the page out"},
		{"steps of XPath", tegenaria.Limits{}, func(*tegenaria.Response) error { panic(&xpath.WorkError{Expr: "//p", Limit: 20}) },
			"query too costly", "select the elements"},
		{"steps of results", tegenaria.Limits{}, func(*tegenaria.Response) error { panic(&selector.WorkError{Limit: 20}) },
			"query too costly", "select the elements"},
		{"size of results", tegenaria.Limits{}, func(*tegenaria.Response) error { panic(&selector.SizeError{Limit: 20}) },
			"results too large", "select the elements"},
		{"size of links", tegenaria.Limits{}, func(*tegenaria.Response) error { panic(&links.SizeError{Limit: 20}) },
			"results too large", "select the elements"},
		{"a spooled body", tegenaria.Limits{}, func(*tegenaria.Response) error {
			panic(&tegenaria.BodyTooLargeError{URL: "http://a.test/", Limit: 20})
		}, "body too large", "raise Limits.Body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := enginetest.NewSpider("http://a.test/")
			s.Parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				return tt.parse(ctx.Response())
			}
			var log bytes.Buffer
			w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text(many))
			e := enginetest.NewEngine(w, s, logTo(&log), tegenaria.EngineWithLimits(tt.limits), tegenaria.EngineWithEmptyOK())
			enginetest.MustRun(t, e)
			line := lineWith(t, &log, "level=warning msg=failure in the parser: "+tt.kind+": ")
			if !strings.Contains(line, "20") || strings.Contains(line, "panic") || strings.Contains(log.String(), "stack=") {
				t.Errorf("the limit is not named, or a panic is:\n%s", log.String())
			}
			lineWith(t, &log, "msg=1 failure in the parser: "+tt.kind)
			lineWith(t, &log, "what may help: "+tt.advice)
		})
	}
}
