package tegenaria

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func parsePlain(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error { return nil }

func parseOther(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return errors.New("other")
}

// pointerSpider has its methods on the pointer.
type pointerSpider struct {
	*BaseSpider
	tag int
}

func (s *pointerSpider) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return nil
}

func (s *pointerSpider) Detail(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	for _, url := range s.FeedUrls {
		req <- NewContext(NewRequest(url, GET, s.Detail))
	}
	return nil
}

func (s *pointerSpider) Tiny(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return nil
}

func (s *pointerSpider) read(ctx context.Context, r *Response, out *Output[int]) error { return nil }

// valueSpider has its methods on the value.
type valueSpider struct {
	*BaseSpider
	tag int
}

func (s valueSpider) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return nil
}

func (s valueSpider) Detail(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return nil
}

// heirSpider has the Parser of what it embeds, overrider its own.
type heirSpider struct{ *pointerSpider }

type embeddedSpider struct{ pointerSpider }

type overrider struct{ *pointerSpider }

func (s *overrider) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	req <- NewContext(NewRequest("http://example.com/", GET, s.pointerSpider.Parser))
	return nil
}

type setSpider struct {
	*pointerSpider
	set map[string]Parser
}

func (s *setSpider) Parsers() map[string]Parser { return s.set }

type genericSpider[T any] struct {
	*BaseSpider
	_ T
}

func (s *genericSpider[T]) Parser(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return nil
}

func (s *genericSpider[T]) Detail(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
	return nil
}

func closureOf(n int) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		if n > 1 {
			return errors.New("many")
		}
		return nil
	}
}

func TestParserNames(t *testing.T) {
	spider := &pointerSpider{BaseSpider: &BaseSpider{Name: "s"}}
	other := &pointerSpider{BaseSpider: spider.BaseSpider, tag: 1}
	value := valueSpider{BaseSpider: spider.BaseSpider}
	generic, genericOther := &genericSpider[int]{}, &genericSpider[string]{}
	heir, embedded := heirSpider{spider}, &embeddedSpider{*spider}
	over := &overrider{spider}
	one, two := closureOf(1), closureOf(2)
	var asInterface SpiderInterface = spider
	fromNew := NewSpider("f", one)
	kept := spider.Detail

	for _, tt := range []struct {
		name   string
		spider SpiderInterface
		named  []namedParser
		parser Parser
		want   string
		ok     bool // a durable cache knows it
		memory bool // so does one in memory, which keeps the others as they are
	}{
		{"nil", spider, nil, nil, "", true, true},
		{"top-level func", spider, []namedParser{{"plain", parsePlain}, {"other", parseOther}}, parsePlain, "plain", true, true},
		{"another top-level func", spider, []namedParser{{"plain", parsePlain}}, parseOther, "", false, false},
		{"closure itself", spider, []namedParser{{"one", one}, {"two", two}}, two, "two", true, true},
		{"closure of the same literal", spider, []namedParser{{"one", one}}, two, "", false, false},
		{"closure made again", spider, []namedParser{{"one", one}}, closureOf(1), "", false, false},
		{"combined parsers", spider, []namedParser{{"p", Parsers(one)}}, Parsers(two), "", false, false},
		{"method value", spider, []namedParser{{"detail", spider.Detail}, {"tiny", spider.Tiny}}, spider.Detail, "detail", true, false},
		{"method value that was kept", spider, []namedParser{{"detail", kept}}, kept, "detail", true, true},
		{"inlined method value", spider, []namedParser{{"detail", spider.Detail}, {"tiny", spider.Tiny}}, spider.Tiny, "tiny", true, false},
		{"method of another receiver", spider, []namedParser{{"detail", spider.Detail}}, other.Detail, "detail", true, false},
		{"method of a value", value, []namedParser{{"detail", value.Detail}}, value.Detail, "detail", true, false},
		{"promoted method", heir, []namedParser{{"detail", heir.Detail}}, spider.Detail, "detail", true, false},
		{"generic method", generic, []namedParser{{"detail", generic.Detail}}, generic.Detail, "detail", true, false},
		{"generic method of another type", generic, []namedParser{{"detail", genericOther.Detail}}, generic.Detail, "", false, false},

		{"spider's Parser", spider, nil, spider.Parser, "", true, false},
		{"Parser of another spider of the type", spider, nil, other.Parser, "", true, false},
		{"Parser of a value", value, nil, value.Parser, "", true, false},
		{"Parser of a value by its pointer", &value, nil, value.Parser, "", true, false},
		{"overriding Parser", over, nil, over.Parser, "", true, false},
		{"overridden Parser", over, nil, over.pointerSpider.Parser, "", false, false},
		{"method that is not Parser", spider, nil, spider.Detail, "", false, false},
		{"func of a spider", fromNew, nil, one, "", true, true},
		{"method of a spider made of it", NewSpider("f", spider.Detail), nil, spider.Detail, "", true, false},

		{"Parser by its interface is not clear", spider, nil, asInterface.Parser, "", false, false},
		{"Parser of a generic spider is not clear", generic, nil, generic.Parser, "", false, false},
		{"promoted Parser is not clear", heir, nil, heir.Parser, "", false, false},
		{"promoted Parser of an embedded value is not clear", embedded, nil, embedded.Parser, "", false, false},
		{"Parser of a spider of a func is not clear", fromNew, nil, fromNew.Parser, "", false, false},
		{"Parser by its interface with a name", spider, []namedParser{{"p", asInterface.Parser}}, asInterface.Parser, "p", true, false},
		{"Parser of a generic spider with a name", generic, []namedParser{{"p", generic.Parser}}, generic.Parser, "p", true, false},
		{"promoted Parser with a name", heir, []namedParser{{"p", heir.Parser}}, heir.Parser, "p", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, err := newParserTable(tt.spider, tt.named)
			if err != nil {
				t.Fatal(err)
			}
			for durable, want := range map[bool]bool{true: tt.ok, false: tt.memory} {
				if got, ok := (&codec{durable: durable, parsers: table}).nameOf(&Request{parser: tt.parser}); ok != want || ok && got != tt.want {
					t.Errorf("durable %v: name = %q, %v; want %q, %v", durable, got, ok, tt.want, want)
				}
			}
		})
	}
}

func TestParserTableMistakes(t *testing.T) {
	spider := &pointerSpider{BaseSpider: &BaseSpider{Name: "s"}}
	other := &pointerSpider{BaseSpider: spider.BaseSpider, tag: 1}
	value, value2 := valueSpider{tag: 1}, valueSpider{tag: 2}
	for _, tt := range []struct {
		name  string
		named []namedParser
		set   map[string]Parser
		want  []string
	}{
		{"nil", []namedParser{{"a", nil}}, nil, []string{`"a" is nil`}},
		{"no name", []namedParser{{"", parsePlain}}, nil, []string{"no name"}},
		{"same name", []namedParser{{"a", parsePlain}, {"a", parseOther}}, nil, []string{`"a"`}},
		{"same func", []namedParser{{"a", parsePlain}, {"b", parsePlain}}, nil, []string{`"a" and "b"`}},
		{"same method", []namedParser{{"a", spider.Detail}, {"b", spider.Detail}}, nil, []string{`"a" and "b"`}},
		{"methods of two values", []namedParser{{"a", value.Detail}, {"b", value2.Detail}}, nil, []string{`"a" and "b"`}},
		{"methods of two pointers", []namedParser{{"a", spider.Detail}, {"b", other.Detail}}, nil, []string{`"a" and "b" are the same method`}},
		{"handled methods of two pointers", []namedParser{{"a", Handle(spider.read)}, {"b", Handle(other.read)}}, nil, []string{`"a" and "b" are the same method`}},
		{"spider's name again", []namedParser{{"a", parsePlain}}, map[string]Parser{"a": parseOther}, []string{`"a"`}},
		{"spider's nil", nil, map[string]Parser{"x": nil}, []string{`"x" is nil`}},
		{"all at once", []namedParser{{"a", nil}, {"b", nil}}, map[string]Parser{"": parsePlain}, []string{`"a"`, `"b"`, "no name"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := newParserTable(&setSpider{spider, tt.set}, tt.named)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %s", err, want)
				}
			}
		})
	}
}

// A method that is the spider's own parser cannot have a name too: with a value of it, nothing tells which of the two is meant.
func TestParserTableOwnMethod(t *testing.T) {
	spider, other := &pointerSpider{BaseSpider: &BaseSpider{Name: "s"}}, &pointerSpider{}
	for _, tt := range []struct {
		spider SpiderInterface
		named  Parser
	}{
		{spider, other.Parser},
		{NewSpider("s", spider.Detail), other.Detail},
		{NewSpiderOf("s", Handle(spider.read)), Handle(other.read)},
	} {
		_, err := newParserTable(tt.spider, []namedParser{{"a", tt.named}})
		if err == nil || !strings.Contains(err.Error(), `parser "a" and the spider's Parser are the same method`) {
			t.Errorf("%T: %v", tt.spider, err)
		}
	}
}

func TestParserSet(t *testing.T) {
	spider := &setSpider{&pointerSpider{BaseSpider: &BaseSpider{}}, nil}
	spider.set = map[string]Parser{"detail": spider.Detail, "list": closureOf(1)}
	table, err := newParserTable(spider, []namedParser{{"plain", parsePlain}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "detail", "list", "plain"} {
		if p, ok := table.Lookup(name); !ok || p == nil {
			t.Errorf("no parser %q", name)
		}
	}
	if _, ok := table.Lookup("no"); ok {
		t.Error("found a parser that nobody named")
	}
	if name, ok := table.NameOfMethod(spider.Detail); !ok || name != "detail" {
		t.Errorf("name = %q, %v", name, ok)
	}
}

// No code of the user runs when a parser is asked for its name: the probe goes to parsers of Handle alone, which do not pass it on.
func TestParserNameCallsNothing(t *testing.T) {
	plain := func(*Context, chan<- *ItemMeta, chan<- *Context) error { panic("the plain parser was called") }
	handle := func(context.Context, *Response, *Output[int]) error { panic("the func of Handle was called") }
	table, err := newParserTable(&pointerSpider{BaseSpider: &BaseSpider{}}, []namedParser{{"plain", plain}, {"handled", Handle(handle)}})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		parser     Parser
	}{{"plain", "plain", plain}, {"handled", "handled", Handle(handle)}, {"combined", "", Parsers(plain, Handle(handle))}} {
		if got, ok := (&codec{durable: true, parsers: table}).nameOf(&Request{parser: tt.parser}); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s: %q, %v", tt.name, got, ok)
		}
	}
	if err := Handle(handle)(nil, nil, nil); !errors.Is(err, errNoResponse) {
		t.Errorf("without a Context: %v", err)
	}
}

// Parsers made by the generic Handle share their code.
func TestParserNameOfGenericClosures(t *testing.T) {
	make1 := func(h func(ctx context.Context, n int) error) Parser { return handleLike(h) }
	a := make1(func(ctx context.Context, n int) error { return nil })
	b := make1(func(ctx context.Context, n int) error { return errors.New("b") })
	table, err := newParserTable(&pointerSpider{BaseSpider: &BaseSpider{}}, []namedParser{{"a", a}})
	if err != nil {
		t.Fatal(err)
	}
	if name, ok := table.Name(a); name != "a" || !ok {
		t.Errorf("a is %q, %v", name, ok)
	}
	if name, ok := table.Name(b); ok {
		t.Errorf("b is taken for %q", name)
	}
}

func handleLike[T any](h func(ctx context.Context, v T) error) Parser {
	return func(resp *Context, item chan<- *ItemMeta, req chan<- *Context) error {
		var zero T
		return h(resp, zero)
	}
}

func BenchmarkParserName(b *testing.B) {
	spider := &pointerSpider{BaseSpider: &BaseSpider{}}
	table, err := newParserTable(spider, []namedParser{{"detail", spider.Detail}, {"plain", parsePlain}})
	if err != nil {
		b.Fatal(err)
	}
	c := &codec{durable: true, parsers: table}
	for _, bench := range []struct {
		name   string
		parser Parser
	}{{"registered", parsePlain}, {"method", spider.Detail}, {"own", spider.Parser}, {"handled", Handle(spider.read)}} {
		b.Run(bench.name, func(b *testing.B) {
			r := &Request{parser: bench.parser}
			b.ReportAllocs()
			for b.Loop() {
				c.nameOf(r)
			}
		})
	}
}
