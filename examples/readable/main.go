// Command readable turns pages into text for a search index or a language model.
//
//	go run ./examples/readable                                   # crawls the manual beside this file, served on loopback by the program
//	go run ./examples/readable -tree /usr/share/doc/python3.11/html
//	go run ./examples/readable >monday.jsonl                     # the next day:
//	go run ./examples/readable -before monday.jsonl >tuesday.jsonl
//	readable -page -url https://example.com/a < page.html        # one page, and one JSON object on the output
//
// A crawl writes one JSON object for each chunk of Markdown, with its ID, the headings above it and its place in the
// page. A page whose text is nearly that of an earlier one is marked. With -before the chunks that are new since an
// earlier crawl, and those that are gone, are listed: these are to be put into an index, and to be taken out of it.
package main

import (
	"bufio"
	"context"
	"embed"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/content/language"
	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/pipeline"
)

//go:embed manual
var manual embed.FS

// maxPage is how much of a page is read from the input, in bytes.
const maxPage = 64 << 20

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "readable:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, in io.Reader, out, diagnostics io.Writer) error {
	flags := flag.NewFlagSet("readable", flag.ContinueOnError)
	flags.SetOutput(diagnostics)
	page := flags.Bool("page", false, "read one page from the input, and print one JSON object")
	url := flags.String("url", "http://localhost/", "where the page came from; relative links are resolved with it")
	tree := flags.String("tree", "", "the folder of a documentation tree; without it that of this example is read")
	start := flags.String("start", "index.html", "the page of the tree that the crawl begins with")
	site := flags.String("site", "https://manual.example/", "the URL of the tree on the web, which its pages have in the output")
	before := flags.String("before", "", "the output of an earlier crawl; what has changed since is listed as diagnostics")
	tokens := flags.Int("tokens", 400, "the most tokens of a chunk")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *page {
		return readPage(in, out, *url)
	}
	files, err := fs.Sub(manual, "manual")
	if err == nil && *tree != "" {
		files = os.DirFS(*tree)
	}
	if err != nil {
		return err
	}
	old := map[string]chunk{}
	if *before != "" {
		if old, err = readChunks(*before); err != nil {
			return err
		}
	}
	found, err := crawl(ctx, files, *start, *site, *tokens, out)
	if err != nil || *before == "" {
		return err
	}
	return printChanges(diagnostics, old, found)
}

// readChunks returns the chunks that an earlier crawl has written, by their IDs.
func readChunks(file string) (map[string]chunk, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	chunks := map[string]chunk{}
	for decoder := json.NewDecoder(f); ; {
		var c chunk
		switch err := decoder.Decode(&c); {
		case err == io.EOF:
			return chunks, nil
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		chunks[c.ID] = c
	}
}

// printChanges lists the chunks that only one of two crawls has.
func printChanges(w io.Writer, old, found map[string]chunk) error {
	var lines []string
	list := func(sign string, chunks, others map[string]chunk) (count int) {
		for id, c := range chunks {
			if _, same := others[id]; !same {
				lines = append(lines, fmt.Sprintf("%s %s %s (%s)\n", strings.TrimSuffix(c.URL+"#"+c.Anchor, "#"), sign, id, strings.Join(c.Headings, " > ")))
				count++
			}
		}
		return count
	}
	gone := list("gone", old, found)
	added := list("new", found, old)
	slices.Sort(lines)
	_, err := fmt.Fprintf(w, "%s%d chunks are new, %d are gone, %d are the same\n", strings.Join(lines, ""), added, gone, len(found)-added)
	return err
}

// readable is what -page prints.
type readable struct {
	Title     string     `json:"title"`
	Byline    string     `json:"byline"`
	Published *time.Time `json:"published"`
	Language  string     `json:"language"`
	Text      string     `json:"text"`
	Markdown  string     `json:"markdown"`
}

// readPage prints the article of a page. A page without text has one that is empty.
func readPage(in io.Reader, out io.Writer, url string) error {
	body, err := io.ReadAll(io.LimitReader(in, maxPage))
	if err != nil {
		return err
	}
	text, encoding, _ := charset.Decode(body, "")
	doc, err := html.Parse(text)
	if err != nil {
		return err
	}
	var result readable
	article, err := content.Extract(doc, url, content.Charset(encoding))
	if none := (*content.NoTextError)(nil); err != nil && !errors.As(err, &none) {
		return err
	}
	if err == nil {
		result = readable{Title: article.Title, Byline: article.Byline, Language: languageOf(article), Text: article.Text, Markdown: article.Markdown()}
		if !article.Published.IsZero() {
			result.Published = &article.Published
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(result)
}

// languageOf returns what the page declares, or else a guess that is nearly sure.
func languageOf(article *content.Article) string {
	if article.Language != "" {
		return article.Language
	}
	if tag, confidence := language.Guess(article.Text); confidence >= 0.8 {
		return tag
	}
	return ""
}

// document is a page of the tree.
type document struct {
	URL    string
	Title  string
	Chunks []content.Chunk
	Text   string
	Near   *pipeline.NearDuplicate // the earlier page that has nearly the same text
}

// chunk is a line of the output.
type chunk struct {
	ID       string   `json:"id"`
	URL      string   `json:"url"`
	Anchor   string   `json:"anchor,omitempty"`
	Title    string   `json:"title"`
	Headings []string `json:"headings"`
	Text     string   `json:"text"`
	Tokens   int      `json:"tokens"`
	Start    int      `json:"start"`
	End      int      `json:"end"`
	NearOf   string   `json:"near_of,omitempty"`
}

// crawl serves the files on loopback and crawls them. It returns the chunks by their IDs.
func crawl(ctx context.Context, files fs.FS, start, site string, tokens int, out io.Writer) (map[string]chunk, error) {
	server := httptest.NewServer(http.FileServerFS(files))
	defer server.Close()
	// The IDs of chunks are made of the URLs of their pages: that of the server is another one each time.
	onWeb := func(url string) string { return strings.TrimSuffix(site, "/") + strings.TrimPrefix(url, server.URL) }
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[document]) error {
		root := page.CSS(":root").Nodes()
		if len(root) == 0 {
			return nil
		}
		article, err := content.Extract(root[0].Document(), onWeb(page.URL))
		none := (*content.NoTextError)(nil)
		switch {
		case errors.As(err, &none): // a picture, a list of links
		case err != nil:
			return err
		default:
			if err := out.Item(document{URL: onWeb(page.URL), Title: article.Title, Text: article.Text, Chunks: article.Chunks(tokens)}); err != nil {
				return err
			}
		}
		return out.FollowLinks()
	}
	spider := tegenaria.NewSpider("readable", tegenaria.Handle(parse), server.URL+"/"+start)
	engine := []tegenaria.EngineOption{
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithAllowedDomains("127.0.0.1"), // the pages link to other sites
		tegenaria.EngineWithPipelines(pipeline.NearDuplicates(func(d document) string { return d.Text }, pipeline.NearOptions{})),
	}
	w := bufio.NewWriter(out)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	found := map[string]chunk{}
	for d, err := range tegenaria.Crawl[document](ctx, spider, engine...) {
		if err != nil {
			return nil, err
		}
		for _, c := range d.Chunks {
			line := chunk{ID: c.ID, URL: d.URL, Anchor: c.Anchor, Title: d.Title, Headings: c.Headings, Text: c.Text, Tokens: c.Tokens, Start: c.Start, End: c.End}
			if d.Near != nil {
				line.NearOf = onWeb(d.Near.URL)
			}
			if err := encoder.Encode(line); err != nil {
				return nil, err
			}
			found[c.ID] = line
		}
	}
	return found, w.Flush()
}
