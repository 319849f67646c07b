package outfile

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Template is a path with fields in braces: "out/{spider}/{start}-{part}.jsonl".
type Template struct {
	texts  []string // before, between and behind the fields
	fields []string
}

// The fields that templates of several outputs have.
const (
	Spider = "spider" // the spider's name
	Start  = "start"  // when the job began
	Part   = "part"   // the number of the file, from 1
)

// Parse takes a path apart. {{ and }} are braces. Its fields are among those that are given, of which "item.NAME" stands for all that
// begin with "item.".
func Parse(path string, fields ...string) (t Template, err error) {
	var text strings.Builder
	for rest := path; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			text.WriteString(rest)
			break
		}
		text.WriteString(rest[:i])
		brace := rest[i]
		if rest = rest[i+1:]; rest != "" && rest[0] == brace {
			text.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		field, after, ok := strings.Cut(rest, "}")
		if brace == '}' || !ok {
			return t, fmt.Errorf("the path %q has a brace that is alone; a brace in a name is written twice", path)
		}
		if !slices.ContainsFunc(fields, func(known string) bool { return isField(field, known) }) {
			last := len(fields) - 1
			return t, fmt.Errorf("the path %q has the unknown field {%s}; there are {%s} and {%s}", path, field, strings.Join(fields[:last], "}, {"), fields[last])
		}
		t.texts, t.fields = append(t.texts, text.String()), append(t.fields, field)
		text.Reset()
		rest = after
	}
	t.texts = append(t.texts, text.String())
	return t, nil
}

// isField reports whether a field is the known one, or one of those that it stands for.
func isField(field, known string) bool {
	prefix, many := strings.CutSuffix(known, "NAME")
	return field == known || many && len(field) > len(prefix) && strings.HasPrefix(field, prefix)
}

// Fields returns the fields in their order. One that the path has twice is there twice.
func (t *Template) Fields() []string { return t.fields }

// Has reports whether the template has a field.
func (t *Template) Has(field string) bool { return slices.Contains(t.fields, field) }

// Root returns the folder in which all files are, as far as the template says.
func (t *Template) Root() string {
	if t.texts[0] == "" {
		return "."
	}
	return filepath.Dir(t.texts[0] + "x")
}

// Name makes the path of a file. value is called for each field, in their order.
func (t *Template) Name(value func(field string) string) string {
	var b strings.Builder
	for i, field := range t.fields {
		b.WriteString(t.texts[i])
		b.WriteString(value(field))
	}
	b.WriteString(t.texts[len(t.fields)])
	return b.String()
}

// Stamp writes a time so that names sort by time, and any file system takes them.
func Stamp(t time.Time) string { return t.UTC().Format("20060102T150405Z") }
