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
	var otherInterface SpiderInterface = other
	fromNew := NewSpider("f", one)

	for _, tt := range []struct {
		name   string
		spider SpiderInterface
		named  []namedParser
		parser Parser
		want   string
		ok     bool
	}{
		{"nil", spider, nil, nil, "", true},
		{"top-level func", spider, []namedParser{{"plain", parsePlain}, {"other", parseOther}}, parsePlain, "plain", true},
		{"another top-level func", spider, []namedParser{{"plain", parsePlain}}, parseOther, "", false},
		{"closure itself", spider, []namedParser{{"one", one}, {"two", two}}, two, "two", true},
		{"closure of the same literal", spider, []namedParser{{"one", one}}, two, "", false},
		{"closure made again", spider, []namedParser{{"one", one}}, closureOf(1), "", false},
		{"combined parsers", spider, []namedParser{{"p", Parsers(one)}}, Parsers(two), "", false},
		{"method value", spider, []namedParser{{"detail", spider.Detail}, {"tiny", spider.Tiny}}, spider.Detail, "detail", true},
		{"inlined method value", spider, []namedParser{{"detail", spider.Detail}, {"tiny", spider.Tiny}}, spider.Tiny, "tiny", true},
		{"method of another receiver", spider, []namedParser{{"detail", spider.Detail}}, other.Detail, "", false},
		{"methods of two receivers", spider, []namedParser{{"a", spider.Detail}, {"b", other.Detail}}, other.Detail, "b", true},
		{"method of a value", value, []namedParser{{"detail", value.Detail}}, value.Detail, "detail", true},
		{"promoted method", heir, []namedParser{{"detail", heir.Detail}}, spider.Detail, "detail", true},
		{"generic method of another receiver", generic, []namedParser{{"detail", (&genericSpider[int]{}).Detail}}, generic.Detail, "", false},
		{"generic method of another type", generic, []namedParser{{"detail", genericOther.Detail}}, generic.Detail, "", false},

		{"generic method", generic, []namedParser{{"detail", generic.Detail}}, generic.Detail, "detail", true},
		{"Parser of a generic spider", generic, nil, generic.Parser, "", true},
		{"Parser of another generic spider", generic, nil, (&genericSpider[int]{}).Parser, "", false},

		{"spider's Parser", spider, nil, spider.Parser, "", true},
		{"spider's Parser by its interface", spider, nil, asInterface.Parser, "", true},
		{"Parser of another spider", spider, nil, other.Parser, "", false},
		{"Parser of another spider by its interface", spider, nil, otherInterface.Parser, "", false},
		{"Parser of a value", value, nil, value.Parser, "", true},
		{"Parser of a value by its pointer", &value, nil, value.Parser, "", true},
		{"promoted Parser", heir, nil, heir.Parser, "", true},
		{"promoted Parser of an embedded value", embedded, nil, embedded.Parser, "", true},
		{"promoted Parser of another embedded value", embedded, nil, spider.Parser, "", false},
		{"overriding Parser", over, nil, over.Parser, "", true},
		{"overridden Parser", over, nil, over.pointerSpider.Parser, "", false},
		{"method that is not Parser", spider, nil, spider.Detail, "", false},
		{"spider made of a func", fromNew, nil, fromNew.Parser, "", true},
		{"registered Parser has its name", spider, []namedParser{{"p", spider.Parser}}, spider.Parser, "p", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table, err := newParserTable(tt.spider, tt.named)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second answer comes from memory
				if got, ok := table.Name(tt.parser); got != tt.want || ok != tt.ok {
					t.Errorf("name = %q, %v; want %q, %v", got, ok, tt.want, tt.ok)
				}
			}
			if tt.ok && tt.want != "" {
				if p, ok := table.Lookup(tt.want); !ok || p == nil {
					t.Errorf("lookup(%q) = %v, %v", tt.want, p != nil, ok)
				}
			}
		})
	}
}

func TestParserTableMistakes(t *testing.T) {
	spider := &pointerSpider{BaseSpider: &BaseSpider{Name: "s"}}
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
	if name, ok := table.Name(spider.Detail); !ok || name != "detail" {
		t.Errorf("name = %q, %v", name, ok)
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
	for _, bench := range []struct {
		name   string
		parser Parser
	}{{"registered", parsePlain}, {"method", spider.Detail}, {"own", spider.Parser}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				table.Name(bench.parser)
			}
		})
	}
}
