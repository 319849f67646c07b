package jsontext_test

import (
	"testing"

	"github.com/tidwall/gjson"

	"github.com/tegenaria/tegenaria/internal/jsontext"
)

func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
		repairs    int
		fails      bool
	}{
		{"valid", `{"a": 1}`, []string{`{"a": 1}`}, 0, false},
		{"line break and tab in a string", "{\"a\": \"x\r\n\ty\"}", []string{`{"a": "x\r\n\ty"}`}, 1, false},
		{"HTML comment around", "<!--\n{\"a\": 1}\n-->", []string{`{"a": 1}`}, 1, false},
		{"CDATA in comments around", "//<![CDATA[\n{\"a\": 1}\n//]]>", []string{`{"a": 1}`}, 2, false},
		{"comment inside", `{/* name */ "a": 1}`, []string{`{ "a": 1}`}, 1, false},
		{"semicolon behind", `{"a": 1};`, []string{`{"a": 1}`}, 1, false},
		{"comma before a bracket", `{"a": [1, 2,],}`, []string{`{"a": [1, 2]}`}, 1, false},
		{"byte order mark", "\uFEFF {\"a\": 1}", []string{`{"a": 1}`}, 0, false},
		{"several values", `{"a": 1}, {"a": 2}`, []string{`{"a": 1}`, `{"a": 2}`}, 2, false},
		{"escaped markup", `{&quot;a&quot;: 1}`, []string{`{"a": 1}`}, 0, false},
		{"a program", `var a = {"a": 1};`, nil, 0, true},
		{"cut", `{"a": 1`, nil, 0, true},
		{"nothing", " \n", nil, 0, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			values, repairs, err := jsontext.Read([]byte(test.text))
			if len(values) != len(test.want) || len(repairs) != test.repairs || (err != nil) != test.fails {
				t.Fatalf("got %q, %q, %v", values, repairs, err)
			}
			for i, v := range values {
				if string(v) != test.want[i] {
					t.Errorf("got %s, want %s", v, test.want[i])
				}
			}
		})
	}
}

// TestPath fails if a key is read as a modifier, or a modifier as a key.
func TestPath(t *testing.T) {
	const object = `{"@type": "P", "@keys": "k", "@reverse": {"a": 1}, "l": [{"@values": 1, "n": "x.@keys"}, {"@values": 2, "n": "y"}], "a@keys": 3}`
	for _, test := range []struct{ path, want string }{
		{"@type", "P"},
		{"@keys", "k"},
		{"@reverse.a", "1"},
		{"l.#.@values", "[1,2]"},
		{"l.0.@values", "1"},
		{"l.#(@values==2).n", "y"},
		{`l.#(n=="x.@keys").@values`, "1"},
		{"[@keys,@type]", `["k","P"]`},
		{"{k:@keys}", `{"k":"k"}`},
		{"a@keys", "3"},
		{`\@keys`, "k"},
		{`l.0.\@values`, "1"},
		{"@this.@keys", "k"},
		{"l|@reverse|0.n", "y"},
		{"l.#.n|@reverse", `["y","x.@keys"]`},
		{"@reverse|@keys", `["a"]`},
	} {
		if got := gjson.Get(object, jsontext.Path(test.path)).String(); got != test.want {
			t.Errorf("%s finds %s, want %s", test.path, got, test.want)
		}
	}
}
