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

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// Template is a path with fields in braces.
type Template struct{ outfile.Template }

// The fields of a template that only feeds have.
const (
	when      = "time"  // when the file began
	ItemField = "item." // the field of an item of that name
)

// IsPlain reports whether a template has no fields.
func (t *Template) IsPlain() bool { return len(t.Fields()) == 0 }

// Parse takes a path apart. {{ and }} are braces.
func Parse(path string) (Template, error) {
	t, err := outfile.Parse(path, outfile.Spider, outfile.Start, when, outfile.Part, ItemField+"NAME")
	return Template{t}, err
}

// ItemFields returns the fields that come of items.
func (t *Template) ItemFields() (names []string) {
	for _, field := range t.Fields() {
		if name, ok := strings.CutPrefix(field, ItemField); ok {
			names = append(names, name)
		}
	}
	return names
}

// About is what a file's name is made of.
type About struct {
	Spider      string
	Start, Time time.Time
	Part        int
	Items       []string // values of the item fields, in the order of the template
}

// Name makes the path of a file.
func (t *Template) Name(a About) string {
	return filepath.FromSlash(t.Template.Name(func(field string) string {
		switch field {
		case outfile.Spider:
			return a.Spider
		case outfile.Start:
			return outfile.Stamp(a.Start)
		case when:
			return outfile.Stamp(a.Time)
		case outfile.Part:
			return fmt.Sprintf("%04d", a.Part)
		}
		value := a.Items[0]
		a.Items = a.Items[1:]
		return value
	}))
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
