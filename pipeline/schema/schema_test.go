package schema_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/pipeline"
	"github.com/tegenaria/tegenaria/pipeline/schema"
)

type offer struct {
	Price  float64 `json:"price"`
	Seller string  `json:"seller,omitempty"`
}

type book struct {
	Title  string  `json:"title"`
	Cover  string  `json:"cover,omitempty"`
	Offers []offer `json:"offers"`
}

const bookSchema = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"required": ["title", "offers"],
	"properties": {
		"title": {"type": "string", "minLength": 1, "pattern": "^[A-Z]"},
		"cover": {"type": "string", "format": "uri"},
		"offers": {"type": "array", "minItems": 1, "items": {"$ref": "offer.json"}}
	}
}`

const offerSchema = `{"properties": {"price": {"exclusiveMinimum": 0}}, "required": ["seller"]}`

var resources = map[string]string{"mem:///offer.json": offerSchema}

func process(part tegenaria.PipelinesInterface, item any) (*pipeline.InvalidError, error) {
	err := part.ProcessItem(nil, &tegenaria.ItemMeta{Item: item})
	var invalid *pipeline.InvalidError
	errors.As(err, &invalid)
	return invalid, err
}

func TestValidate(t *testing.T) {
	part := schema.Validate[book](bookSchema, schema.Options{Resources: resources})
	strict := schema.Validate[book](bookSchema, schema.Options{Resources: resources, Formats: true})
	good := book{"A title", "not a URL", []offer{{1, "a"}}}
	for _, tt := range []struct {
		name string
		part tegenaria.PipelinesInterface
		item book
		want []string
	}{
		{"valid", part, good, nil},
		{"formats", strict, good, []string{"cover format"}},
		{"nothing", part, book{}, []string{"offers type", "title minLength", "title pattern"}},
		{"nested", part, book{"A", "", []offer{{1, "a"}, {0, ""}}}, []string{"offers[1] required", "offers[1].price exclusiveMinimum"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			invalid, err := process(tt.part, tt.item)
			if (err == nil) != (tt.want == nil) {
				t.Fatal(err)
			}
			if err == nil {
				return
			}
			got := map[string]bool{}
			for _, f := range invalid.Faults {
				got[f.Field+" "+f.Rule] = true
			}
			want := map[string]bool{}
			for _, w := range tt.want {
				want[w] = true
			}
			if !reflect.DeepEqual(got, want) || invalid.Type != "schema_test.book" {
				t.Errorf("got %v, want %v: %v", got, want, err)
			}
		})
	}
	if _, err := process(part, 7); err != nil {
		t.Errorf("another type: %v", err)
	}
	if part.GetPriority() != schema.Priority {
		t.Error(part.GetPriority())
	}
}

// Large numbers are compared as they are, a ring and a value without JSON are errors, many faults are cut.
func TestBadItems(t *testing.T) {
	numbers := schema.Validate[[]int64](`{"items": {"maximum": 9007199254740992}}`, schema.Options{})
	if _, err := process(numbers, []int64{9007199254740992}); err != nil {
		t.Error(err)
	}
	if _, err := process(numbers, []int64{9007199254740993}); err == nil {
		t.Error("a number was rounded")
	}
	if invalid, _ := process(numbers, make([]int64, 0)); invalid != nil {
		t.Error(invalid)
	}
	many := make([]int64, 1000)
	for i := range many {
		many[i] = 1 << 60
	}
	if invalid, err := process(numbers, many); invalid == nil || len(invalid.Faults) != 100 {
		t.Error(err)
	}
	type ring struct{ Next any }
	r := &ring{}
	r.Next = r
	if _, err := process(schema.Validate[*ring](`{}`, schema.Options{}), r); err == nil || !strings.Contains(err.Error(), "has no JSON") {
		t.Error(err)
	}
	if _, err := process(schema.Validate[chan int](`{}`, schema.Options{}), make(chan int)); err == nil {
		t.Error("a channel has JSON")
	}
	if _, err := process(schema.Validate[any](`{"$ref": "#"}`, schema.Options{}), any("x")); err == nil {
		t.Log("a schema that refers to itself alone allows everything")
	}
}

func crawl(t testing.TB, items []any, parts ...tegenaria.PipelinesInterface) (tegenaria.Stats, error) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(log),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("test", func(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
			for _, one := range items {
				item <- tegenaria.NewItem(resp, one)
			}
			return nil
		}, "http://a.test/")),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
		tegenaria.EngineWithDownloader(tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
			return tegenaria.NewResponse(r, 200, nil, nil), nil
		})),
		tegenaria.EngineWithPipelines(parts...))
	err := engine.Run(t.Context(), "test")
	return engine.Stats(), err
}

func TestInACrawl(t *testing.T) {
	items := []any{book{"A", "", []offer{{1, "a"}}}, book{}, "another"}
	if stats, err := crawl(t, items, schema.Validate[book](bookSchema, schema.Options{Resources: resources})); err != nil || stats.ItemScraped != 2 || stats.ItemFailed != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	if stats, err := crawl(t, items, schema.Validate[book](bookSchema, schema.Options{Resources: resources, Drop: true})); err != nil || stats.ItemScraped != 2 || stats.ItemDropped != 1 {
		t.Errorf("%+v, %v", stats, err)
	}
	var wiring *tegenaria.RunError
	stats, err := crawl(t, items, schema.Validate[book](`{"type": "objekt"}`, schema.Options{}), schema.Validate[book](bookSchema, schema.Options{}),
		schema.Validate[book](`{`, schema.Options{Resources: map[string]string{"mem:///x": "]"}}), schema.Validate[book](`{"pattern": "("}`, schema.Options{}),
		schema.Validate[book](`{"$ref": "https://a.test/x.json"}`, schema.Options{}), schema.Validate[book](`{"$ref": "file:///etc/passwd"}`, schema.Options{}))
	if !errors.As(err, &wiring) || wiring.Op != "wiring" || stats.Discovered != 0 {
		t.Fatalf("%+v, %v", stats, err)
	}
	for _, want := range []string{"not valid against metaschema", `give it in Options.Resources["mem:///offer.json"]`, "the schema is no JSON", `Resources["mem:///x"] is no JSON`,
		`Resources["https://a.test/x.json"]`, `Resources["file:///etc/passwd"]`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in:\n%v", want, err)
		}
	}
}

func ExampleValidate() {
	part := schema.Validate[map[string]any](`{"properties": {"price": {"minimum": 0}}, "required": ["title"]}`, schema.Options{})
	err := part.ProcessItem(nil, &tegenaria.ItemMeta{Item: map[string]any{"price": -3}})
	var invalid *pipeline.InvalidError
	if errors.As(err, &invalid) {
		for _, fault := range invalid.Faults {
			fmt.Printf("%s %s: %s\n", fault.Field, fault.Rule, fault.Text)
		}
	}
	// Unordered output:
	// required: missing property 'title'
	// price minimum: minimum: got -3, want 0
}
