package e2e_test

import (
	"regexp"
	"strings"
	"testing"
)

// fencedBlock is a block of a document: the language that its fence names, and its text. Each match goes from an opening
// fence to its closing one, so that the end of one block is not taken for the beginning of the next.
var fencedBlock = regexp.MustCompile("(?ms)^[ ]*```([^`\n]*)\n(.*?)^[ ]*```[ ]*$")

// said finds the message in a line of the log, or in what a program prints of the error of Run.
var said = regexp.MustCompile(`^(?:(?:INFO|WARN|ERRO)\[\d+\] (.*?)(?:  \S+=.*)?|.*level=\w+ msg="((?:[^"\\]|\\.)*)".*|(tegenaria: .*))$`)

// varies is what differs between two messages of one kind.
var varies = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\\"`), `"`},
	{regexp.MustCompile(`https?://[^\s,"]+`), "URL"},
	{regexp.MustCompile(`"[^"]*"`), "TEXT"},
	{regexp.MustCompile(`\b[\w-]+(\.example|\.test)\b|\b127\.0\.0\.1\b`), "HOST"},
	{regexp.MustCompile(`\b\d[\d.,]*( ?([kMG]?B|µs|ms|s|m|h)(\d+|\b))*|TIME|SIZE|VERSION|\bN\b`), "#"},
	{regexp.MustCompile(`\b(request|page|seed|item|failure)s\b`), "$1"},
	{regexp.MustCompile(` \(# page/min\)`), ""}, // of crawls that took longer than a second
	{regexp.MustCompile(`(, )# duplicate`), "${1}# duplicate"},
}

// kind returns a message without what differs.
func kind(message string) string {
	for _, v := range varies {
		message = v.pattern.ReplaceAllString(message, v.text)
	}
	return message
}

// TestMessagesOfDocs fails if a document shows a line of the log, or an error of Run, that no golden file has: those of
// ./transcripts and ./mistakes hold what was really said.
func TestMessagesOfDocs(t *testing.T) {
	known := make(map[string]bool)
	for _, text := range texts(t, "*/testdata/*.golden") {
		for line := range strings.Lines(text) {
			if found := said.FindStringSubmatch(strings.TrimSpace(line)); found != nil {
				known[kind(found[1]+found[2]+found[3])] = true
			}
		}
	}
	if len(known) < 100 {
		t.Fatalf("only %d messages in golden files", len(known))
	}
	shown := 0
	for document, text := range texts(t, "../README.md", "../docs/*.md", "../docs/guides/*.md") {
		for _, block := range fencedBlock.FindAllStringSubmatch(text, -1) {
			if block[1] != "" { // code of some language
				continue
			}
			for line := range strings.Lines(block[2]) {
				found := said.FindStringSubmatch(strings.TrimSpace(line))
				if found == nil {
					continue
				}
				shown++
				if message := found[1] + found[2] + found[3]; !known[kind(message)] {
					t.Errorf("%s shows a message that no golden file has:\n%s\n(looked for: %s)", document, message, kind(message))
				}
			}
		}
	}
	if shown < 20 {
		t.Errorf("only %d messages in documents", shown)
	}
}
