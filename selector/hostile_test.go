package selector_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/selector"
)

// hostile has a field of each kind.
type hostile struct {
	Text  string            `css:"p" required:"true"`
	Int   int               `css:"p" conv:"int"`
	Small int8              `css:"p" re:"[0-9]+"`
	Float float64           `css:"p" conv:"float"`
	Money selector.Money    `css:"p" conv:"money"`
	Time  time.Time         `css:"p" conv:"time,relative"`
	URL   string            `css:"a" attr:"href" conv:"url"`
	HTML  string            `css:"p" html:"true"`
	JSON  string            `css:"script" path:"a.0.a"`
	List  []string          `css:"b"`
	Pairs map[string]string `css:"tr" key:"th" value:"td"`
	Deep  struct {
		Same string `xpath:"string(.)"`
		In   []struct {
			B string `css:"b"`
		} `css:"i"`
	} `css:"div"`
}

type hostileJSON struct {
	A    string            `path:"a" required:"true"`
	N    int8              `path:"n"`
	List []int             `path:"list"`
	M    map[string]string `path:"m"`
	Deep struct {
		B *float64 `path:"b"`
	} `path:"deep"`
	Raw []byte `path:"@this"`
}

// Whatever the bytes of a page, Unmarshal and Each return: errors of fields that name type and field, or one of the
// page, and nothing panics. The error of a response names its page.
func TestHostilePages(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	noise := make([]byte, 1<<16)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	const levels = 10_000
	pages := map[string]string{
		"empty": "", "white space": " \n\t ", "binary": string(noise), "PNG": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "invalid UTF-8": "<p>\xff\xfe\xc3(</p><a href='\xff'>\xed\xa0\x80</a>",
		"NULs": "<p>\x00a\x00</p><a href=\"\x00\">\x00", "only NULs": strings.Repeat("\x00", 1000),
		"levels":         strings.Repeat("<div><i><b>", levels) + "<p>x",
		"levels of JSON": "<p>1</p><script>" + strings.Repeat(`{"a":[`, levels/2) + strings.Repeat(`]}`, levels/2) + "</script>",
		"too many":       "<p>1</p><script>" + strings.Repeat("[", 20*levels) + "</script>",
		"100,000 b":      "<p>1</p>" + strings.Repeat("<b>x</b>", 100_000),
		"long number":    "<p>" + strings.Repeat("9", 1<<20) + "</p>",
		"long word":      "<p>" + strings.Repeat("x", 1<<20) + "</p>", "dots": "<p>" + strings.Repeat("1.", 1<<18) + "</p>",
		"long URL": "<p>1</p><a href='" + strings.Repeat("../", 1<<18) + "'>", "bad URL": "<p>1</p><a href='http://[::1'>",
	}
	if !testing.Short() {
		pages["50 MB of text"] = "<p>" + strings.Repeat("word ", 10<<20)
		pages["50 MB of elements"] = strings.Repeat("<p>1</p>", 6<<20)
	}
	laughs := `<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">`
	for i := range 20 {
		laughs += fmt.Sprintf(`<!ENTITY l%d "&l%d;&l%d;">`, i+1, i, i)
	}
	pages["XML bomb"] = laughs + "]><l><p>&l20;</p></l>"
	types := map[string]string{"XML bomb": "application/xml", "UTF-8 as Shift_JIS": "text/html; charset=shift_jis", "UTF-8 as UTF-16": "text/html; charset=utf-16", "unknown charset": "text/html; charset=x-nothing"}
	for name := range types {
		if pages[name] == "" {
			pages[name] = "<p>51,77 €</p><a href='/ä'>ä</a><b>\u2028</b><script>{\"a\":[{\"a\":\"ü\"}]}</script>"
		}
	}
	failed := 0
	for name, text := range pages {
		header := map[string][]string{"Content-Type": {cmp.Or(types[name], "text/html; charset=utf-8")}}
		page := tegenaria.NewResponse(tegenaria.NewRequest("https://hostile.example/x", tegenaria.GET, nil), 200, header, []byte(text))
		var v hostile
		err := page.Unmarshal(&v)
		failed += hostileErrors(t, name, err)
		if strings.HasPrefix(name, "50 MB") {
			continue // once is enough
		}
		n := 0
		for _, err := range tegenaria.Each[hostile](page, "p, b, div") {
			failed += hostileErrors(t, name, err)
			if n++; n == 3 {
				break
			}
		}
	}
	bodies := map[string]string{
		"empty": "", "null": "null", "number": "17", "text": `"x"`, "array": "[[],{}]", "wrong types": `{"a":{"b":1},"n":[1],"list":{"x":"y"},"m":[1],"deep":7}`,
		"out of range": `{"a":"x","n":1e400,"list":[1e18,99999999999999999999],"deep":{"b":1e999}}`, "floats": `{"a":1,"n":1.5,"list":[1.5]}`, "NULs": `{"a":"\u0000","m":{"\u0000":"\u0000"}}`,
		"lone surrogates": `{"a":"\ud800","m":{"\udfff":"\ud800x"}}`, "invalid UTF-8": "{\"a\":\"\xff\"}", "binary": string(noise), "levels": strings.Repeat(`{"deep":`, levels-1) + "1" + strings.Repeat("}", levels-1),
		"arrays": strings.Repeat("[", levels) + strings.Repeat("]", levels), "too many levels": strings.Repeat("[", levels+1) + strings.Repeat("]", levels+1),
		"not closed": strings.Repeat("[", 1<<20), "keys": `{"a":"x","m":{` + strings.TrimSuffix(strings.Repeat(`"k":"v",`, 1<<16), ",") + "}}",
	}
	for name, text := range bodies {
		page := tegenaria.NewResponse(tegenaria.NewRequest("https://hostile.example/x", tegenaria.GET, nil), 200, map[string][]string{"Content-Type": {"application/json"}}, []byte(text))
		var v hostileJSON
		err := page.Unmarshal(&v)
		failed += hostileErrors(t, name, err)
		if refused := (*selector.ParseError)(nil); errors.As(err, &refused) != (name == "empty" || name == "binary" || name == "too many levels" || name == "not closed" || name == "invalid UTF-8" && refused != nil) {
			t.Errorf("%s: %.200v", name, err)
		}
		for _, err := range tegenaria.Each[hostileJSON](page, "@this") {
			failed += hostileErrors(t, name, err)
		}
	}
	t.Logf("%d errors", failed)
	if failed < 50 {
		t.Error("too few errors to prove anything")
	}
}

// hostileErrors checks an error, and returns of how many it is made.
func hostileErrors(t *testing.T, page string, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	if len(err.Error()) > 1<<16 || !strings.Contains(err.Error(), "https://hostile.example/x") {
		t.Errorf("%s: %d bytes: %.300v", page, len(err.Error()), err)
	}
	var refused *selector.ParseError
	var size *selector.SizeError
	if errors.As(err, &refused) || errors.As(err, &size) || errors.As(err, new(*selector.WorkError)) {
		return 1
	}
	return countFieldErrors(t, page, errors.Unwrap(err))
}

// Elements that contain each other, in a field for each of which all that they contain is looked at, end with a
// WorkError before that takes the square of their number many times over.
func TestTooMuchWork(t *testing.T) {
	type all struct {
		Divs []struct {
			Text  string   `xpath:"string(.)"`
			Words []string `css:"b"`
		} `css:"div"`
	}
	doc := selector.Parse([]byte(strings.Repeat("<div><b>x</b>", 10_000)))
	var v all
	err := doc.Unmarshal(&v)
	var size *selector.SizeError
	if !errors.As(err, new(*selector.WorkError)) && !errors.As(err, &size) {
		t.Errorf("%d elements of %d, %v", len(v.Divs), 10_000, err)
	}
}

// A page with thousands of values that do not fit has 101 errors, of which the last one says how many there are beside.
func TestManyErrors(t *testing.T) {
	type rows struct {
		List []struct {
			N int `css:"b"`
		} `css:"p"`
	}
	var v rows
	err := selector.Parse([]byte(strings.Repeat("<p><b>x</b>", 5000))).Unmarshal(&v)
	if n := countFieldErrors(t, "rows", err); n != 101 || !strings.HasSuffix(err.Error(), "and 4900 other errors") || len(v.List) != 5000 {
		t.Errorf("%d errors of %d rows: %.300v", n, len(v.List), err)
	}
}

// Expressions that take exponential time in other engines are run once for each text. Those whose program would be
// large are mistakes of the type.
func TestHostileExpressions(t *testing.T) {
	text := strings.Repeat("a", 20_000) + "!"
	for _, expr := range []string{`(a+)+$`, `(a|a)*b`, `(a|aa)+$`, `(.*a){20}b`, `^(([a-z])+.)+[A-Z]([a-z])+$`, `(?:a?){50}a{50}$`} {
		fields, err := selector.NewFields("Item", []selector.DataField{{Name: "f", Words: selector.Words{"css": "p", "re": expr, "default": "none"}}})
		if err != nil {
			t.Fatal(err)
		}
		runs := &expressions{}
		item, err := fields.Get(selector.Parse([]byte("<p>"+text+"</p>"), selector.For(runs)))
		if err != nil || item["f"] == nil || runs.n != 1 {
			t.Errorf("%s: %.50v, %v, run %d times", expr, item, err, runs.n)
		}
	}
	for _, expr := range []string{`((a{100}){100}){100}`, `a{1001}`, strings.Repeat("(", 2000) + strings.Repeat(")", 2000), `(?<=a)b`, `(a)\1`} {
		_, err := selector.NewFields("Item", []selector.DataField{{Name: "f", Words: selector.Words{"css": "p", "re": expr}}})
		if field := (*selector.FieldError)(nil); !errors.As(err, &field) || field.Field != "f" {
			t.Errorf("%.20s: %.100v", expr, err)
		}
	}
}

// expressions is a host that counts how often an expression is run.
type expressions struct{ n int }

func (*expressions) Resolve(ref string) (string, error) { return ref, nil }

func (e *expressions) Queried(language selector.Language, _ string, _ bool) {
	if language == selector.RegExp {
		e.n++
	}
}

type (
	viaSlice struct {
		In []viaSlice `css:"ul"`
	}
	viaMap struct {
		In map[string]*viaMap `path:"in"`
	}
	viaOther struct {
		Other *otherWay `css:"ul"`
	}
	otherWay struct {
		Back [2]**viaOther `css:"li"`
	}
	viaSame struct {
		Inner struct {
			Deep struct {
				Up *viaSame `css:"ul"`
			}
		}
	}
	// byHand contains itself in a field without words, which is left alone.
	byHand struct {
		Name string  `css:"b"`
		Up   *byHand `json:"up"`
		Side *aside  `json:"side"`
	}
	aside struct {
		Name string `css:"i"`
		Back *byHand
	}
)

// A type that contains itself where it is to be filled is a mistake, by whatever way; one that does so in a field without words is none.
func TestRecursiveTypes(t *testing.T) {
	for name, err := range map[string]error{"slice": selector.Check[viaSlice](), "map": selector.Check[viaMap](), "other": selector.Check[viaOther](), "same": selector.Check[viaSame]()} {
		if field := (*selector.FieldError)(nil); !errors.As(err, &field) || !strings.Contains(err.Error(), "contains itself") {
			t.Errorf("by way of a %s: %v", name, err)
		}
	}
	up := &byHand{Name: "kept"}
	v := byHand{Up: up}
	if err := selector.Parse([]byte("<b>b</b><i>i</i>")).Unmarshal(&v); err != nil || v.Name != "b" || v.Up != up || up.Name != "kept" || v.Side == nil || v.Side.Name != "i" {
		t.Errorf("%+v, %v", v, err)
	}
}

// Mistakes of a type that only some of its kinds have. Each is told, with the name of its field.
func TestMistakesOfTypes(t *testing.T) {
	type wrong struct {
		Lists   map[string][]string          `path:"a"`
		Maps    map[string]map[string]string `path:"a"`
		Both    string                       `css:"a" xpath:"//a"`
		Key     map[string]string            `css:"tr"`
		NoMap   string                       `css:"tr" key:"th" value:"td"`
		Default string                       `css:"a" default:"x" required:"true"`
		Split   string                       `css:"a" conv:"split,;"`
		Locale  float64                      `css:"a" conv:"float,xx"`
		Layout  time.Time                    `css:"a" conv:"time,Monday"`
		Coin    selector.Money               `css:"a" conv:"money,XYZ"`
		Empty   string                       `css:""`
		//lint:ignore SA5008 this is the mistake
		Twice string `css:"a" css:"b"`
	}
	err := selector.Check[wrong]()
	for _, field := range strings.Fields("Lists Maps Both Key NoMap Default Split Locale Layout Coin Empty Twice") {
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("wrong.%s", field)) {
			t.Errorf("%s has no mistake in %v", field, err)
		}
	}
}
