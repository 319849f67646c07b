package page_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// run is a run of one page, which notes what it has granted.
type run struct {
	bounds  page.Bounds
	queries *page.Queries

	mu     sync.Mutex
	held   int64 // bytes that were granted and not given back
	added  int64
	asked  int
	refuse error // of requests for memory

	extracted []string // each field with its counts
}

const mib = 1 << 20

// newRun returns a run whose bounds no page of a test comes near.
func newRun() *run { return &run{bounds: page.NewBounds(mib, mib, 256*mib, 64*mib)} }

func (r *run) Grow(bytes int64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if bytes > 0 && r.refuse != nil {
		return r.refuse
	}
	r.held += bytes
	return nil
}

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
	return r
}

// One page may take so much and no more. It fails if what was refused counts, or what was given back counts on.
func TestGrow(t *testing.T) {
	for _, tt := range []struct{ body, inFlight, most int64 }{
		{600, 1000, 1200}, {400, 1000, 1000}, {500, 1000, 1000}, {math.MaxInt64, 1000, math.MaxInt64 - 1}, {1000, math.MaxInt64, math.MaxInt64}, {0, 0, 0},
	} {
		r := in(&run{bounds: page.NewBounds(0, 0, tt.body, tt.inFlight)}, "", "")
		if err := r.page.Grow(r, tt.most); err != nil || r.run.held != tt.most {
			t.Errorf("%+v: %v, %d bytes are held", tt, err, r.run.held)
		}
		if tt.most == math.MaxInt64 {
			continue
		}
		var limit *html.LimitError
		if err := r.page.Grow(r, 1); !errors.As(err, &limit) || int64(limit.Limit) != tt.most || r.run.held != tt.most || !strings.Contains(limit.What, "Limits.BodiesInFlight") {
			t.Errorf("%+v: one byte more: %v, %d bytes are held", tt, err, r.run.held)
		}
	}
	r := in(&run{bounds: page.NewBounds(0, 0, 0, 1000)}, "", "")
	full := errors.New("full")
	for _, step := range []struct {
		n       int64
		refuse  error
		granted bool
		held    int64
	}{
		{1000, nil, true, 1000}, {1, nil, false, 1000}, {-400, nil, true, 600}, {401, nil, false, 600},
		{300, full, false, 600}, {-100, full, true, 500}, {500, nil, true, 1000}, {0, nil, true, 1000}, {-1000, nil, true, 0}, {1000, nil, true, 1000},
	} {
		r.run.refuse = step.refuse
		err := r.page.Grow(r, step.n)
		if (err == nil) != step.granted || r.run.held != step.held || step.refuse != nil && !step.granted && !errors.Is(err, full) {
			t.Fatalf("%+v: %v, %d bytes are held", step, err, r.run.held)
		}
	}
	alone := of("", "")
	if err := alone.page.Grow(alone, 1<<60); err != nil {
		t.Errorf("a page without a run has a bound: %v", err)
	}
}

// Of the copies that are handed out the largest counts once. It fails if each of them counts.
func TestCopiesOfAPage(t *testing.T) {
	const size = 300 << 10
	r := in(newRun(), "text/html; charset=utf-8", strings.Repeat("x", size))
	for range 3 {
		if got := r.page.String(r); len(got) != size || r.run.held != size {
			t.Fatalf("String: %d bytes are held, want %d", r.run.held, size)
		}
		if got, err := r.page.Text(r); err != nil || len(got) != size || r.run.held != size {
			t.Fatalf("Text: %v, %d bytes are held, want %d", err, r.run.held, size)
		}
	}
	small := in(newRun(), "", strings.Repeat("x", 256<<10))
	if _ = small.page.String(small); small.run.asked != 0 {
		t.Errorf("a run was asked %d times for a small page", small.run.asked)
	}
}

// What finds no memory fails with the run's error, takes nothing, and works later. It fails if a refusal is kept, or counts.
func TestRefused(t *testing.T) {
	full := errors.New("full")
	latin := "<p>" + strings.Repeat("caf\xe9 ", 100<<10)
	list := strings.Repeat("<p><a href=x>x</a>", 30<<10)
	for _, tt := range []struct {
		name, contentType, body string
		use                     func(r *response) error
	}{
		{"Text", "text/html; charset=latin1", latin, uses["Text"]},
		{"Text that is the body", "text/html; charset=utf-8", list, uses["Text"]},
		{"String", "", latin, uses["String"]},
		{"Document", "text/html; charset=utf-8", list, uses["Document"]},
		{"Document of decoded text", "text/html; charset=latin1", latin, uses["Document"]},
		{"Links", "text/html", list, func(r *response) error {
			return panicOf(func() { r.page.Links(r, []links.Option{links.Unique(false)}) })
		}},
		{"EachLink with a tree", "text/html", list, func(r *response) error {
			return panicOf(func() {
				r.page.EachLink(r, []links.Option{links.CSS("p")}, func(*links.Ref) bool { return true })
			})
		}},
		{"Base", "text/html; charset=latin1", latin, uses["Base"]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := in(newRun(), tt.contentType, tt.body)
			r.run.refuse = full
			err := tt.use(r)
			if !errors.Is(err, full) || !errors.As(err, new(*selector.ParseError)) || r.run.held != 0 {
				t.Errorf("%v, %d bytes are held", err, r.run.held)
			}
			r.run.refuse = nil
			if err := tt.use(r); err != nil || r.run.held == 0 {
				t.Errorf("later: %v, %d bytes are held", err, r.run.held)
			}
			r = in(&run{bounds: page.NewBounds(mib, mib, 0, 100<<10)}, tt.contentType, tt.body)
			if err := tt.use(r); !errors.As(err, new(*html.LimitError)) || !errors.As(err, new(*selector.ParseError)) || r.run.held != 0 {
				t.Errorf("above the bound of a page: %v, %d bytes are held", err, r.run.held)
			}
		})
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
			r := in(&run{bounds: page.NewBounds(tt.nodes, tt.attributes, 256*mib, 0)}, "text/html", tt.body)
			err := panicOf(func() { tt.use(r) })
			var limit *html.LimitError
			if tt.limit == 0 && err != nil || tt.limit > 0 && (!errors.As(err, &limit) || limit.Limit != tt.limit || !errors.As(err, new(*selector.ParseError))) {
				t.Errorf("%v, want the limit %d", err, tt.limit)
			}
		})
	}
}

// A list of links counts as one copy of the page: the largest that was made. It fails if each list counts, or one of a small page.
func TestMemoryOfLinks(t *testing.T) {
	r := in(newRun(), "text/html", strings.Repeat("<a href=x>x</a>", 20<<10))
	all := []links.Option{links.Unique(false)}
	if n := len(r.page.Links(r, all)); n != 20<<10 {
		t.Fatalf("%d links", n)
	}
	first := r.run.held
	if first < 20<<10*80 {
		t.Errorf("%d bytes are held", first)
	}
	r.page.Links(r, all)
	r.page.Links(r, nil)
	if r.run.held != first {
		t.Errorf("%d bytes are held of the first list, %d of all", first, r.run.held)
	}
	small := in(newRun(), "text/html", strings.Repeat("<a href=x>x</a>", 4<<10))
	if n := len(small.page.Links(small, all)); n != 4<<10 || small.run.asked != 0 {
		t.Errorf("%d links of a small page, for which the run was asked %d times", n, small.run.asked)
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
		r := in(&run{bounds: page.NewBounds(mib, mib, mib, 64*mib)}, "application/json", tt.body)
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

// JSON in UTF-8 is not copied to be decoded; the memory of text that is made of JSON in another encoding is asked for, once.
func TestMemoryOfDecodedJSON(t *testing.T) {
	utf8, latin := `"`+strings.Repeat("é", mib/2)+`"`, `"`+strings.Repeat("\xe9", mib/2)+`"`
	var v struct{ A json.RawMessage }
	for _, tt := range []struct {
		name, contentType, value string
		text                     int64
	}{
		{"UTF-8", "application/json", utf8, 0},
		{"UTF-8 of no type", "", utf8, 0},
		{"windows-1252", "application/json; charset=windows-1252", latin, mib},
		{"windows-1252 as a page", "text/html; charset=windows-1252", latin, mib},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := in(newRun(), tt.contentType, `{"a":`+tt.value+`}`)
			for range 3 {
				if err := r.page.DecodeJSON(r, &v); err != nil || string(v.A) != utf8 {
					t.Fatalf("%v, %.20q", err, v.A)
				}
			}
			if text := r.run.held; text < tt.text || text > tt.text+tt.text/64 {
				t.Errorf("%d bytes are held for the text, want %d", text, tt.text)
			}
		})
	}
}
