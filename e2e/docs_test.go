// Package e2e holds the tests that drive programs and read documents from outside.
package e2e_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestDocs compiles the Go programs in README and docs. A block that is no program must stand in a Go
// file of the repository, line by line, so that it is compiled there.
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
	overlay := map[string]map[string]string{"Replace": {}}
	var packages []string
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range goBlock.FindAllStringSubmatch(string(text), -1) {
			name, _ := filepath.Rel(root, document)
			if !strings.HasPrefix(block[1], "package ") {
				if !strings.Contains(sources.String(), squeeze(block[1])) {
					t.Errorf("%s: Go block %d is neither a program nor found in a Go file:\n%s", name, i+1, block[1])
				}
				continue
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(block[1]), 0o600); err != nil {
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
	build := exec.Command("go", append([]string{"build", "-overlay", file, "-o", os.DevNull}, packages...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("building the programs of the documents: %v\n%s", err, out)
	}
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
