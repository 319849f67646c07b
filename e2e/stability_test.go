package e2e_test

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestDocStability compares the numbers of docs/stability.md with the code. It fails if a format, or the oldest version of Go, has changed
// in one of the two alone.
func TestDocStability(t *testing.T) {
	document := readFile(t, filepath.Join("..", "docs", "stability.md"))
	for _, c := range []struct{ file, constant, line string }{
		{"cache/disk/open.go", `formatNumber = "(\d+)"`, "| a job, `--job` and `cache/disk` | %s |"},
		{"cluster/schema.go", `const schemaVersion = (\d+)`, "| the tables of a cluster's job | %s |"},
		{"revisit/store.go", `const format = (\d+)`, "| a history, `--history` and `revisit` | %s |"},
		{"httpcache/internal/store/folder.go", `const format = (\d+)`, "| an HTTP cache, `--cache` and `httpcache` | %s |"},
		{"go.mod", `(?m)^go (\d+\.\d+)`, "is built and tested, %s now."},
	} {
		found := regexp.MustCompile(c.constant).FindStringSubmatch(readFile(t, filepath.Join("..", filepath.FromSlash(c.file))))
		if found == nil {
			t.Errorf("%s has no %s", c.file, c.constant)
		} else if want := fmt.Sprintf(c.line, found[1]); !strings.Contains(document, want) {
			t.Errorf("%s: docs/stability.md does not say %q", c.file, want)
		}
	}
}
