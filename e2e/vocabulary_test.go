package e2e_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestHouseIsInTheArchitecture fails if a document calls packages rooms of a house, which the page about the architecture alone explains.
func TestHouseIsInTheArchitecture(t *testing.T) {
	house := regexp.MustCompile(`(?i)\b(house|hall|cellar|annex|rooms|doors)\b`)
	read := 0
	for document, text := range texts(t, "../*.md", "../docs/*.md", "../docs/guides/*.md", "../docs/design/*.md") {
		read++
		if word := house.FindString(text); word != "" && filepath.Base(document) != "architecture.md" {
			t.Errorf("%s says %q", document, word)
		}
	}
	if read < 40 {
		t.Errorf("only %d documents", read)
	}
}
