package selector_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/selector"
)

// miser grants so much memory and no more.
type miser struct{ left int64 }

var errNoMemory = errors.New("no memory is left")

func (m *miser) Resolve(ref string) (string, error) { return "http://a.test/" + ref, nil }

func (m *miser) Grow(n int64) error {
	if n > m.left {
		return errNoMemory
	}
	m.left -= n
	return nil
}

// A tree asks for its memory before it grows, and ends the page where there is none. It fails if Parse does not charge it.
func TestH01TreesAskForTheirMemory(t *testing.T) {
	const granted = 4 << 20
	for name, option := range map[string]selector.Option{"HTML": nil, "XML": selector.XML()} {
		host := &miser{left: granted}
		options := []selector.Option{selector.For(host)}
		if option != nil {
			options = append(options, option)
		}
		page := []byte("<r>" + strings.Repeat("<b>x</b>", 400_000) + "</r>")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		doc := selector.Parse(page, options...)
		runtime.ReadMemStats(&after)
		if refused := (*selector.ParseError)(nil); !errors.As(doc.Err(), &refused) || !errors.Is(doc.Err(), errNoMemory) {
			t.Errorf("%s: the error is %v", name, doc.Err())
		}
		if took := after.TotalAlloc - before.TotalAlloc; deep.Checks() && took > 3*granted && !israce.Enabled {
			t.Errorf("%s: %d MiB were taken, %d granted", name, took>>20, granted>>20)
		}
	}
}

// What queries and their results take beside the tree is asked for before it is taken, and ends in a [*selector.ParseError]
// if there is none: what is far larger than the page is refused. Each case fails if what it names is made without asking.
func TestH01ResultsAskForTheirMemory(t *testing.T) {
	const granted = 16 << 20
	nested := strings.Repeat("<div>", 20_000) + strings.Repeat("text ", 20_000)
	few := strings.Repeat("<div>", 500) + strings.Repeat("text ", 60_000)
	text := "<p>" + strings.Repeat("a ", 1<<20)
	zeros := "<script>[" + strings.Repeat("0,", 1<<20) + "0]</script>"
	escaped := "<p>" + strings.Repeat("\u00a0", 4<<20)
	attrs := "<p id='" + strings.Repeat("a-", 2<<20) + "' lang='" + strings.Repeat("a-", 2<<20) + "'>text"
	for name, test := range map[string]struct {
		page  string
		query func(d *selector.Document)
	}{
		"texts of elements inside each other":     {few, func(d *selector.Document) { d.CSS("div").Texts() }},
		"text of elements inside each other":      {few, func(d *selector.Document) { d.CSS("div").Text() }},
		"markup of elements inside each other":    {few, func(d *selector.Document) { d.CSS("div").GetAll() }},
		"markup that is escaped":                  {escaped, func(d *selector.Document) { d.CSS("p").HTML() }},
		"matches of an expression":                {text, func(d *selector.Document) { d.CSS("p").Re(".") }},
		"values of JSON":                          {zeros, func(d *selector.Document) { d.CSS("script").JSON("@this") }},
		"node sets with repetitions":              {nested, func(d *selector.Document) { d.XPath("//div/descendant::*[position()>0]") }},
		"node sets of many contexts":              {nested, func(d *selector.Document) { d.CSS("div").XPath(".//*") }},
		"a text that XPath joins":                 {nested, func(d *selector.Document) { d.XPath("string-join((//div)[position()<200], '')") }},
		"a text that XPath replaces":              {text, func(d *selector.Document) { d.XPath("replace(string(//p), 'a', 'a long text instead')") }},
		"places in a text that a CSS query finds": {"<p>" + strings.Repeat("a", 6<<20), func(d *selector.Document) { d.CSS("p:contains(a)") }},
		"languages that a CSS query reads":        {attrs, func(d *selector.Document) { d.CSS("p:lang(a)").CSS("p:lang(b)") }},
	} {
		t.Run(name, func(t *testing.T) {
			host := &miser{left: 1 << 30}
			doc := selector.Parse([]byte(test.page), selector.For(host))
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			doc.XPath("string-length(string(/))") // makes the index and the text
			doc.CSS(":contains('no such text')")
			host.left = granted
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := func() (err error) {
				defer func() {
					if v := recover(); v != nil {
						err = fmt.Errorf("panic: %w", v.(error))
					}
				}()
				test.query(doc)
				return nil
			}()
			runtime.ReadMemStats(&after)
			if refused := (*selector.ParseError)(nil); !errors.As(err, &refused) || !errors.Is(err, errNoMemory) {
				t.Errorf("the error is %v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; deep.Checks() && took > 6*granted && !israce.Enabled {
				t.Errorf("%d MiB were taken, %d granted", took>>20, granted>>20)
			}
		})
	}
}

// The memory of a query is given back when it ends, and of results the largest counts: a loop of queries asks for no more
// than its largest round. Sets that are not given back make it fail.
func TestH01QueriesGiveTheirMemoryBack(t *testing.T) {
	page := strings.Repeat("<div><p lang=a>text</p></div>", 100_000)
	host := &miser{left: 1 << 40}
	doc := selector.Parse([]byte(page), selector.For(host))
	round := func() int64 {
		doc.XPath("//div/p[1] | //p/ancestor::div").Len()
		doc.CSS("div:has(p) p:lang(a):nth-child(1)").Texts()
		doc.CSS("p:contains(text)").GetAll()
		doc.CSS("p").Re("t(.)")
		return host.left
	}
	first := round()
	for i := range 5 {
		if left := round(); left != first {
			t.Fatalf("after %d more rounds %d bytes more are asked for", i+1, first-left)
		}
	}
}
