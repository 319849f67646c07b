package spidertest

import (
	"bytes"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"
)

// Page is an answer of a site, for [Parse] and [SiteWithPages]. Make one with [File], [HTML], [JSON] or [Redirect], or write
// the struct. A string is either the name of a file, given to File, or markup, given to HTML; nothing is guessed.
//
//	notFound := spidertest.HTML("<h1>No such book</h1>")
//	notFound.Status = 404
type Page struct {
	Status int               // 200 if 0
	Header map[string]string // by name, in any case; see Body for Content-Type
	// Body is what is sent. Its Content-Type is that of Header. Without one it depends on the ending of the file's
	// name, or on the first bytes of the body (net/http.DetectContentType).
	Body string
	// File is the path of a file to send instead of Body, relative to the folder of the test. A file that cannot be read
	// ends the test.
	File string
}

// File is a page with the content of a file: "testdata/list.html". Its Content-Type depends on the ending of the name; .html
// names no charset, so that the one that the document declares is used.
func File(path string) Page { return Page{File: path} }

// HTML is a page with this markup, which is UTF-8.
func HTML(markup string) Page {
	return Page{Body: markup, Header: map[string]string{"Content-Type": "text/html; charset=utf-8"}}
}

// JSON is a page with this JSON text.
func JSON(text string) Page {
	return Page{Body: text, Header: map[string]string{"Content-Type": "application/json"}}
}

// Redirect is a page that sends the client on to another URL, with status 302. A relative URL is resolved by the client.
func Redirect(url string) Page {
	return Page{Status: http.StatusFound, Header: map[string]string{"Location": url}}
}

// answer is a page with its file read and everything decided.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// answer reads the page's file and fills in what the page leaves open.
func (p Page) answer(t testing.TB) answer {
	t.Helper()
	a := answer{status: p.Status, header: make(http.Header), body: []byte(p.Body)}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	if p.File != "" {
		if p.Body != "" {
			t.Fatalf("spidertest: the Page has a Body and a File, %s; leave one of them out", p.File)
		}
		body, err := os.ReadFile(p.File)
		if err != nil {
			t.Fatalf("spidertest: reading the page: %v", err)
		}
		a.body = body
	}
	for name, value := range p.Header {
		a.header.Set(name, value)
	}
	if a.header.Get("Content-Type") == "" && len(a.body) > 0 {
		a.header.Set("Content-Type", contentType(p.File, a.body))
	}
	return a
}

// contentType returns the media type of a file by the ending of its name, or by its first bytes. HTML and XML have no charset:
// these documents declare it themselves.
func contentType(name string, body []byte) string {
	switch strings.ToLower(path.Ext(name)) {
	case ".html", ".htm":
		return "text/html"
	case ".xhtml":
		return "application/xhtml+xml"
	case ".xml", ".rss", ".atom":
		return "application/xml"
	case ".json":
		return "application/json"
	case ".jsonl":
		return "application/jsonl"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".csv":
		return "text/csv; charset=utf-8"
	case ".css":
		return "text/css"
	case ".js":
		return "text/javascript"
	case ".svg":
		return "image/svg+xml"
	}
	detected := http.DetectContentType(body)
	for _, markup := range []string{"text/html", "text/xml"} {
		if strings.HasPrefix(detected, markup) {
			return markup
		}
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '<' && strings.HasPrefix(detected, "text/plain") {
		return "text/html" // a piece of markup that begins with an element which DetectContentType does not know
	}
	return detected
}
