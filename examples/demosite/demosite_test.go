package demosite_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/demosite"
	"golang.org/x/net/html"
)

// get asks a handler directly, without following redirects.
func get(t *testing.T, h http.Handler, path string) *http.Response {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	h.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	return answer
}

func body(t *testing.T, r *http.Response) string {
	t.Helper()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// find returns the nodes with a tag name and, unless it is empty, a class.
func find(t *testing.T, page, tag, class string) []*html.Node {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	var found []*html.Node
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == tag && (class == "" || attr(n, "class") == class) {
			found = append(found, n)
		}
	}
	return found
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// chain follows li.next from a first page and returns the bodies of the pages.
func chain(t *testing.T, h http.Handler, path string) []string {
	t.Helper()
	var pages []string
	for path != "" {
		r := get(t, h, path)
		if r.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d", path, r.StatusCode)
		}
		page := body(t, r)
		pages = append(pages, page)
		path = ""
		for _, li := range find(t, page, "li", "next") {
			path = attr(li.FirstChild, "href")
		}
		if len(pages) > 100 {
			t.Fatal("the chain of next links does not end")
		}
	}
	return pages
}

func TestQuotes(t *testing.T) {
	pages := chain(t, demosite.Handler(), "/quotes/")
	if len(pages) != 10 {
		t.Errorf("%d pages, want 10", len(pages))
	}
	texts := map[string]bool{}
	for i, page := range pages {
		for _, want := range []struct{ tag, class string }{{"div", "quote"}, {"span", "text"}, {"small", "author"}} {
			if n := len(find(t, page, want.tag, want.class)); n != 10 {
				t.Errorf("page %d has %d %s.%s, want 10", i+1, n, want.tag, want.class)
			}
		}
		if len(find(t, page, "a", "tag")) < 10 {
			t.Errorf("page %d has fewer tags than quotes", i+1)
		}
		for _, span := range find(t, page, "span", "text") {
			texts[span.FirstChild.Data] = true
		}
	}
	if len(texts) != 100 {
		t.Errorf("%d different quotes, want 100", len(texts))
	}
}

func TestBooks(t *testing.T) {
	h := demosite.Handler()
	pages := chain(t, h, "/books/")
	if len(pages) != 4 {
		t.Errorf("%d pages, want 4", len(pages))
	}
	books := map[string]bool{}
	for i, page := range pages {
		cards := find(t, page, "article", "product_pod")
		if len(cards) != 12 {
			t.Errorf("page %d has %d cards, want 12", i+1, len(cards))
		}
		for _, a := range find(t, page, "a", "") {
			if attr(a, "title") != "" {
				books[attr(a, "href")] = true
			}
		}
	}
	if len(books) != 48 {
		t.Errorf("%d different books, want 48", len(books))
	}
	for path := range books {
		page := body(t, get(t, h, path))
		rows := find(t, page, "th", "")
		if len(find(t, page, "table", "product_information")) != 1 || len(rows) != 6 {
			t.Errorf("%s: no table of product information with 6 rows: %s", path, page)
		}
		if price := find(t, page, "p", "price_color"); len(price) != 1 || !strings.HasPrefix(price[0].FirstChild.Data, "£") {
			t.Errorf("%s: no price in pounds", path)
		}
		if stock := find(t, page, "p", "availability"); len(stock) != 1 || !strings.Contains(stock[0].FirstChild.Data, "stock") {
			t.Errorf("%s: no stock", path)
		}
	}
}

// TestEveryLinkLeadsSomewhere walks the whole site: no page but the one made for it is missing.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	h := demosite.Handler()
	seen := map[string]bool{"/": true}
	for queue := []string{"/"}; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		r := get(t, h, path)
		switch {
		case path == "/missing/":
			if r.StatusCode != http.StatusNotFound {
				t.Errorf("%s: status %d, want 404", path, r.StatusCode)
			}
			continue
		case strings.HasPrefix(path, "/flaky/"):
			if r.StatusCode != http.StatusServiceUnavailable {
				t.Errorf("%s: status %d, want 503", path, r.StatusCode)
			}
			continue
		case r.StatusCode >= 400:
			t.Errorf("%s: status %d", path, r.StatusCode)
		}
		page := body(t, r)
		if strings.Contains(r.Header.Get("Content-Type"), "html") && r.StatusCode == http.StatusOK {
			wantClean(t, path, page)
		}
		for _, a := range find(t, page, "a", "") {
			ref, err := r.Request.URL.Parse(attr(a, "href"))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if next := ref.RequestURI(); !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	if len(seen) < 120 {
		t.Errorf("only %d addresses found", len(seen))
	}
}

// wantClean checks what a browser would silently mend: a missing doctype, tags left open.
func wantClean(t *testing.T, path, page string) {
	t.Helper()
	if !strings.HasPrefix(page, "<!DOCTYPE html>\n<html lang=\"en\">") {
		t.Errorf("%s does not start with doctype and language", path)
	}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		switch z.Next() {
		case html.ErrorToken:
			if len(open) != 0 {
				t.Errorf("%s leaves %v open", path, open)
			}
			return
		case html.StartTagToken:
			if name, _ := z.TagName(); !slices.Contains([]string{"meta", "img", "input"}, string(name)) {
				open = append(open, string(name))
			}
		case html.EndTagToken:
			name, _ := z.TagName()
			if len(open) == 0 || open[len(open)-1] != string(name) {
				t.Errorf("%s closes %s while %v are open", path, name, open)
				return
			}
			open = open[:len(open)-1]
		}
	}
}

func TestRedirects(t *testing.T) {
	for _, c := range []struct {
		path, to string
		status   int
	}{
		{"/old/", "/quotes/", http.StatusMovedPermanently},
		{"/old/books/", "/books/", http.StatusFound},
		{"/old/hops/3", "/old/hops/2", http.StatusFound},
		{"/old/hops/2", "/old/hops/1", http.StatusTemporaryRedirect},
		{"/old/hops/1", "/quotes/", http.StatusPermanentRedirect},
		{"/old/loop/", "/old/loop/", http.StatusFound},
		{"/quotes/page/1/", "/quotes/", http.StatusMovedPermanently},
	} {
		r := get(t, demosite.Handler(), c.path)
		if r.StatusCode != c.status || r.Header.Get("Location") != c.to {
			t.Errorf("%s: %d to %q, want %d to %q", c.path, r.StatusCode, r.Header.Get("Location"), c.status, c.to)
		}
	}
}

func TestMetaRefresh(t *testing.T) {
	page := body(t, get(t, demosite.Handler(), "/old/refresh/"))
	for _, meta := range find(t, page, "meta", "") {
		if attr(meta, "http-equiv") == "refresh" && attr(meta, "content") == "0; url=/books/" {
			return
		}
	}
	t.Errorf("no meta refresh to /books/ in %s", page)
}

func TestFlakyAnswersTheThirdTime(t *testing.T) {
	h := demosite.Handler()
	for _, path := range []string{"/flaky/1", "/flaky/2"} { // each path counts for itself
		for attempt, want := range []int{503, 503, 200, 200} {
			if r := get(t, h, path); r.StatusCode != want {
				t.Errorf("%s, request %d: status %d, want %d", path, attempt+1, r.StatusCode, want)
			}
		}
	}
	if r := get(t, demosite.Handler(), "/flaky/1"); r.StatusCode != 503 {
		t.Errorf("another Handler: status %d, want 503", r.StatusCode)
	}
	if r := get(t, h, "/flaky/4"); r.StatusCode != 404 {
		t.Errorf("/flaky/4: status %d, want 404", r.StatusCode)
	}
}

func TestItselfIsOneAddress(t *testing.T) {
	page := get(t, demosite.Handler(), "/corners/itself/?a=1&b=2")
	refs := find(t, body(t, page), "main", "")
	var links int
	for n := range refs[0].Descendants() {
		if n.Data != "a" {
			continue
		}
		u, err := page.Request.URL.Parse(attr(n, "href"))
		if err != nil {
			t.Fatal(err)
		}
		links++
		if u.Path != "/corners/itself/" || u.Query().Encode() != "a=1&b=2" {
			t.Errorf("link to %s", u)
		}
	}
	if links != 5 {
		t.Errorf("%d links, want 5", links)
	}
}

func TestAPI(t *testing.T) {
	h := demosite.Handler()
	total := 0
	for number, more := 1, true; more; number++ {
		var answer struct {
			Page    int  `json:"page"`
			HasNext bool `json:"has_next"`
			Quotes  []struct {
				Text   string
				Author struct{ Name, Slug string }
				Tags   []string
			}
		}
		r := get(t, h, fmt.Sprintf("/api/quotes?page=%d", number))
		if ct := r.Header.Get("Content-Type"); ct != "application/json" {
			t.Errorf("content type %q", ct)
		}
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		for _, q := range answer.Quotes {
			if q.Text == "" || q.Author.Name == "" || q.Author.Slug == "" || len(q.Tags) == 0 {
				t.Errorf("page %d: incomplete quote %+v", number, q)
			}
		}
		if answer.Page != number {
			t.Errorf("page %d says it is %d", number, answer.Page)
		}
		total += len(answer.Quotes)
		more = answer.HasNext
	}
	if total != 100 {
		t.Errorf("%d quotes, want 100", total)
	}
	for query, want := range map[string]int{"": 200, "?page=11": 404, "?page=0": 400, "?page=x": 400} {
		if r := get(t, h, "/api/quotes"+query); r.StatusCode != want {
			t.Errorf("%q: status %d, want %d", query, r.StatusCode, want)
		}
	}
}

func TestStartLogsAndCloses(t *testing.T) {
	site, err := demosite.Start()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(site.URL(), "http://127.0.0.1:") {
		t.Errorf("URL %q is not on loopback", site.URL())
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for _, path := range []string{"/robots.txt", "/api/quotes?page=2&x=%20", "/old/"} {
		r, err := client.Get(site.URL() + path)
		if err != nil {
			t.Fatal(err)
		}
		if path == "/robots.txt" && !strings.Contains(body(t, r), "Disallow: /private/") {
			t.Error("robots.txt does not close /private/")
		}
		r.Body.Close()
	}
	client.CloseIdleConnections()
	for range 2 {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	}
	var got []string
	for _, e := range site.Log() {
		if e.Time.IsZero() {
			t.Errorf("%s has no time", e.URL)
		}
		got = append(got, e.Method+" "+e.URL)
	}
	if want := "GET /robots.txt, GET /api/quotes?page=2&x=%20, GET /old/"; strings.Join(got, ", ") != want {
		t.Errorf("log: %v", got)
	}
	if _, err := client.Get(site.URL()); err == nil {
		t.Error("the site answers after Close")
	}
}

func ExampleHandler() {
	server := httptest.NewServer(demosite.Handler())
	defer server.Close()
	answer, err := http.Get(server.URL + "/robots.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Print(string(text))
	// Output:
	// User-agent: *
	// Disallow: /private/
}
