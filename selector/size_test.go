package selector_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/selector"
)

// What a query makes of a page that is far larger than the page ends it before much is made. Each case fails if what it names has
// no bound. TestSizeError has the texts and the markup of elements.
func TestResultsHaveABound(t *testing.T) {
	nested := strings.Repeat("<div>", 20_000) + strings.Repeat("text ", 20_000)
	text := "<p>" + strings.Repeat("a ", 1<<20)
	zeros := "<script>[" + strings.Repeat("0,", 4<<20) + "0]</script>"
	for name, test := range map[string]struct {
		page  string
		query func(d *selector.Document)
	}{
		"matches of an expression":   {text, func(d *selector.Document) { d.CSS("p").Re(".") }},
		"values of JSON":             {zeros, func(d *selector.Document) { d.CSS("script").JSON("@this") }},
		"node sets with repetitions": {nested, func(d *selector.Document) { d.XPath("//div/descendant::*[position()>0]") }},
		"node sets of many contexts": {nested, func(d *selector.Document) { d.CSS("div").XPath(".//*") }},
		"a text that XPath joins":    {nested, func(d *selector.Document) { d.XPath("string-join((//div)[position()<2000], '')") }},
		"a text that XPath replaces": {text, func(d *selector.Document) {
			d.XPath("replace(string(//p), 'a', '" + strings.Repeat("long ", 10) + "')")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := selector.Parse([]byte(test.page))
			if err := doc.Err(); err != nil {
				t.Fatal(err)
			}
			doc.XPath("string-length(string(/))") // makes the index and the text
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
			if !errors.As(err, new(*selector.SizeError)) && !errors.As(err, new(*xpath.WorkError)) {
				t.Errorf("the error is %v", err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; deep.Checks() && took > 514<<20 && !israce.Enabled {
				t.Errorf("%d MiB were taken", took>>20)
			}
		})
	}
}
