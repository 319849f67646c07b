package articles_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/yardstick"
)

var (
	programs = flag.String("programs", "", "the folder with the packages of npm that package.json names")
	manuals  = flag.String("manuals", "", "the folders of python3.11-doc and postgresql-doc-15, separated by a comma")
	pandoc   = flag.String("pandoc", "", "the program pandoc")
)

// node runs a script with these lines, and returns the strings that it prints.
func node(t *testing.T, script string, lines []string) (out []string) {
	if *programs == "" {
		t.Skip("other programs are compared: run this with -args -programs DIR -manuals DIR,DIR -pandoc FILE")
	}
	command := exec.CommandContext(t.Context(), "node", script, *programs)
	command.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	for line := range bytes.Lines(text) {
		var s string
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatalf("%s: %v", script, err)
		}
		out = append(out, s)
	}
	if len(out) != len(lines) {
		t.Fatalf("%s: %d answers to %d lines", script, len(out), len(lines))
	}
	return out
}

// manualPages returns the paths of every eighth page of manuals other than tables of contents, and the texts that are wanted.
func manualPages(t *testing.T) (paths, texts []string) {
	for _, dir := range strings.Split(*manuals, ",") {
		found, err := yardstick.ManualPages(dir)
		if err != nil {
			t.Fatal(err)
		}
		for i, path := range found {
			if i%8 != 7 {
				continue
			}
			doc, err := html.Parse(read(t, path))
			if err != nil {
				t.Fatal(err)
			}
			if text := yardstick.ManualText(doc); text != "" && !yardstick.IsContents(doc) {
				paths, texts = append(paths, path), append(texts, text)
			}
		}
	}
	return paths, texts
}

func read(t *testing.T, path string) []byte {
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// TestPrograms compares the texts of manuals with those that Readability.js finds. It fails if ours are worse.
func TestPrograms(t *testing.T) {
	if *manuals == "" {
		t.Skip("the manuals are read: run this with -args -manuals DIR,DIR -programs DIR -pandoc FILE")
	}
	paths, texts := manualPages(t)
	theirs := node(t, "readability.mjs", paths)
	sum := [2]float64{}
	for i, path := range paths {
		text := ""
		if a := extract(t, read(t, path), "http://localhost/page.html"); a != nil {
			text = a.Text
		}
		for k, text := range []string{text, theirs[i]} {
			sum[k] += yardstick.F1(yardstick.Compare(texts[i], text, 1))
		}
	}
	ours, readability := sum[0]/float64(len(paths)), sum[1]/float64(len(paths))
	t.Logf("%d pages of manuals: F1 of ours %.4f, of Readability.js %.4f", len(paths), ours, readability)
	if ours < readability {
		t.Error("ours are worse")
	}
}

var image = regexp.MustCompile(`<img[^>]*>`)

// TestMarkdown has pandoc read the Markdown that three programs make of the same articles, and prints how many have the same words,
// headings, links, tables, lists and code as the article. It fails if another program has more than ours.
func TestMarkdown(t *testing.T) {
	if *manuals == "" || *pandoc == "" {
		t.Skip("pandoc reads Markdown: run this with -args -manuals DIR,DIR -programs DIR -pandoc FILE")
	}
	paths, _ := manualPages(t)
	pages := suite(t)
	for _, path := range paths {
		pages = append(pages, read(t, path))
	}
	var articles, lines, ours, others []string
	for i, body := range pages {
		a := extract(t, body, fakePage)
		if i%3 != 0 || a == nil { // pandoc takes its time
			continue
		}
		source := image.ReplaceAllString(a.HTML(), "")
		line, err := json.Marshal(source)
		if err != nil {
			t.Fatal(err)
		}
		other, err := convert.ConvertString(source)
		if err != nil {
			t.Fatal(err)
		}
		articles, lines = append(articles, source), append(lines, string(line))
		ours, others = append(ours, a.Markdown(content.WithoutImages())), append(others, other)
	}
	facts := []string{"words", "headings", "links", "tables", "lists", "code", "all"}
	t.Logf("| of %d | %s |", len(articles), strings.Join(facts, " | "))
	var first map[string]int
	for _, program := range []struct {
		name     string
		markdown []string
	}{{"ours", ours}, {"html-to-markdown", others}, {"turndown", node(t, "turndown.mjs", lines)}} {
		same := sameFacts(t, articles, program.markdown, first == nil)
		row := "| " + program.name
		for _, f := range facts {
			row += fmt.Sprint(" | ", same[f])
			if first != nil && same[f] > first[f] {
				t.Errorf("%s has the same %s in %d, ours in %d", program.name, f, same[f], first[f])
			}
		}
		t.Log(row + " |")
		if first == nil {
			first = same
		}
	}
}

// sameFacts counts the articles whose Markdown says the same, and logs what differs.
func sameFacts(t *testing.T, articles, markdown []string, log bool) map[string]int {
	same := map[string]int{"words": 0, "headings": 0, "links": 0, "tables": 0, "lists": 0, "code": 0, "all": 0}
	var mu sync.Mutex
	var group sync.WaitGroup
	for half := range 2 {
		group.Go(func() {
			for i := half; i < len(articles); i += 2 {
				rendered, err := yardstick.Pandoc(*pandoc, markdown[i])
				if err != nil {
					t.Error(err)
					continue
				}
				differs := map[string]bool{}
				for _, d := range yardstick.RoundTrip(articles[i], rendered) {
					if log {
						t.Logf("article %d: %v", i, d)
					}
					differs[d.Fact], differs["all"] = true, true
				}
				mu.Lock()
				for f := range same {
					if !differs[f] {
						same[f]++
					}
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return same
}
