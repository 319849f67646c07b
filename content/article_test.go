package content_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/metadata"
)

const someText = `<p>Some words of a text that is long enough, with commas, to be read as one.</p><p>And another paragraph, which says a little more.</p>`

// What a page says about itself.
func TestDescription(t *testing.T) {
	for _, test := range []struct {
		name, head, body                         string
		title, byline, site, language, published string
	}{
		{name: "nothing", body: someText},
		{name: "title of the page", head: "<title>A page of words</title>", title: "A page of words"},
		{name: "site at the end", head: "<title>A page of words | Paper</title><meta property=og:site_name content=Paper>", title: "A page of words", site: "Paper"},
		{name: "site at the begin", head: "<title>Paper - A page of words</title><meta property=og:site_name content=Paper>", title: "A page of words", site: "Paper"},
		{name: "short end", head: "<title>A page of many words - Paper</title>", title: "A page of many words"},
		{name: "the heading", head: "<title>A page of many words, Paper</title>", body: "<h1>A page of many words</h1>" + someText, title: "A page of many words"},
		{name: "OpenGraph", head: "<title>x</title><meta property=og:title content='Its title'><meta property=og:locale content=pt_BR>", title: "Its title", language: "pt-BR"},
		{name: "JSON-LD", head: `<script type="application/ld+json">{"@type":"NewsArticle","headline":"News","author":{"@type":"Person","name":"Ann Other"},"datePublished":"2026-05-06T07:08:09Z","publisher":{"name":"Paper"}}</script>`,
			title: "News", byline: "Ann Other", site: "Paper", published: "2026-05-06"},
		{name: "two authors", head: `<script type="application/ld+json">{"@type":"BlogPosting","author":[{"name":"Ann"},{"name":"Bob"}]}</script>`, byline: "Ann, Bob"},
		{name: "meta author", head: "<meta name=author content='By Ann  Other'>", byline: "Ann Other"},
		{name: "rel=author", body: "<p>by <a rel=author href=x>Ann Other</a></p>" + someText, byline: "Ann Other"},
		{name: "language of the text", body: "<div lang=de-AT>" + someText + "</div>", language: "de-AT"},
		{name: "http-equiv", head: "<meta http-equiv=Content-Language content='fr, en'>", language: "fr"},
		{name: "no language", head: "<meta http-equiv=Content-Language content='<script>'>"},
	} {
		body := test.body
		if body == "" {
			body = someText
		}
		a := extract(t, "<html><head>"+test.head+"</head><body>"+body+"</body></html>")
		published := ""
		if !a.Published.IsZero() {
			published = a.Published.Format(time.DateOnly)
		}
		got := [...]string{a.Title, a.Byline, a.Site, a.Language, published}
		if want := [...]string{test.title, test.byline, test.site, test.language, test.published}; got != want {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"described", "<meta name=description content=' What it  is. '>" + someText, "What it is."},
		{"first paragraph", "<h1>A title of a page</h1>" + someText, "Some words of a text that is long enough, with commas, to be read as one."},
		{"long", "<p>" + strings.Repeat("words ", 100), strings.TrimSpace(strings.Repeat("words ", 50)) + "…"},
		{"one word", "<p>" + strings.Repeat("ä", 400), strings.Repeat("ä", 300) + "…"},
	} {
		if got := extract(t, test.page).Excerpt; got != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// What is around the text is left out, and what is a part of it is not.
func TestExtract(t *testing.T) {
	const page = `<header><a href=/>Home</a></header><div class=sidebar><p>Buy this, now, and that too, it is cheap.</p></div><div class=content><h1>Title</h1>` +
		someText + `<blockquote>A quote, of someone.</blockquote><ul><li>An item, of the text.</li></ul><div class="share">Share <a href=x>this</a></div>
<div class=comments><p>A comment, of a reader, who was first.</p></div></div><footer>Paper, 2026</footer>`
	a := extract(t, page)
	for _, words := range []string{"Home", "Buy this", "Share", "A comment", "Paper, 2026"} {
		if strings.Contains(a.Text, words) {
			t.Errorf("%q is in the text", words)
		}
	}
	for _, words := range []string{"Title", "Some words", "which says a little more.", "A quote", "- An item"} {
		if !strings.Contains(a.Text, words) {
			t.Errorf("%q is not in the text", words)
		}
	}
}

// Metadata that were read before are taken as they are.
func TestMetadataOption(t *testing.T) {
	a, err := content.Extract(whole(t, "<title>x</title>"+someText), "http://a.test/", content.Metadata(&metadata.Page{Title: "Another title"}))
	if err != nil || a.Title != "Another title" {
		t.Errorf("%v, %+v", err, a)
	}
}

// An article is read by several goroutines at once; the race detector complains if it may not be.
func TestConcurrent(t *testing.T) {
	a := extract(t, paperPage)
	markdown, source, chunks := a.Markdown(), a.HTML(), len(a.Chunks(20))
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if a.Markdown() != markdown || a.HTML() != source || len(a.Chunks(20)) != chunks {
				t.Error("another article in another goroutine")
			}
		})
	}
	group.Wait()
}
