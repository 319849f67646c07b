package outfile_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

func TestTemplate(t *testing.T) {
	for _, c := range []struct{ path, name, root string }{
		{"", "", "."},
		{"a.txt", "a.txt", "."},
		{"{{a}}/b-{part}.txt", "{a}/b-<part>.txt", "{a}"},
		{"{part}", "<part>", "."},
		{"out/{item.x}/{item.y}{part}", "out/<item.x>/<item.y><part>", "out"},
	} {
		template, err := outfile.Parse(c.path, outfile.Part, "item.NAME")
		if err != nil {
			t.Fatal(err)
		}
		name := template.Name(func(field string) string { return "<" + field + ">" })
		if root := template.Root(); name != c.name || root != c.root || template.Has(outfile.Part) != strings.Contains(c.path, "{part}") {
			t.Errorf("%s: name %q, root %q, fields %q", c.path, name, root, template.Fields())
		}
	}
	for path, want := range map[string]string{
		"a}b":     `the path "a}b" has a brace that is alone; a brace in a name is written twice`,
		"a{b":     `the path "a{b" has a brace that is alone; a brace in a name is written twice`,
		"{x}":     `the path "{x}" has the unknown field {x}; there are {start}, {part} and {item.NAME}`,
		"{item.}": `the path "{item.}" has the unknown field {item.}; there are {start}, {part} and {item.NAME}`,
	} {
		if _, err := outfile.Parse(path, outfile.Start, outfile.Part, "item.NAME"); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}
