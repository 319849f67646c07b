package main

import (
	"os"
	"strings"
	"testing"
)

// The three days print what the comment of the package says.
func TestThreeDays(t *testing.T) {
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	comment, _, _ := strings.Cut(string(source), "\n// With --history")
	_, comment, _ = strings.Cut(comment, "go run ./examples/recrawl\n//\n")
	var want strings.Builder
	for line := range strings.Lines(comment) {
		if line = strings.TrimPrefix(line, "//\t"); !strings.HasPrefix(line, "//") {
			want.WriteString(line)
		}
	}
	var out strings.Builder
	if err := threeDays(t.Context(), t.TempDir(), &out); err != nil {
		t.Fatal(err)
	}
	if out.String() != want.String() {
		t.Errorf("it prints\n%s\nand the comment says\n%s", out.String(), want.String())
	}
}
