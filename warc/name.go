package warc

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// template is a path with fields in braces: "archive/{spider}-{start}-{part}.warc.gz".
type template struct {
	path   string
	pieces []piece
}

// piece is a text, or a field.
type piece struct {
	text  string
	field string // "" for a text
}

// The fields of a template.
const (
	fieldSpider = "spider" // the spider's name
	fieldStart  = "start"  // when the job began, as 20060102T150405Z
	fieldPart   = "part"   // the number of the file, from 00001
)

// parseTemplate takes a path apart. {{ and }} are braces.
func parseTemplate(path string) (template, error) {
	t := template{path: path}
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
		name, after, ok := strings.Cut(rest, "}")
		if brace == '}' || !ok {
			return t, badTemplate("the path %q has a brace that is alone; a brace in a name is written twice", path)
		}
		switch name {
		case fieldSpider, fieldStart, fieldPart:
		default:
			return t, badTemplate("the path %q has the unknown field {%s}; there are {spider}, {start} and {part}", path, name)
		}
		t.add(text.String(), name)
		text.Reset()
		rest = after
	}
	t.add(text.String(), "")
	if base := filepath.Base(path); base == "." || base == ".." || strings.HasSuffix(path, "/") || strings.ContainsRune(path, 0) {
		return t, badTemplate("%q is not the name of a file; write one that ends in .warc.gz", path)
	}
	if !isArchiveName(filepath.Base(path)) {
		return t, badTemplate("%q is not called as web archives are; write a name that ends in .warc.gz, .warc.zst or .warc", path)
	}
	return t, nil
}

// isArchiveName reports whether a file is called as archives are.
func isArchiveName(base string) bool {
	for _, ending := range []string{".warc", ".warc.gz", ".warc.zst"} {
		if stem, ok := strings.CutSuffix(base, ending); ok && stem != "" {
			return true
		}
	}
	return false
}

func badTemplate(format string, args ...any) error {
	return &OptionError{Option: "template", Text: fmt.Sprintf(format, args...)}
}

func (t *template) add(text, field string) {
	if text != "" {
		t.pieces = append(t.pieces, piece{text: text})
	}
	if field != "" {
		t.pieces = append(t.pieces, piece{field: field})
	}
}

// has reports whether the template has a field.
func (t *template) has(field string) bool {
	for _, p := range t.pieces {
		if p.field == field {
			return true
		}
	}
	return false
}

// root returns the folder in which all files are, as far as the template says.
func (t *template) root() string {
	if len(t.pieces) == 0 || t.pieces[0].field != "" {
		return "."
	}
	return filepath.Dir(t.pieces[0].text + "x")
}

// name makes the path of a file.
func (t *template) name(spider string, start time.Time, part int) string {
	var b strings.Builder
	for _, p := range t.pieces {
		switch p.field {
		case "":
			b.WriteString(p.text)
		case fieldSpider:
			b.WriteString(cleanName(spider))
		case fieldStart:
			b.WriteString(start.UTC().Format("20060102T150405Z"))
		case fieldPart:
			number := strconv.Itoa(part)
			b.WriteString(strings.Repeat("0", max(0, 5-len(number))) + number)
		}
	}
	return b.String()
}

// cleanName makes a part of a file's name of a spider's: one that no path can hide in, and that every file system takes.
func cleanName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	if strings.Trim(clean, ".") == "" {
		return "_"
	}
	return clean
}
