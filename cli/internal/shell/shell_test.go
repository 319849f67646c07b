package shell_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli/internal/shell"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var update = flag.Bool("update", false, "write the outputs in docs/guides/shell.md")

// pageOf makes a page of HTML.
func pageOf(markup string) *tegenaria.Response {
	header := map[string][]string{"Content-Type": {"text/html; charset=utf-8"}}
	return tegenaria.NewResponse(tegenaria.NewRequest("https://shop.example/", tegenaria.GET, nil), 200, header, []byte(markup))
}

// host fetches without an engine.
var host = shell.Host{
	Fetch: func(ctx context.Context, url string) (*tegenaria.Response, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return nil, err
		}
		resp, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(resp.Body)
		resp.Header.Del("Date")
		return tegenaria.NewResponse(tegenaria.NewRequest(url, tegenaria.GET, nil), resp.StatusCode, resp.Header, body), errors.Join(err, resp.Body.Close())
	},
	Spiders:   []string{"books", "broken"},
	Printable: func(text string) string { return strings.ReplaceAll(text, "\x1b", "?") },
	Terminal:  true,
}

const shop = `<!doctype html><title>Shop</title><div id=main class="list wide"><article class="book new"><h3><a href=one>One</a></h3></article>
<article class=book><h3><a href=two title="a|b">Two</a></h3><p class="a` + "\x1b" + `">x</p></article></div>`

// It fails if a step of a selector is left out, counted wrongly, or the remark stands elsewhere.
func TestWhy(t *testing.T) {
	for _, test := range []struct{ line, want string }{
		{"why div#main > article.book.old a", `
			1  div
			1  div#main
			2  div#main > article
			2  div#main > article.book
			0  div#main > article.book.old  <- nothing is left; the page has no "old"
			0  div#main > article.book.old a`},
		{"why article.bok::attr(class), a[title='a|b, c']", `
			2  article
			0  article.bok  <- nothing is left; the page has "book"
			0  article.bok::attr(class)

			2  a
			0  a[title='a|b, c']  <- nothing is left`},
		{"why h3:has(> a):not(.x)", `
			2  h3
			2  h3:has(> a)
			2  h3:has(> a):not(.x)`},
		{"why a::text", `
			2  a
			2  a::text`},
		{`why //article[@class="book"]/h3/a/@hreff | //title`, `
			2  //article
			1  //article[@class="book"]
			1  //article[@class="book"]/h3
			1  //article[@class="book"]/h3/a
			0  //article[@class="book"]/h3/a/@hreff  <- nothing is left; the page has "href"

			1  //title`},
		{"css article | why p", "1  p"},
		{"why em", `0  em  <- nothing is left; the page has no "em"`},
	} {
		var out bytes.Buffer
		s := shell.New(host, &out, io.Discard)
		s.Open(pageOf(shop))
		if err := s.Do(t.Context(), test.line); err != nil {
			t.Errorf("%s: %v", test.line, err)
		}
		if got, want := unindented(out.String()), unindented(test.want); got != want {
			t.Errorf("%s:\n%s\nwanted:\n%s", test.line, got, want)
		}
	}
}

func unindented(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// It fails if completion offers what the page does not have, or what cannot stand there.
func TestComplete(t *testing.T) {
	for _, test := range []struct {
		line, word string
		want       []string
	}{
		{"f", "f", []string{"fetch", "follow"}},
		{"css h3 | t", "t", []string{"text", "tree"}},
		{"css h3 | pa", "pa", nil},
		{"parse b", "b", []string{"books", "broken"}},
		{"parse books ", "", nil},
		{"css art", "art", []string{"article"}},
		{"css div > ", "", []string{"a", "article", "body", "div", "h3", "head", "html", "p", "title"}},
		{"css div .", ".", []string{".book", ".list", ".new", ".wide"}},
		{"css article.b", "article.b", []string{"article.book"}},
		{"follow #", "#", []string{"#main"}},
		{"why a[t", "a[t", []string{"a[title"}},
		{"css a::", "a::", []string{"a::attr(", "a::text"}},
		{"css a::attr(h", "a::attr(h", []string{"a::attr(href"}},
		{"css a | css div>a", "div>a", []string{"div>a", "div>article"}},
		{"xpath //art", "//art", []string{"//article"}},
		{"xpath //a/@h", "//a/@h", []string{"//a/@href"}},
		{"why //a/@h", "//a/@h", []string{"//a/@href"}},
		{"re a", "a", nil},
	} {
		s := shell.New(host, io.Discard, io.Discard)
		s.Open(pageOf(shop))
		word, got := s.Complete(test.line)
		if word != test.word || !slices.Equal(got, test.want) {
			t.Errorf("%q: %q becomes %q; wanted %q becomes %q", test.line, word, got, test.word, test.want)
		}
	}
	s := shell.New(host, io.Discard, io.Discard)
	if _, got := s.Complete("css a"); got != nil {
		t.Errorf("without a page: %q", got)
	}
}

// What completion offers, and what the tree shows, are selectors that select. It fails if a name is not escaped where CSS asks for it.
func TestCompleteEscapes(t *testing.T) {
	const page = `<div id="2nd" class="md:flex w-1/2 -3 2xl @a é"><svg:rect id="a.b"></svg:rect><p @click=x xml:lang=y></p></div>`
	for _, test := range []struct {
		line string
		want []string
	}{
		{"css .m", []string{`.md\:flex`}},
		{"css .md\\:f", []string{`.md\:flex`}},
		{"css .w-1\\/", []string{`.w-1\/2`}},
		{"css .", []string{`.-\33 `, `.\32 xl`, `.\@a`, `.md\:flex`, `.w-1\/2`, ".é"}},
		{"css #", []string{`#\32 nd`, `#a\.b`}},
		{"css s", []string{`svg\:rect`}},
		{"css [", []string{`[\@click`, "[class", "[id", `[xml\:lang`}},
	} {
		s := shell.New(host, io.Discard, io.Discard)
		s.Open(pageOf(page))
		_, got := s.Complete(test.line)
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%q becomes %q; wanted %q", test.line, got, test.want)
		}
		for _, made := range got {
			if made[0] == '[' {
				made += "]"
			}
			if pageOf(page).CSS(made).Len() == 0 {
				t.Errorf("%q selects nothing", made)
			}
		}
	}
	var out bytes.Buffer
	s := shell.New(host, &out, &out)
	s.Open(pageOf(page))
	if err := s.Do(t.Context(), "tree"); err != nil || !strings.Contains(out.String(), `div#\32 nd.md\:flex.w-1\/2.`) {
		t.Errorf("%v: %s", err, out.String())
	}
}

// It fails if a page that cannot be read ends the shell, or what it holds is printed as it is.
func TestBadPages(t *testing.T) {
	binary := bytes.Repeat([]byte("\x00\xff\x1b[2J<a href=x>\x1b]0;t\x07"), 1000)
	nested := []byte(strings.Repeat("<div>", deep.Rounds(2_000, 200_000)))
	wide := []byte(strings.Repeat("<p class=a>x", deep.Rounds(10_000, 32<<20/12)))
	for name, body := range map[string][]byte{"binary": binary, "deep": nested, "wide, of 32 MiB in deep checks": wide, "empty": nil} {
		var out bytes.Buffer
		s := shell.New(host, &out, &out)
		s.Open(pageOf(string(body)))
		for _, line := range []string{"css a", "css p", "xpath //a", "text", "re a", "tree", "links", "headers", "json a", "why p.a", "css p | text", "follow a.none"} {
			if err := s.Do(t.Context(), line); err != nil {
				out.WriteString(host.Printable(err.Error()))
			}
		}
		s.Complete("css .")
		if strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: an escape sequence was printed", name)
		}
		if out.Len() > 1<<20 {
			t.Errorf("%s: %d bytes were printed", name, out.Len())
		}
	}
}

// TestGuide runs the commands of docs/guides/shell.md on the demo site, and compares what they print; -update writes it.
func TestGuide(t *testing.T) {
	const path = "../../../docs/guides/shell.md"
	site := demosite.MustStart()
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := shell.New(host, &out, &out)
	var made strings.Builder
	inside, ran := false, 0
	for line := range strings.Lines(string(text)) {
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```text\n"
		case inside && isCommand:
			ran++
			out.Reset()
			command = strings.ReplaceAll(strings.TrimSpace(command), "https://quotes.example", site.URL())
			if err := s.Do(t.Context(), command); err != nil {
				out.WriteString(err.Error() + "\n")
			}
			made.WriteString(line + strings.ReplaceAll(out.String(), site.URL(), "https://quotes.example"))
			continue
		case inside:
			continue
		}
		made.WriteString(line)
	}
	if *update {
		if err := os.WriteFile(path, []byte(made.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if made.String() != string(text) || ran == 0 {
		t.Errorf("%s is not what the %d commands print: go test ./cli/internal/shell -run TestGuide -update writes it", path, ran)
	}
}
