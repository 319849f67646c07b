package pipeline_test

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/pipeline"
)

type offer struct {
	Price  float64 `json:"price" min:"0.01" max:"1000"`
	Seller string  `json:"seller,omitempty" min:"2"`
}

type base struct {
	ID string `match:"^[a-z]+-[0-9]+$"`
}

type product struct {
	base
	Title    string            `json:"title" min:"1" max:"10"`
	Code     string            `json:"code" len:"3"`
	State    string            `json:"state" oneof:"new|used|like new"`
	Stars    int               `json:"stars" oneof:"1|2|3|-1"`
	Cover    *string           `json:"cover" url:"true"`
	Shop     string            `json:"shop,omitempty" url:"https"`
	Stock    uint8             `json:"stock" max:"200"`
	Tags     []string          `json:"tags" min:"1" max:"3" match:"^[a-z]+$"`
	Links    map[string]string `json:"links" url:"true"`
	Took     time.Duration     `min:"1s" max:"1m30s"`
	Added    time.Time         `min:"2020-01-01" max:"2030-01-01T00:00:00Z"`
	Address  netip.Addr        `min:"10.0.0.1" max:"10.0.0.9"`
	Count    *big.Int          `min:"5"`
	Raw      []byte            `max:"4"`
	Offers   []offer           `json:"offers"`
	ByName   map[string]*offer `json:"by_name"`
	Next     *product          `json:"next,omitempty"`
	Anything any               `json:"any"`
	Pair     [2]string         `oneof:"a|b"`
}

func valid() product {
	cover := "https://a.test/x.png"
	return product{
		base: base{"ab-12"}, Title: "Bücher", Code: "äöü", State: "like new", Stars: -1, Cover: &cover, Stock: 200, Tags: []string{"a"},
		Links: map[string]string{"home": "http://a.test"}, Took: time.Minute, Added: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Address: netip.MustParseAddr("10.0.0.5"), Count: big.NewInt(5), Raw: []byte("1234"), Offers: []offer{{Price: 1}}, Pair: [2]string{"a", "b"},
	}
}

// Each tag has a value that is just right in valid, and wrong ones here. It fails if a rule lets one pass, or tells another field.
func TestValidate(t *testing.T) {
	part := pipeline.Validate[product](pipeline.ValidateOptions{})
	if list, err := faultsOf(t, valid(), part); err != nil {
		t.Fatalf("%v of a valid one: %q", err, list)
	}
	text := func(s string) *string { return &s }
	for _, tt := range []struct {
		name string
		set  func(p *product)
		want []string
	}{
		{"too short", func(p *product) { p.Title = "" }, []string{"title min"}},
		{"characters, not bytes", func(p *product) { p.Title = "äöüäöüäöüäö" }, []string{"title max"}},
		{"another length", func(p *product) { p.Code = "ab" }, []string{"code len"}},
		{"of an embedded struct", func(p *product) { p.ID = "AB-12" }, []string{"ID match"}},
		{"no such word", func(p *product) { p.State = "like" }, []string{"state oneof"}},
		{"no such number", func(p *product) { p.Stars = 4 }, []string{"stars oneof"}},
		{"nothing", func(p *product) {
			p.Cover = nil
			p.Count = nil
			p.Shop = ""
			p.Next = nil
			p.Raw = nil
			p.Links = nil
			p.Offers = nil
		}, nil},
		{"relative", func(p *product) { p.Cover = text("/x.png") }, []string{"cover url"}},
		{"another scheme", func(p *product) { p.Cover = text("ftp://a.test/x") }, []string{"cover url"}},
		{"not a host", func(p *product) { p.Cover = text("https://") }, []string{"cover url"}},
		{"a space", func(p *product) { p.Cover = text(" https://a.test/") }, []string{"cover url"}},
		{"not https", func(p *product) { p.Shop = "http://a.test/" }, []string{"shop url"}},
		{"https", func(p *product) { p.Shop = "https://a.test/" }, nil},
		{"too many", func(p *product) { p.Stock = 201 }, []string{"stock max"}},
		{"few and bad elements", func(p *product) { p.Tags = nil }, []string{"tags min"}},
		{"an element", func(p *product) { p.Tags = []string{"a", "B", "c", "4"} }, []string{"tags max", "tags[1] match", "tags[3] match"}},
		{"a value of a map", func(p *product) { p.Links["b"] = "x"; p.Links["a"] = "y" }, []string{"links[a] url", "links[b] url"}},
		{"a duration", func(p *product) { p.Took = 0 }, []string{"Took min"}},
		{"a long one", func(p *product) { p.Took = 91 * time.Second }, []string{"Took max"}},
		{"a time", func(p *product) { p.Added = time.Time{} }, []string{"Added min"}},
		{"a late time", func(p *product) { p.Added = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) }, []string{"Added max"}},
		{"compared by its type", func(p *product) { p.Address = netip.MustParseAddr("10.0.0.10") }, []string{"Address max"}},
		{"by its pointer", func(p *product) { p.Count = big.NewInt(-7) }, []string{"Count min"}},
		{"bytes", func(p *product) { p.Raw = []byte("12345") }, []string{"Raw max"}},
		{"nested", func(p *product) { p.Offers = []offer{{Price: 1}, {Price: -1, Seller: "x"}} }, []string{"offers[1].price min", "offers[1].seller min"}},
		{"no number", func(p *product) { p.Offers = []offer{{Price: math.NaN()}} }, []string{"offers[0].price min", "offers[0].price max"}},
		{"infinite", func(p *product) { p.Offers = []offer{{Price: math.Inf(1)}} }, []string{"offers[0].price max"}},
		{"in a map", func(p *product) { p.ByName = map[string]*offer{"a": nil, "b": {Price: 0}} }, []string{"by_name[b].price min"}},
		{"in itself", func(p *product) { next := valid(); next.Title = ""; p.Next = &next }, []string{"next.title min"}},
		{"in an interface", func(p *product) { p.Anything = offer{Price: -1} }, nil},
		{"in an array", func(p *product) { p.Pair[1] = "c" }, []string{"Pair[1] oneof"}},
		{"all at once", func(p *product) { p.Title, p.Code, p.Stars = "", "", 0 }, []string{"title min", "code len", "stars oneof"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := valid()
			tt.set(&p)
			got, err := faultsOf(t, p, part)
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q: %v", got, tt.want, err)
			}
		})
	}
}

// A ring, a value deeper than the bound, and a thousand faults end.
func TestValidateBounds(t *testing.T) {
	part := pipeline.Validate[*product](pipeline.ValidateOptions{})
	ring := valid()
	ring.Next = &ring
	if list, _ := faultsOf(t, &ring, part); len(list) == 0 || !strings.HasSuffix(list[0], "depth") {
		t.Errorf("a ring: %q", list)
	}
	many := valid()
	many.Offers = make([]offer, 1000)
	list, err := faultsOf(t, &many, part)
	if len(list) != 100 || len(err.Error()) > 1000 || !strings.Contains(err.Error(), "and 95 more") {
		t.Errorf("%d faults: %v", len(list), err)
	}
	long := valid()
	long.State = strings.Repeat("ü", 100_000)
	if _, err := faultsOf(t, &long, part); len(err.Error()) > 500 {
		t.Errorf("a message of %d bytes", len(err.Error()))
	}
	if list, err := faultsOf(t, (*product)(nil), part); err != nil {
		t.Errorf("nil: %q, %v", list, err)
	}
}

// An invalid item fails with its error by default, and is dropped by option.
func TestValidateInACrawl(t *testing.T) {
	items := []any{offer{Price: 1}, offer{Price: -1}, "another type", &offer{Price: -1}}
	out := pass(t, items, pipeline.Validate[offer](pipeline.ValidateOptions{}))
	var invalid *pipeline.InvalidError
	if len(out.passed) != 3 || len(out.failed) != 1 || !errors.As(out.failed[0].Err, &invalid) || invalid.Type != "pipeline_test.offer" {
		t.Errorf("passed %v, failed %v", out.passed, out.failed)
	}
	want := "pipeline: an item of type pipeline_test.offer is not valid: price: -1, the least is 0.01"
	if invalid.Error() != want || !reflect.DeepEqual(invalid.Faults, []pipeline.Fault{{Field: "price", Rule: "min", Text: "-1, the least is 0.01"}}) {
		t.Errorf("%v, %+v", invalid, invalid.Faults)
	}
	out = pass(t, items, pipeline.Validate[offer](pipeline.ValidateOptions{Drop: true}))
	if len(out.passed) != 3 || len(out.failed) != 0 || len(out.dropped) != 1 || !errors.As(out.dropped[0].Err, &invalid) {
		t.Errorf("passed %v, dropped %v, failed %v", out.passed, out.dropped, out.failed)
	}
}

type wrong struct {
	A string        `min:"x"`
	B string        `match:"("`
	C int           `min:"5" max:"4"`
	D int           `match:"a"`
	E bool          `min:"1"`
	F string        `mtach:"a"`
	G string        `Min:"1"`
	H uint          `min:"-1"`
	I time.Duration `max:"1 day"`
	J string        `url:"yes"`
	L string        `oneof:"a|a"`
	m string        `len:"2"`
	N float64       `len:"2"`
	O []int         `url:"true"`
	P string        `len:"3" max:"2"`
	Q struct {
		R time.Time `min:"yesterday"`
	}
	S int     `oneof:"1|two"`
	T float32 `max:"NaN"`
	U string  `onof:"a"`
	V []bool  `max:"-1"`
}

// A type with 20 mistakes reports 20, at wiring, with those of the other pipelines.
func TestValidateMistakes(t *testing.T) {
	_ = wrong{}.m
	want := []string{
		`wrong.A: the tag min:"x": "x" does not bound a string: invalid syntax`,
		`wrong.B: the tag match:"(": error parsing regexp`,
		`wrong.C: the tag max:"4": min 5 is greater than max 4`,
		`wrong.D: the tag match:"a": a int is no text`,
		`wrong.E: the tag min:"1": a bool has neither a size nor an order`,
		`wrong.F: the tag mtach:"a": there is no such word; is it match?`,
		`wrong.G: the tag Min:"1": there is no such word; is it min?`,
		`wrong.H: the tag min:"-1": "-1" does not bound a uint`,
		`wrong.I: the tag max:"1 day": "1 day" does not bound a time.Duration`,
		`wrong.J: the tag url:"yes": "yes" is none of true, http and https`,
		`wrong.L: the tag oneof:"a|a": "a" stands there twice`,
		`wrong.m: the tag len:"2": the field is not exported`,
		`wrong.N: the tag len:"2": a float64 has no length; use min and max`,
		`wrong.O: the tag url:"true": a int is no text`,
		`wrong.P: the tag max:"2": len 3 characters is greater than max 2 characters`,
		`wrong.Q.R: the tag min:"yesterday": "yesterday" does not bound a time.Time: write a day`,
		`wrong.S: the tag oneof:"1|two": "two" is no int`,
		`wrong.T: the tag max:"NaN": "NaN" does not bound a float32: it is no bound`,
		`wrong.U: the tag onof:"a": there is no such word; is it oneof?`,
		`wrong.V: the tag max:"-1": "-1" does not bound a []bool: a size is not negative`,
	}
	check := func(err error, want []string) {
		t.Helper()
		for _, text := range want {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("%q is not in:\n%v", text, err)
			}
		}
		if got := strings.Count(err.Error(), "pipeline: "); got != len(want) {
			t.Errorf("%d mistakes, want %d:\n%v", got, len(want), err)
		}
	}
	check(pipeline.CheckTags[wrong](), want)
	out, err := crawl(t, map[string][]any{"http://a.test/": {1}}, pipeline.Validate[wrong](pipeline.ValidateOptions{}),
		pipeline.Budget(pipeline.BudgetOptions{}), pipeline.Validate[int](pipeline.ValidateOptions{}), pipeline.Validate[base](pipeline.ValidateOptions{}))
	var wiring *tegenaria.RunError
	if !errors.As(err, &wiring) || wiring.Op != "wiring" || len(out.passed) > 0 {
		t.Fatalf("passed %v, %v", out.passed, err)
	}
	check(err, append(want, "pipeline: BudgetOptions.Items is 0", "pipeline: Validate[int]: it is no struct"))
	var tag *pipeline.TagError
	if !errors.As(err, &tag) || tag.Field != "A" || tag.Type != "pipeline_test.wrong" || tag.Tag != `min:"x"` {
		t.Errorf("%+v", tag)
	}
	if err := pipeline.CheckTags[product](); err != nil {
		t.Errorf("a type without mistakes: %v", err)
	}
	if _, err := crawl(t, map[string][]any{"http://a.test/": nil}, pipeline.Validate[struct{ X int }](pipeline.ValidateOptions{})); err == nil || !strings.Contains(err.Error(), "no field of it has one of the tags") {
		t.Errorf("a type without tags: %v", err)
	}
}

// Tags of others are no slips of ours. It fails if one is taken for a mistake.
func TestForeignTags(t *testing.T) {
	type item struct {
		A string `json:"a,omitempty" xml:"a" yaml:"a" toml:"a" db:"a" sql:"a" csv:"a" css:"a" xpath:"a" attr:"a" html:"true" path:"a" re:"a" conv:"int" default:"1" required:"true" min:"1"`
		B string `key:"th" value:"td" parquet:"b" bson:"b" form:"b" lexer:"b" mix:"b" man:"b" lens:"b" patch:"b" mapstructure:"b" validate:"required" mac:"x" lan:"x" map:"x" watch:"x"`
	}
	if err := pipeline.CheckTags[item](); err != nil {
		t.Error(err)
	}
}

// reflect.StructTag skips what is malformed; here it is a mistake.
func TestMalformedTags(t *testing.T) {
	for tag, want := range map[string]string{
		`min:1`: "not of the form", `min:"1`: "not of the form", `min :"1"`: "not of the form", `"1"`: "not of the form", `min`: "not of the form",
		`min:"1",max:"2"`: "not of the form", `min:"1" min:"2"`: "stands there twice", `min:"1"max:"2"`: "", ` min:"1"  max:"2" `: "",
	} {
		field := reflect.StructField{Name: "A", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(tag)}
		_, err := pipeline.CheckValue(reflect.New(reflect.StructOf([]reflect.StructField{field})).Elem())
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("`%s`: %v, want %q", tag, err, want)
		}
	}
}

// FuzzValidateTags makes a struct type of a tag. It fails if the compiler panics, or a bound that was taken is not the bound that is kept.
func FuzzValidateTags(f *testing.F) {
	f.Add(`min:"1" max:"3"`, "äöü", 2)
	f.Add(`match:"^(a|b)*$" oneof:"a|b"`, "ab", 0)
	f.Add(`len:"2" url:"true"`, "x", -1)
	f.Add(`min:1`, "", 0)
	f.Fuzz(func(t *testing.T, tag, text string, number int) {
		fields := []reflect.StructField{
			{Name: "Text", Type: reflect.TypeFor[string](), Tag: reflect.StructTag(tag)},
			{Name: "Number", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(tag)},
			{Name: "List", Type: reflect.TypeFor[[]string](), Tag: reflect.StructTag(tag)},
		}
		for i, field := range fields {
			v := reflect.New(reflect.StructOf([]reflect.StructField{field})).Elem()
			switch i {
			case 0:
				v.Field(0).SetString(text)
			case 1:
				v.Field(0).SetInt(int64(number))
			case 2:
				v.Field(0).Set(reflect.ValueOf([]string{text, text}))
			}
			faults, err := pipeline.CheckValue(v)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "pipeline: ") {
					t.Errorf("%v", err)
				}
				continue
			}
			size := [3]int{len([]rune(text)), number, 2}[i]
			for word, isWrong := range map[string]func(bound int) bool{
				"min": func(bound int) bool { return size < bound }, "max": func(bound int) bool { return size > bound },
			} {
				var bound int
				if value, ok := field.Tag.Lookup(word); ok {
					if _, err := fmt.Sscanf(value, "%d", &bound); err != nil || fmt.Sprint(bound) != value {
						continue
					}
					got := slices.ContainsFunc(faults, func(f pipeline.Fault) bool { return f.Rule == word })
					if got != isWrong(bound) {
						t.Errorf("`%s` of %q, %d: %v", tag, text, number, faults)
					}
				}
			}
		}
	})
}
