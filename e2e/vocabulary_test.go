package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestHouseIsInTheArchitecture fails if a document calls packages rooms of a house, which the page about the architecture alone explains.
func TestHouseIsInTheArchitecture(t *testing.T) {
	house := regexp.MustCompile(`(?i)\b(house|hall|cellar|annex|rooms|doors)\b`)
	read := 0
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/guides/*.md", "../docs/design/*.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents {
			text, err := os.ReadFile(filepath.Clean(document))
			if err != nil {
				t.Fatal(err)
			}
			read++
			if word := house.Find(text); word != nil && filepath.Base(document) != "architecture.md" {
				t.Errorf("%s says %q", document, word)
			}
		}
	}
	if read < 40 {
		t.Errorf("only %d documents", read)
	}
}
