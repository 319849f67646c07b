package warc

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/outfile"
)

// template is a path with fields in braces: "archive/{spider}-{start}-{part}.warc.gz".
type template struct {
	outfile.Template
	path string
}

// parseTemplate takes a path apart, and refuses one that is not called as web archives are.
func parseTemplate(path string) (template, error) {
	parsed, err := outfile.Parse(path, outfile.Spider, outfile.Start, outfile.Part)
	t := template{parsed, path}
	if err != nil {
		return t, badTemplate("%v", err)
	}
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

// name makes the path of a file.
func (t *template) name(spider string, start time.Time, part int) string {
	return t.Name(func(field string) string {
		switch field {
		case outfile.Spider:
			return cleanName(spider)
		case outfile.Start:
			return outfile.Stamp(start)
		}
		return fmt.Sprintf("%05d", part)
	})
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
