// Package e2e holds the tests that drive programs and read documents from outside.
package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestDocs compiles the Go programs in README and docs, and runs them against the demo site. A block that is not a program must stand
// in a Go file of the repository, line by line, so that it is compiled there.
func TestDocs(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	var documents []string
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root:
			return fs.SkipDir
		case strings.HasSuffix(path, ".md"):
			documents = append(documents, path)
		case strings.HasSuffix(path, ".go"):
			text, err := os.ReadFile(path)
			sources.WriteString(squeeze(string(text)))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	site := demosite.MustStart()
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	// Programs that do not start the demo site themselves name these addresses.
	addresses := strings.NewReplacer("https://quotes.toscrape.com/", site.URL()+"/quotes/", "https://example.com/", site.URL()+"/", `"example.com"`, `"127.0.0.1"`)
	overlay := map[string]map[string]string{"Replace": {}}
	var packages []string
	for _, document := range documents {
		for i, block := range goBlock.FindAllStringSubmatch(readFile(t, document), -1) {
			name, _ := filepath.Rel(root, document)
			if !strings.HasPrefix(block[1], "package ") {
				if !strings.Contains(sources.String(), squeeze(block[1])) {
					t.Errorf("%s: Go block %d is neither a program nor found in a Go file:\n%s", name, i+1, block[1])
				}
				continue
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(addresses.Replace(block[1])), 0o600); err != nil {
				t.Fatal(err)
			}
			dir := fmt.Sprintf("docblock%d", len(packages))
			overlay["Replace"][filepath.Join(root, dir, "main.go")] = file
			packages = append(packages, "./"+dir)
			t.Logf("%s: Go block %d is %s", name, i+1, dir)
		}
	}
	if len(packages) == 0 {
		t.Fatal("no programs found in README and docs")
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	build := exec.Command("go", append([]string{"build", "-ldflags=-s -w", "-overlay", file, "-o", bin + string(filepath.Separator)}, packages...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the programs of the documents: %v\n%s", err, out)
	}
	for _, name := range packages {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			program := exec.CommandContext(t.Context(), filepath.Join(bin, filepath.Base(name)))
			program.Dir = t.TempDir()
			if out, err := program.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// texts returns the files that patterns match, by their paths.
func texts(t *testing.T, patterns ...string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, pattern := range patterns {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			found[name] = readFile(t, name)
		}
	}
	return found
}

// readFile returns what a file holds.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var reference = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// Links of the documents lead to files of the repository that are there, and to headings that are there.
func TestLinksOfDocs(t *testing.T) {
	seen := 0
	for document, text := range texts(t, "../*.md", "../docs/*.md", "../docs/*/*.md") {
		for _, match := range reference.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			path, heading, _ := strings.Cut(match[1], "#")
			if strings.Contains(path, ":") {
				continue
			}
			seen++
			target := document
			if path != "" {
				target = filepath.Join(filepath.Dir(document), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s leads nowhere", document, match[1])
				continue
			}
			if heading == "" {
				continue
			}
			page, err := os.ReadFile(target)
			if err != nil || !hasHeading(string(page), heading) {
				t.Errorf("%s: %s: there is no such heading", document, match[1])
			}
		}
	}
	if seen < 50 {
		t.Errorf("only %d links were found", seen)
	}
}

// figure is a number of a text with the word that it is part of, or a share.
var figure = regexp.MustCompile(`\d+ of \d+|[\w./-]*\d[\w.,/-]*`)

// TestFiguresOfDocs fails if the README has a figure that the pages do not have which it links to for it: the
// performance of the parts and the race, which say by which commands they are measured again.
func TestFiguresOfDocs(t *testing.T) {
	figures := func(text string) (list []string) {
		for _, word := range figure.FindAllString(text, -1) {
			list = append(list, strings.TrimRight(word, ".,"))
		}
		return list
	}
	known := make(map[string][]string)
	for _, page := range []string{"docs/performance.md", "docs/race.md"} {
		known[page] = figures(readFile(t, "../"+page))
	}
	_, text, _ := strings.Cut(readFile(t, "../README.md"), "\n## Why this one\n")
	text, _, _ = strings.Cut(text, "\nThe versions are those")
	seen := 0
	for line := range strings.Lines(text) {
		var pages []string // that the line links to, or both
		for _, link := range reference.FindAllStringSubmatch(line, -1) {
			page, _, _ := strings.Cut(link[1], "#")
			pages = append(pages, page)
		}
		if len(pages) == 0 {
			pages = slices.Collect(maps.Keys(known))
		}
		for _, one := range figures(reference.ReplaceAllString(line, "]")) {
			seen++
			if !slices.ContainsFunc(pages, func(page string) bool { return slices.Contains(known[page], one) }) {
				t.Errorf("README.md: %v do not have the figure %s of %q", pages, one, strings.TrimSpace(line))
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d figures were found", seen)
	}
}

// TestSiteOfDocs fails if the menu of the site leaves a document out, or has one twice or one that is not there.
func TestSiteOfDocs(t *testing.T) {
	listed := make(map[string]int)
	for _, entry := range regexp.MustCompile(`(?m)^ +- (?:.+: )?(\S+\.md)$`).FindAllStringSubmatch(readFile(t, "../mkdocs.yml"), -1) {
		listed[entry[1]]++
	}
	documents := []string{"CHANGELOG.md", "CONTRIBUTING.md"} // which docs/.site/hooks.py adds
	for document := range texts(t, "../docs/*.md", "../docs/*/*.md") {
		name, err := filepath.Rel("../docs", document)
		if err != nil {
			t.Fatal(err)
		}
		if name = filepath.ToSlash(name); name != "design/0000-template.md" {
			documents = append(documents, name)
		}
	}
	if len(documents) < 60 {
		t.Fatalf("only %d documents", len(documents))
	}
	for _, name := range documents {
		if listed[name] != 1 {
			t.Errorf("mkdocs.yml has %s %d times in its menu, not once", name, listed[name])
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("mkdocs.yml has %s in its menu, which is not there", name)
	}
}

var (
	fenced = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]*`")
	titles = regexp.MustCompile(`(?m)^#+ (.+)$`)
	noSlug = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// hasHeading reports whether a document has a heading whose anchor is that.
func hasHeading(page, anchor string) bool {
	for _, title := range titles.FindAllStringSubmatch(page, -1) {
		if slug := noSlug.ReplaceAllString(strings.ToLower(title[1]), ""); strings.ReplaceAll(slug, " ", "-") == anchor {
			return true
		}
	}
	return false
}

// squeeze removes what does not matter for a comparison of code: indentation and empty lines.
func squeeze(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

// ignored is a call of an Output whose error nobody looks at.
var ignored = regexp.MustCompile(`(?m)^[\t /]*(_ = )?out\.(Item|Follow|FollowLinks|Request)\(.*\)$`)

// TestErrorsOfOutputAreReturned fails if a document or an example ignores an error of Output, which linters find and users copy.
func TestErrorsOfOutputAreReturned(t *testing.T) {
	found := 0
	for _, dir := range []string{"../docs", "../examples", "../README.md", "../doc.go", "../example_test.go", "../funcs_test.go", "../output.go"} {
		err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".md") {
				return err
			}
			text, err := os.ReadFile(path)
			found += strings.Count(string(text), "out.Item(")
			for _, line := range ignored.FindAllString(string(text), -1) {
				t.Errorf("%s ignores an error: %s", path, strings.TrimSpace(line))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 20 {
		t.Errorf("only %d calls of Item were found", found)
	}
}

// TestDocsIndexExamples fails if the index of the examples leaves one out.
func TestDocsIndexExamples(t *testing.T) {
	index := readFile(t, "../examples/README.md")
	entries, err := os.ReadDir("../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.IsDir() && !strings.Contains(index, "["+entry.Name()+"]("+entry.Name()) {
			t.Errorf("examples/README.md does not list %s", entry.Name())
		}
	}
}
