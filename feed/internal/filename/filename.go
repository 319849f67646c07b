// Package filename makes the names of the files of a feed from a path with fields in braces.
//
//	t, err := filename.Parse("out/{spider}/{start}-{part}.jsonl")
//	path := t.Name(filename.About{Spider: "books", Start: begun, Part: 1})
package filename

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unicode"
)

// Template is a path with fields in braces.
type Template struct {
	pieces []piece
}

// piece is a text, or a field.
type piece struct {
	text  string
	field string // "" for a text
}

// The fields of a template.
const (
	spider    = "spider" // the spider's name
	start     = "start"  // when the job began
	when      = "time"   // when the file began
	Part      = "part"   // the number of the file, from 1
	ItemField = "item."  // the field of an item of that name
)

// IsPlain reports whether a template has no fields.
func (t *Template) IsPlain() bool { return len(t.pieces) == 1 && t.pieces[0].field == "" }

// Parse takes a path apart. {{ and }} are braces.
func Parse(path string) (t Template, err error) {
	rest := path
	var text strings.Builder
	for rest != "" {
		i := strings.IndexAny(rest, "{}")
		if i < 0 {
			text.WriteString(rest)
			break
		}
		text.WriteString(rest[:i])
		brace := rest[i]
		rest = rest[i+1:]
		if rest != "" && rest[0] == brace {
			text.WriteByte(brace)
			rest = rest[1:]
			continue
		}
		field, after, ok := strings.Cut(rest, "}")
		if brace == '}' || !ok {
			return t, fmt.Errorf("feed: the path %q has a brace that is alone; a brace in a name is written twice", path)
		}
		rest = after
		if !isField(field) {
			return t, fmt.Errorf("feed: the path %q has the unknown field {%s}; there are {spider}, {start}, {time}, {part} and {item.NAME}", path, field)
		}
		t.add(text.String(), field)
		text.Reset()
	}
	t.add(text.String(), "")
	return t, nil
}

func (t *Template) add(text, field string) {
	if text != "" {
		t.pieces = append(t.pieces, piece{text: text})
	}
	if field != "" {
		t.pieces = append(t.pieces, piece{field: field})
	}
}

func isField(s string) bool {
	switch s {
	case spider, start, when, Part:
		return true
	}
	name, ok := strings.CutPrefix(s, ItemField)
	return ok && name != ""
}

// Has reports whether the template has a field.
func (t *Template) Has(field string) bool {
	for _, p := range t.pieces {
		if p.field == field {
			return true
		}
	}
	return false
}

// ItemFields returns the fields that come of items.
func (t *Template) ItemFields() (names []string) {
	for _, p := range t.pieces {
		if name, ok := strings.CutPrefix(p.field, ItemField); ok {
			names = append(names, name)
		}
	}
	return names
}

// Root returns the folder in which all files are, as far as the template says.
func (t *Template) Root() string {
	if len(t.pieces) == 0 || t.pieces[0].field != "" {
		return "."
	}
	return filepath.Dir(t.pieces[0].text + "x")
}

// About is what a file's name is made of.
type About struct {
	Spider      string
	Start, Time time.Time
	Part        int
	Items       []string // values of the item fields, in the order of the template
}

// stamp is how times are written: so that names sort by time, and any file system takes them.
const stamp = "20060102T150405Z"

// Name makes the path of a file.
func (t *Template) Name(a About) string {
	var b strings.Builder
	for _, p := range t.pieces {
		switch p.field {
		case "":
			b.WriteString(p.text)
		case spider:
			b.WriteString(a.Spider)
		case start:
			b.WriteString(a.Start.UTC().Format(stamp))
		case when:
			b.WriteString(a.Time.UTC().Format(stamp))
		case Part:
			fmt.Fprintf(&b, "%04d", a.Part)
		default:
			b.WriteString(a.Items[0])
			a.Items = a.Items[1:]
		}
	}
	return filepath.FromSlash(b.String())
}

// Clean makes a value fit for a path: what separates folders, and what some file systems do not take, is written as in a URL. It
// is false for a value that can be no name.
func Clean(s string) (string, bool) {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == 0 || c == unicode.ReplacementChar:
			return "", false
		case c < 0x20 || c == 0x7F || strings.ContainsRune(`/\:*?"<>|%`, c):
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteRune(c)
		}
	}
	s = b.String()
	return s, len(s) <= mostValue && strings.Trim(s, ". ") != "" && !isReserved(s)
}

// mostValue is how many bytes of a name a value may take.
const mostValue = 100

// isReserved reports whether a name means a device on Windows.
func isReserved(s string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(s), ".")
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	port := strings.TrimPrefix(strings.TrimPrefix(base, "COM"), "LPT")
	return len(port) == 1 && len(base) == 4 && port[0] >= '0' && port[0] <= '9'
}

// Unopened says that a file could not be opened, and what to do about it.
func Unopened(path string, err error) error {
	remedy := "name another path"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		remedy = "make the folder " + filepath.Dir(path) + ", or name another path"
	case errors.Is(err, syscall.EISDIR):
		remedy = "name a file in this folder"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		remedy = "let this user write there, or name another path"
	}
	return fmt.Errorf("%s: %w; %s", path, cause(err), remedy)
}

// Unmade says that a folder could not be made, and what to do about it.
func Unmade(folder string, err error) error {
	remedy := "name another path"
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		remedy = "a file is in its place: name another path"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		remedy = "let this user make it, or name another path"
	}
	return fmt.Errorf("the folder %s cannot be made: %w; %s", folder, cause(err), remedy)
}

// cause returns an error without the path that it begins with.
func cause(err error) error {
	if at, ok := err.(*fs.PathError); ok {
		return at.Err
	}
	return err
}
