package content_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/content/language"
	"github.com/tegenaria/tegenaria/html"
)

// The code of docs/guides/text.md.

const paperPage = `<!DOCTYPE html><html lang="en-GB"><head><title>Loom, from source - The Paper</title>
<meta property="og:site_name" content="The Paper"><meta name="author" content="Ann Other">
<meta property="article:published_time" content="2026-05-06T07:08:09Z"></head><body>
<nav><a href="/">Home</a> <a href="/news">News</a></nav>
<main><h1>Loom, from source</h1>
<p>A loom that you have built yourself is yours, and the <a href="/looms">other ones</a> are not.</p>
<h2>Building</h2>
<p>Two commands build it, and they take about a minute.</p>
<pre><code class="language-sh">make
make install</code></pre>
<h3>Threads</h3>
<table><tr><th>colour</th><th>length</th></tr><tr><td>red</td><td>3 m</td></tr></table></main>
<aside class="related">Other articles: <a href="/spindle">a spindle</a></aside>
<footer>© The Paper</footer></body></html>`

type Text struct {
	URL      string
	Title    string
	Language string
	Text     string
	Markdown string
}

func parseText(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[Text]) error {
	article, err := page.Article()
	var none *content.NoTextError
	if errors.As(err, &none) {
		return out.FollowLinks() // a page of pictures or of links
	}
	if err != nil {
		return err
	}
	item := Text{URL: page.URL, Title: article.Title, Language: article.Language, Text: article.Text, Markdown: article.Markdown()}
	if err := out.Item(item); err != nil {
		return err
	}
	return out.FollowLinks()
}

// It fails if the parser of the guide does not do what the guide says.
func TestParseText(t *testing.T) {
	pages := fstest.MapFS{"index.html": {Data: []byte("<title>x</title><img src=x><a href=loom.html></a>")}, "loom.html": {Data: []byte(paperPage)}}
	server := httptest.NewServer(http.FileServerFS(pages))
	defer server.Close()
	spider := tegenaria.NewSpider("text", tegenaria.Handle(parseText), server.URL)
	var titles []string
	for item, err := range tegenaria.Crawl[Text](t.Context(), spider, tegenaria.EngineWithAllowedDomains("127.0.0.1")) {
		if err != nil {
			t.Fatal(err)
		}
		titles = append(titles, item.Title+" "+item.Language)
	}
	if len(titles) != 1 || titles[0] != "Loom, from source en-GB" {
		t.Errorf("%q", titles)
	}
}

func ExampleExtract() {
	doc, err := html.Parse([]byte(paperPage))
	if err != nil {
		panic(err)
	}
	article, err := content.Extract(doc, "https://paper.example/loom")
	if err != nil {
		panic(err)
	}
	fmt.Println(article.Title, "by", article.Byline, "in", article.Site, article.Published.Year(), article.Language)
	fmt.Println(article.Text)
	// Output:
	// Loom, from source by Ann Other in The Paper 2026 en-GB
	// Loom, from source
	//
	// A loom that you have built yourself is yours, and the other ones are not.
	//
	// Building
	//
	// Two commands build it, and they take about a minute.
	//
	// make
	// make install
	//
	// Threads
	//
	// colour | length
	// red | 3 m
}

func ExampleArticle_Markdown() {
	doc, err := html.Parse([]byte(paperPage))
	if err != nil {
		panic(err)
	}
	article, err := content.Extract(doc, "https://paper.example/loom")
	if err != nil {
		panic(err)
	}
	fmt.Println(strings.ReplaceAll(article.Markdown(), "`", "'"))
	fmt.Println("-----")
	plain := article.Markdown(content.WithoutLinks(), content.WithoutTables(), content.WithoutImages())
	fmt.Println(strings.Contains(plain, "paper.example"), strings.Contains(plain, "|"))
	// Output:
	// # Loom, from source
	//
	// A loom that you have built yourself is yours, and the [other ones](https://paper.example/looms) are not.
	//
	// ## Building
	//
	// Two commands build it, and they take about a minute.
	//
	// '''sh
	// make
	// make install
	// '''
	//
	// ### Threads
	//
	// | colour | length |
	// | --- | --- |
	// | red | 3 m |
	// -----
	// false false
}

func ExampleArticle_Chunks() {
	doc, err := html.Parse([]byte(paperPage))
	if err != nil {
		panic(err)
	}
	article, err := content.Extract(doc, "https://paper.example/loom")
	if err != nil {
		panic(err)
	}
	for _, chunk := range article.Chunks(60, content.WithoutLinks()) {
		source := doc.Source()[chunk.Start:chunk.End]
		fmt.Printf("%s: %d tokens, from %d bytes of the page\n", strings.Join(chunk.Headings, " > "), chunk.Tokens, len(source))
	}
	// Output:
	// Loom, from source: 24 tokens, from 120 bytes of the page
	// Loom, from source > Building: 24 tokens, from 122 bytes of the page
	// Loom, from source > Building > Threads: 15 tokens, from 82 bytes of the page
}

func ExampleMain() {
	doc, err := html.Parse([]byte(paperPage))
	if err != nil {
		panic(err)
	}
	article, err := content.Extract(doc, "https://paper.example/loom", content.Main("main"))
	if err != nil {
		panic(err)
	}
	fmt.Println(article.Title)
	_, err = content.Extract(doc, "https://paper.example/loom", content.Main("#gone"))
	fmt.Println(err)
	// Output:
	// Loom, from source
	// content: https://paper.example/loom has no main text: the selector "#gone" of Main matches nothing
}

func ExampleChunks() {
	doc, err := html.Parse([]byte(`<h1>net</h1><p>For networks.</p><dl><dt id=dial>Dial(address)</dt><dd>Connects to the address, and waits until it answers.</dd></dl>`))
	if err != nil {
		panic(err)
	}
	const page = "https://manual.example/net"
	for _, chunk := range content.Chunks(doc.Root(), page, 20) {
		fmt.Println(len(chunk.ID), page+"#"+chunk.Anchor, chunk.Headings)
	}
	// Output:
	// 32 https://manual.example/net# [net]
	// 32 https://manual.example/net#dial [net Dial(address)]
}

func ExampleOverlap() {
	doc, err := html.Parse([]byte(`<p>One sentence stands here. Another one follows it. A third one is the last of all.</p>`))
	if err != nil {
		panic(err)
	}
	for _, chunk := range content.Chunks(doc.Root(), "https://manual.example/", 18, content.Overlap(8)) {
		fmt.Printf("%q %q\n", chunk.Text[:chunk.Overlap], chunk.Text[chunk.Overlap:])
	}
	// Output:
	// "" "One sentence stands here."
	// "One sentence stands here. " "Another one follows it."
	// "Another one follows it. " "A third one is the last of all."
}

func ExampleMarkdown() {
	doc, err := html.Parse([]byte(`<p>Not this.</p><div id=note><p>1. A <b>bold</b> note, with <a href=more>more</a>.</p></div>`))
	if err != nil {
		panic(err)
	}
	for n := range doc.Root().Descendants() {
		if n.Attr("id") == "note" {
			fmt.Println(content.Markdown(n, "https://paper.example/notes/"))
		}
	}
	// Output: 1\. A **bold** note, with [more](https://paper.example/notes/more).
}

// languageOf returns the language that the page declares, or a guess that is nearly sure.
func languageOf(article *content.Article) string {
	if article.Language != "" {
		return article.Language
	}
	if tag, confidence := language.Guess(article.Text); confidence >= 0.8 {
		return tag
	}
	return ""
}

func ExampleArticle_language() {
	request := tegenaria.NewRequest("https://paper.example/web", tegenaria.GET, nil)
	page := tegenaria.NewResponse(request, 200, nil, []byte("<p>Die Spinne sitzt in der Mitte ihres Netzes und wartet, bis sich etwas bewegt. Dann läuft sie los."))
	article, err := page.Article()
	if err != nil {
		panic(err)
	}
	fmt.Printf("%q %q\n", article.Language, languageOf(article))
	// Output: "" "de"
}

func ExampleCountTokens() {
	request := tegenaria.NewRequest("https://paper.example/loom", tegenaria.GET, nil)
	article, err := tegenaria.NewResponse(request, 200, nil, []byte(paperPage)).Article()
	if err != nil {
		panic(err)
	}
	// The tokenizer of your model in the place of a count of words.
	count := func(text string) int { return len(strings.Fields(text)) }
	for _, chunk := range article.Chunks(20, content.CountTokens(count)) {
		fmt.Println(chunk.Tokens, chunk.Headings[len(chunk.Headings)-1])
	}
	// Output:
	// 19 Loom, from source
	// 17 Building
	// 18 Threads
}

func ExampleDistance() {
	a, _ := content.Simhash(strings.Repeat("All the news that is fit to print, and some that is not. ", 9))
	b, shingles := content.Simhash(strings.Repeat("ALL the news that is fit to print and some that is not ", 9))
	c, _ := content.Simhash("A text about spiders, webs and flies, which has nothing in common with the news.")
	fmt.Println(content.Distance(a, b), shingles, content.Distance(a, c) > content.MaxDistance)
	// Output: 0 115 true
}

func Example() {
	request := tegenaria.NewRequest("https://paper.example/loom", tegenaria.GET, nil)
	article, err := tegenaria.NewResponse(request, 200, nil, []byte(paperPage)).Article()
	if err != nil {
		panic(err)
	}
	fmt.Println(article.Title)
	fmt.Println(article.Excerpt)
	// Output:
	// Loom, from source
	// A loom that you have built yourself is yours, and the other ones are not.
}

func ExampleArticle_Left() {
	doc, err := html.Parse([]byte(strings.Replace(paperPage, "a spindle", "a spindle that turns by itself, and what it says of its maker", 1)))
	if err != nil {
		panic(err)
	}
	article, err := content.Extract(doc, "https://paper.example/loom")
	if err != nil {
		panic(err)
	}
	for _, part := range article.Left() {
		if !part.Reason.Unseen() && part.Words > article.Words()/10 {
			fmt.Printf("%d words are not in the article: %s\n", part.Words, part.Reason)
		}
	}
	// Output: 15 words are not in the article: its class or id names something other than the text
}
