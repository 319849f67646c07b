package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// run is a run of one page, which notes what it is told of.
type run struct {
	bounds  page.Bounds
	queries *page.Queries

	mu    sync.Mutex
	added int64 // bytes

	extracted []string // each field with its counts
}

const mib = 1 << 20

// newRun returns a run whose bounds no page of a test comes near.
func newRun() *run { return &run{bounds: page.NewBounds(mib, mib, 256*mib)} }

func (r *run) Add(bytes int64) { r.added += bytes }

func (r *run) Bounds() *page.Bounds { return &r.bounds }

func (r *run) Queries() *page.Queries { return r.queries }

func (r *run) Extracted(keys []string, counts []selector.FieldCount) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, key := range keys {
		r.extracted = append(r.extracted, fmt.Sprint(key, counts[i]))
	}
}

// in makes a response of a body in a run.
func in(run *run, contentType, body string) *response {
	r := of(contentType, body)
	r.run = run
	r.page.Passed()
	return r
}

// What an HTML or XML page is likely to take is known before it is parsed, little is nothing, and parsing adds nothing to that. A page
// that was not reserved for, since its body was another one, is told of when it is parsed. It fails if a page counts twice.
func TestReserve(t *testing.T) {
	list := strings.Repeat("<p class=y>some text &amp; more</p>", 3000)
	for _, tt := range []struct {
		name, contentType, body string
		least, most             int64 // that are reserved
	}{
		{"HTML", "text/html", list, 3000 * 200, 3000 * 1000},
		{"no type", "", list, 3000 * 200, 3000 * 1000},
		{"XML", "application/xml", "<r>" + list + "</r>", 3000 * 200, 3000 * 1000},
		{"a small page", "text/html", list[:1000], 0, 0},
		{"a text", "text/html", strings.Repeat("a ", mib), 0, 0},
		{"a text with a reference", "text/html", strings.Repeat("a ", mib) + "&amp;", 2 * mib, 3 * mib},
		{"lines of Windows", "text/html", strings.Repeat("a\r\n", mib), 3 * mib, 4 * mib},
		{"a text in another encoding", "text/html; charset=latin1", strings.Repeat("\xe9", mib), 2 * mib, 3 * mib},
		{"a bomb", "text/html", strings.Repeat("<b>", 2*mib), 100 * mib, 200 * mib},
		{"JSON", "application/json", list, 0, 0},
		{"plain text", "text/plain", list, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := in(newRun(), tt.contentType, tt.body)
			got := r.page.Reserve(r)
			if got < tt.least || got > tt.most {
				t.Errorf("%d bytes are reserved, want %d to %d", got, tt.least, tt.most)
			}
			if again := r.page.Reserve(r); again != 0 {
				t.Errorf("%d bytes more are reserved", again)
			}
			if err := panicOf(func() { r.page.Document(r) }); err == nil && r.run.added != 0 && tt.contentType != "application/json" && tt.contentType != "text/plain" {
				t.Errorf("%d bytes are added", r.run.added)
			}
			r.buffer = bytes.NewBufferString(tt.body)
			_ = panicOf(func() { r.page.Document(r) })
			if r.run.added < tt.least {
				t.Errorf("%d bytes are added for another body", r.run.added)
			}
		})
	}
	// Each paragraph has elements that are not written again. It is parsed once more, and counts with all that it may have.
	crowded := "<p><b><i><u><s>" + strings.Repeat("<p>x", 20_000)
	r := in(newRun(), "text/html", crowded)
	reserved := r.page.Reserve(r)
	if n := r.page.Document(r).Root().Document().Len(); n < 100_000 || r.run.added < reserved {
		t.Errorf("%d nodes, %d bytes were reserved and %d added", n, reserved, r.run.added)
	}
}

// Text in another encoding may become as large as a body. It fails if it is made before, or if a text that is a part of
// the body is refused.
func TestDecodedTextHasABound(t *testing.T) {
	for _, tt := range []struct {
		name, contentType, body string
		refused                 bool
	}{
		{"UTF-8", "text/html; charset=utf-8", strings.Repeat("é", mib/2), false},
		{"latin1", "text/html; charset=latin1", strings.Repeat("\xe9", mib), true},
		{"latin1, small", "text/html; charset=latin1", strings.Repeat("\xe9", 90<<10), false},
		{"broken UTF-8", "text/html; charset=utf-8", strings.Repeat("\xff", mib/2), true},
		{"UTF-16", "text/html; charset=utf-16le", strings.Repeat("\x34\x4e", mib/2), true},
		{"ASCII in UTF-16", "text/html; charset=utf-16le", strings.Repeat("a\x00", mib/2), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, use := range []string{"Text", "Document", "Links", "Base"} {
				r := in(&run{bounds: page.NewBounds(mib, mib, mib)}, tt.contentType, tt.body)
				err := uses[use](r)
				if refused := errors.As(err, new(*html.LimitError)) && errors.As(err, new(*selector.ParseError)); refused != tt.refused || !refused && err != nil {
					t.Errorf("%s: %v", use, err)
				}
			}
		})
	}
}

// A command calls the limit of a body by a name of its own.
func TestBoundsInTheWordsOfACommand(t *testing.T) {
	defer remedy.Speak(func(remedy.Setting) string { return "--largest" })()
	for use, body := range map[string]string{
		"Text": strings.Repeat("\xe9", mib), "DecodeJSON": "[" + strings.Repeat("[],", mib/4) + "0]",
	} {
		r := in(&run{bounds: page.NewBounds(mib, mib, mib)}, "text/html; charset=latin1", body)
		if err := uses[use](r); err == nil || !strings.Contains(err.Error(), "--largest)") {
			t.Errorf("%s: %v", use, err)
		}
	}
}

// A list of links has a bound. It fails if it is looked at when all are there.
func TestLinksHaveABound(t *testing.T) {
	body := strings.Repeat("<a href=x>x</a>", 20<<10)
	for _, parsed := range []bool{false, true} {
		for most, refused := range map[int]bool{20 << 10: false, 20<<10 - 1: true} {
			r := in(&run{bounds: page.NewBounds(most, mib, 256*mib)}, "text/html", body)
			if parsed {
				r.run.bounds = page.NewBounds(mib, mib, 256*mib)
				r.page.Document(r)
				r.run.bounds = page.NewBounds(most, mib, 256*mib)
			}
			err := panicOf(func() { r.page.Links(r, []links.Option{links.Unique(false)}) })
			if errors.As(err, new(*html.LimitError)) != refused || errors.As(err, new(*selector.ParseError)) != refused {
				t.Errorf("at most %d, parsed %v: %v", most, parsed, err)
			}
		}
	}
}

// A tree has the bounds of the run, and those of its own size where they are smaller.
func TestBoundsOfTrees(t *testing.T) {
	bomb := "<p>" + strings.Repeat("<b><i><u><s><tt><em><big><code><small>", 3) + strings.Repeat("<p>x", 1000)
	list := strings.Repeat("<p><a href=x class=y>x</a>", 3000)
	byTree := func(r *response) {
		r.page.EachLink(r, []links.Option{links.CSS("p")}, func(*links.Ref) bool { return true })
	}
	document := func(r *response) { r.page.Document(r) }
	for _, tt := range []struct {
		name              string
		nodes, attributes int
		body              string
		use               func(r *response)
		limit             int // of the error, 0 if there is none
	}{
		{"few nodes", 1000, mib, list, document, 1000},
		{"few nodes of a small page", 100, mib, strings.Repeat("<p>", 200), document, 100},
		{"small page", 100, mib, strings.Repeat("<p>", 50), document, 0},
		{"few attributes", mib, 1000, list, document, 1000},
		{"small page with few attributes", mib, 2, "<p a b c>", document, 2},
		{"many of all", mib, mib, list, document, 0},
		{"bomb", mib, mib, bomb, document, html.DefaultNodes(len(bomb))},
		{"links: few nodes", 1000, mib, list, byTree, 1000},
		{"links: few attributes", mib, 1000, list, byTree, 1000},
		{"links: many of all", mib, mib, list, byTree, 0},
		{"links: bomb", 100 * mib, mib, bomb + strings.Repeat("<p>x", 20<<10), byTree, html.DefaultNodes(len(bomb) + 80<<10)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := in(&run{bounds: page.NewBounds(tt.nodes, tt.attributes, 256*mib)}, "text/html", tt.body)
			err := panicOf(func() { tt.use(r) })
			var limit *html.LimitError
			if tt.limit == 0 && err != nil || tt.limit > 0 && (!errors.As(err, &limit) || limit.Limit != tt.limit || !errors.As(err, new(*selector.ParseError))) {
				t.Errorf("%v, want the limit %d", err, tt.limit)
			}
		})
	}
}

// JSON that is far larger as values of Go is refused before they are made. It fails if nothing is counted, or if a text that is long
// by its strings is refused.
func TestJSONHasABound(t *testing.T) {
	for _, tt := range []struct {
		name, body string
		refused    bool
	}{
		{"objects", "[" + strings.Repeat("{},", 20<<10) + "{}]", true},
		{"lists", strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + strings.Repeat(" ", mib), false},
		{"numbers", "[" + strings.Repeat("0,", 60<<10) + "0]", true},
		{"members", `{"":0` + strings.Repeat(`,"":0`, 30<<10) + "}", true},
		{"a long text", `{"a":"` + strings.Repeat("a", 2*mib) + `"}`, false},
		{"records", "[" + strings.Repeat(`{"name":"`+strings.Repeat("a", 200)+`","price":1},`, 5000) + "0]", false},
	} {
		var v any
		r := in(&run{bounds: page.NewBounds(mib, mib, mib)}, "application/json", tt.body)
		err := r.page.DecodeJSON(r, &v)
		if refused := errors.As(err, new(*html.LimitError)) && errors.As(err, new(*selector.ParseError)); refused != tt.refused || !refused && err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		alone := of("application/json", tt.body)
		if err := alone.page.DecodeJSON(alone, &v); err != nil {
			t.Errorf("%s, without a run: %v", tt.name, err)
		}
	}
}
