package pipeline_test

import (
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/pipeline"
)

func TestCleanText(t *testing.T) {
	for _, tt := range []struct{ in, text, lines string }{
		{"", "", ""},
		{"as it is", "as it is", "as it is"},
		{" \t a \n\n b  c\u00a0d\u3000", "a b c d", "a\n\nb c d"},
		{"a\x00b\x07c\u200bd\ufeffe\u0081f", "abc\u200bdef", "abc\u200bdef"},
		{"e\u0301 and A\u030a", "\u00e9 and \u00c5", "\u00e9 and \u00c5"},
		{"e\x00\u0301", "\u00e9", "\u00e9"},
		{"\u212b\u037e", "\u00c5;", "\u00c5;"},
		{"a\xffb", "a\ufffdb", "a\ufffdb"},
		{"a\r\nb\rc\u0085d\u2028e\u2029f\vg", "a b c d e f g", "a\nb\nc\nd\ne\n\nf\ng"},
		{"\n\n a \n \t \n\n b\n", "a b", "a\n\nb"},
		{" ", "", ""},
	} {
		if got := pipeline.CleanText(tt.in); got != tt.text {
			t.Errorf("CleanText(%q) = %q, want %q", tt.in, got, tt.text)
		}
		if got := pipeline.CleanLines(tt.in); got != tt.lines {
			t.Errorf("CleanLines(%q) = %q, want %q", tt.in, got, tt.lines)
		}
	}
	clean := strings.Repeat("a clean text ", 100) + "."
	if n := testing.AllocsPerRun(10, func() { pipeline.CleanText(clean) }); n != 0 {
		t.Errorf("%v allocations of a clean text", n)
	}
}

// FuzzCleanText: cleaning twice changes nothing more, and what comes out is clean by other measures.
func FuzzCleanText(f *testing.F) {
	f.Add(" a\x00\u0301  b\r\n\u2029\xff")
	f.Add("e\ufeff\u0301\u0327\u1100\u1161\u11a8")
	f.Add(strings.Repeat("\u0301", 40))
	f.Fuzz(func(t *testing.T, s string) {
		for name, clean := range map[string]func(string) string{"CleanText": pipeline.CleanText, "CleanLines": pipeline.CleanLines} {
			once := clean(s)
			if twice := clean(once); twice != once {
				t.Errorf("%s of %q is %q, and again %q", name, s, once, twice)
			}
			if !utf8.ValidString(once) || !norm.NFC.IsNormalString(once) || strings.TrimSpace(once) != once || strings.Contains(once, "  ") ||
				strings.ContainsFunc(once, func(r rune) bool { return unicode.IsControl(r) && r != '\n' || r == '\ufeff' }) {
				t.Errorf("%s of %q is %q", name, s, once)
			}
		}
		if got, want := pipeline.CleanText(s), strings.Join(strings.Fields(pipeline.CleanText(s)), " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		if got, want := pipeline.CleanText(pipeline.CleanLines(s)), pipeline.CleanText(s); got != want {
			t.Errorf("of its lines %q, want %q", got, want)
		}
	})
}

type name string

type inner struct{ Text string }

type hidden struct{ Deep string }

type dirty struct {
	hidden
	Title  name
	Lines  string `clean:"lines"`
	Raw    string `clean:"off"`
	List   []string
	Map    map[string]string
	Struct inner
	Ptr    *inner
	Ptrs   []*inner
	Array  [2]string
	Any    any
	Bytes  []byte
	When   time.Time
	URL    *url.URL
	Number int
	secret string
	Self   *dirty
}

// All texts are cleaned, in copies: what the parser holds is as it was.
func TestClean(t *testing.T) {
	make := func() dirty {
		u := &url.URL{Scheme: "http", Host: "a.test", Path: "/ a "}
		return dirty{hidden{" deep "}, " t ", " a \n b ", " raw ", []string{"x", " y "}, map[string]string{" k ": " v "}, inner{" s "},
			&inner{" p "}, []*inner{nil, {"clean"}, {" q "}}, [2]string{"", " z "},
			map[string]any{"a": " b ", "c": []any{" d ", 1, map[string]any{"e": " f "}}, "g": map[string]string{"h": " i "}, "j": []string{" k "}, "l": inner{" m "}},
			[]byte(" b "), time.Unix(0, 0), u, 3, " secret ", &dirty{Title: " self "}}
	}
	item, untouched := make(), make()
	want := make()
	want.Deep, want.Title, want.Lines, want.List[1], want.Map[" k "], want.Struct.Text, want.Ptr.Text = "deep", "t", "a\nb", "y", "v", "s", "p"
	want.Ptrs[2].Text, want.Array[1], want.Self.Title = "q", "z", "self"
	want.Any = map[string]any{"a": "b", "c": []any{"d", 1, map[string]any{"e": "f"}}, "g": map[string]string{"h": "i"}, "j": []string{"k"}, "l": inner{" m "}}
	meta := &tegenaria.ItemMeta{Item: item}
	if err := pipeline.Clean[dirty](pipeline.CleanOptions{}).ProcessItem(nil, meta); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(meta.Item, want) {
		t.Errorf("got  %+v\nwant %+v", meta.Item, want)
	}
	if !reflect.DeepEqual(item, untouched) {
		t.Errorf("the parser's own was changed: %+v", item)
	}
	pointer := &tegenaria.ItemMeta{Item: &item}
	if err := pipeline.Clean[*dirty](pipeline.CleanOptions{}).ProcessItem(nil, pointer); err != nil || pointer.Item == &item || !reflect.DeepEqual(*pointer.Item.(*dirty), want) || !reflect.DeepEqual(item, untouched) {
		t.Errorf("of a pointer: %v, %+v", err, pointer.Item)
	}
	again := &tegenaria.ItemMeta{Item: pointer.Item}
	if err := pipeline.Clean[*dirty](pipeline.CleanOptions{}).ProcessItem(nil, again); err != nil || again.Item != pointer.Item {
		t.Error("a clean item was copied")
	}
	loose := &tegenaria.ItemMeta{Item: map[string]any{"a": " b "}}
	if err := pipeline.Clean[map[string]any](pipeline.CleanOptions{}).ProcessItem(nil, loose); err != nil || !maps.Equal(loose.Item.(map[string]any), map[string]any{"a": "b"}) {
		t.Errorf("a map: %v, %v", loose.Item, err)
	}
}

func TestCleanOptions(t *testing.T) {
	const in = " e\u0301\x00  \n x "
	for _, tt := range []struct {
		options pipeline.CleanOptions
		want    string
	}{
		{pipeline.CleanOptions{}, "\u00e9 x"},
		{pipeline.CleanOptions{KeepSpace: true}, " \u00e9  \n x "},
		{pipeline.CleanOptions{KeepControl: true}, "\u00e9\x00 x"},
		{pipeline.CleanOptions{KeepForm: true}, "e\u0301 x"},
		{pipeline.CleanOptions{KeepLines: true}, "\u00e9\nx"},
	} {
		out := pass(t, []any{in}, pipeline.Clean[string](tt.options))
		if !slices.Equal(out.passed, []any{tt.want}) {
			t.Errorf("%+v: %q, want %q", tt.options, out.passed, tt.want)
		}
	}
}

// A ring of pointers ends, and mistakes in tags are told.
func TestCleanBounds(t *testing.T) {
	ring := &dirty{Title: " t "}
	ring.Self = ring
	meta := &tegenaria.ItemMeta{Item: ring}
	if err := pipeline.Clean[*dirty](pipeline.CleanOptions{}).ProcessItem(nil, meta); err != nil || meta.Item.(*dirty).Title != "t" {
		t.Errorf("a ring: %v", err)
	}
	type mistaken struct {
		A string `clean:"line"`
		B string `claen:"off"`
		c string `clean:"off"`
		D struct {
			E []string `clean:""`
		}
	}
	_ = mistaken{}.c
	_, err := crawl(t, map[string][]any{"http://a.test/": nil}, pipeline.Clean[mistaken](pipeline.CleanOptions{}), pipeline.Clean[int](pipeline.CleanOptions{}))
	for _, want := range []string{`mistaken.A: the tag clean:"line": "line" is none of lines, off`, `mistaken.B: the tag claen:"off": there is no such word; is it clean?`,
		`mistaken.c: the tag clean:"off": the field is not exported`, `mistaken.D.E: the tag clean:"": "" is none of`, "Clean[int]: it has no text"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func BenchmarkClean(b *testing.B) {
	part := pipeline.Clean[dirty](pipeline.CleanOptions{})
	item := dirty{Title: "a clean title", Lines: "and\nlines", List: []string{"of", "texts"}, Any: map[string]any{"a": "b"}}
	b.ReportAllocs()
	for b.Loop() {
		if err := part.ProcessItem(nil, &tegenaria.ItemMeta{Item: item}); err != nil {
			b.Fatal(err)
		}
	}
}
