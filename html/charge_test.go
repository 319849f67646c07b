package html_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
)

var errNoMemory = errors.New("no memory")

// ledger grants memory up to a bound and counts what it granted.
type ledger struct {
	bound          int64
	now, most, all int64 // granted at the moment, at most, and all together
}

func (l *ledger) Grow(n int64) error {
	if n > 0 && l.now+n > l.bound {
		return errNoMemory
	}
	l.now += n
	l.most = max(l.most, l.now)
	l.all += max(n, 0)
	return nil
}

// bombs are pages of about size bytes that are made to have a large tree, or to make the parser keep much.
func bombs(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, size/len(s)) }
	number := func(format string) string {
		var b strings.Builder
		for i := 0; b.Len() < size; i++ {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return map[string]string{
		"b": fill("<b>"), "div": fill("<div>"), "a": fill("<a href=/x>"), "br": fill("<br>"), "less": fill("<"), "table": fill("<table>"), "svg": fill("<svg>"),
		"template": fill("<template>"), "select": "<select>" + fill("<option>"), "formatting": fill("<b><i><u><p>"),
		"fonts": number("<font color=%d>"), "attributes": fill("<p a b c d e f g>"), "one tag": "<p " + number("a%d "), "names": number("<x%d>"),
		"references": fill("&amp;"), "text and references": fill("<p>&lt;x"), "carriage returns": fill("\r\n"), "NUL": "<table>" + fill("\x00x"),
		"one name": "<" + fill("Aa"), "body tags": "<body>" + number("<body a%d>"), "foster": "<table>" + fill("<b>x"), "math": fill("<math><mi>"),
		"lists": fill("<li>"), "comments": fill("<!---->"), "frames": "<frameset>" + fill("<frame>"),
	}
}

// Everything that grows while a page is parsed is asked for before it is allocated: all that was allocated was granted, and
// where it is refused parsing ends there. The race detector makes slices.Grow allocate twice: there the second half alone is
// checked. A list that grows by append alone, without fit, makes it fail.
func TestH01ParsingAsksForAllItsMemory(t *testing.T) {
	const slack = 2 << 20
	size := 2 << 20
	if israce.Enabled || !deep.Checks() {
		size /= 16
	}
	parsers := map[string]func([]byte, ...html.Option) (*html.Document, error){
		"HTML": html.Parse,
		"XML": func(source []byte, options ...html.Option) (*html.Document, error) {
			return html.ParseXML(source, append(options, html.Lenient())...)
		},
	}
	for kind, parse := range parsers {
		for name, page := range bombs(size) {
			for _, bound := range []int64{1 << 40, 2 * int64(size)} {
				t.Run(fmt.Sprintf("%s/%s/%d", kind, name, bound), func(t *testing.T) {
					source := []byte(page)
					var before, after runtime.MemStats
					memory := &ledger{bound: bound}
					runtime.ReadMemStats(&before)
					doc, err := parse(source, html.Charge(memory))
					runtime.ReadMemStats(&after)
					took := int64(after.TotalAlloc - before.TotalAlloc)
					if deep.Checks() && took > memory.all*9/8+slack && !israce.Enabled {
						t.Errorf("%d bytes were allocated, %d granted", took, memory.all)
					}
					if limit := (*html.LimitError)(nil); err != nil && !errors.Is(err, errNoMemory) && !errors.As(err, &limit) {
						t.Fatal(err)
					}
					if err != nil && memory.now > 1<<20 {
						t.Errorf("%d bytes were not given back", memory.now)
					}
					if err == nil && memory.now > memory.most {
						t.Errorf("%d bytes, at most %d", memory.now, memory.most)
					}
					runtime.KeepAlive(doc)
				})
			}
		}
	}
}

// The index of a document and its parts ask for their memory before they are made, and panic with the error of who refuses
// it; when there is memory again they are made. A part that is made inside of its Once without asking makes it fail.
func TestH01TheIndexAsksForItsMemory(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, "<p id=i%d class='c%d d%d'>x", i, i, i)
	}
	memory := &ledger{bound: 1 << 40}
	doc, err := html.Parse([]byte(b.String()), html.Charge(memory))
	if err != nil {
		t.Fatal(err)
	}
	parts := []struct {
		name string
		make func()
	}{
		{"index", func() { doc.Index() }},
		{"kin", func() { doc.Index().Kin() }},
		{"attributes", func() { doc.Index().ByAttr(html.AtomId) }},
		{"words", func() { doc.Index().Words() }},
		{"text", func() { doc.Index().Text() }},
		{"lower text", func() { doc.Index().LowerText() }},
	}
	for _, part := range parts {
		memory.bound = memory.now
		func() {
			defer func() {
				if err, _ := recover().(error); !errors.Is(err, errNoMemory) {
					t.Errorf("%s: panic with %v", part.name, err)
				}
			}()
			part.make()
		}()
		memory.bound = 1 << 40
		granted := memory.all
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		part.make()
		runtime.ReadMemStats(&after)
		granted, took := memory.all-granted, int64(after.TotalAlloc-before.TotalAlloc)
		if granted == 0 || deep.Checks() && took > granted+granted/8+1<<20 {
			t.Errorf("%s: %d bytes were granted, %d allocated", part.name, granted, took)
		}
		part.make()
		if memory.all-granted > memory.all || deep.Checks() && granted < took/4 {
			t.Errorf("%s: %d bytes were granted for %d", part.name, granted, took)
		}
	}
}

// Limits are exact, for one tag and for all. A count that is looked at after the tag alone, or not at all, makes it fail.
func TestH01AttributesHaveALimit(t *testing.T) {
	tests := []struct {
		page string
		most int
		ok   bool
	}{
		{"<p a b c>", 3, true},
		{"<p a b c d>", 3, false},
		{"<p a><p b><p c>", 3, true},
		{"<p a><p b><p c d>", 3, false},
		{"<p " + strings.Repeat("a ", 100_000) + ">", 1000, false},
	}
	for _, test := range tests {
		for kind, parse := range map[string]func([]byte, ...html.Option) (*html.Document, error){"HTML": html.Parse, "XML": html.ParseXML} {
			_, err := parse([]byte(test.page), html.MaxAttributes(test.most), html.Lenient())
			limit := (*html.LimitError)(nil)
			if test.ok != (err == nil) || err != nil && (!errors.As(err, &limit) || limit.What != "attributes" || limit.Limit != test.most) {
				t.Errorf("%s, %.20s: %v", kind, test.page, err)
			}
		}
	}
}
