package crawl_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/linksrus/crawl"
)

func TestLinks(t *testing.T) {
	const page = "https://example.com/dir/page.html?x=1"
	for _, c := range []struct {
		name, url, body string
		want            string // what the page has edges to
	}{
		// The seed's table of what a reference means.
		{"absolute", page, `<a href="https://foo.com/bar">`, "https://foo.com/bar"},
		{"of another scheme's host", page, `<a href="http://foo.com">`, "http://foo.com/"},
		{"network path", page, `<a href="//foo.com/bar">`, "https://foo.com/bar"},
		{"absolute path", page, `<a href="/bar">`, "https://example.com/bar"},
		{"relative to a file", page, `<a href="bar">`, "https://example.com/dir/bar"},
		{"relative to a directory", "https://example.com/dir/", `<a href="bar">`, "https://example.com/dir/bar"},
		{"relative to what only looks like a directory", "https://example.com/dir", `<a href="bar">`, "https://example.com/bar"},
		{"upwards", page, `<a href="../up/./bar">`, "https://example.com/up/bar"},
		{"query alone", page, `<a href="?y=2">`, "https://example.com/dir/page.html?y=2"},
		{"nothing", page, `<a href="">`, ""},
		{"no URL", page, `<a href="http://[::1">`, ""},

		{"each once, fragments off", page, `<a href="/a"><a href="/a#x"><a href="/b#y"><a href="/a">`, "https://example.com/a https://example.com/b"},
		{"to itself", page, `<a href="#top">`, page},
		{"other schemes", page, `<a href="ftp://foo.com/"><a href="mailto:a@b"><a href="javascript:x()"><a href="file:///etc/passwd">`, ""},
		{"files that are no pages", page, `<a href="a.PNG"><a href="/b.css"><a href="/c.js"><a href="d.jpeg?v=1"><a href="/e.ico#f"><a href="/f.png/g">`, "https://example.com/f.png/g"},

		{"base", page, `<base href="https://foo.com/root/"><a href="bar">`, "https://foo.com/root/bar"},
		{"base without slash at the end is a file", page, `<base href="/root/b.html"><a href="bar">`, "https://example.com/root/bar"},
		{"empty base", page, `<base href=""><a href="bar">`, "https://example.com/dir/bar"},
		{"base that is no URL", page, `<base href="http://[::1"><a href="bar">`, "https://example.com/dir/bar"},
		{"base without href", page, `<base target="_blank"><a href="bar">`, "https://example.com/dir/bar"},

		{"over several lines", page, "<a\n class=x\n href=\n\"/a\"\n>", "https://example.com/a"},
		{"single quotes", page, `<a href='/a'>`, "https://example.com/a"},
		{"no quotes", page, `<a href=/a>`, "https://example.com/a"},
		{"upper case", page, `<A HREF="/a">`, "https://example.com/a"},
		{"in a comment", page, `<!-- <a href="/a"> -->`, ""},
		{"in a script", page, `<script>x = '<a href="/a">'</script>`, ""},
		{"other attributes", page, `<a data-href="/a">`, ""},
		{"other elements", page, `<abbr title="x"><link rel="x" href="/a">`, ""},
		{"entities", page, `<a href="/?a=1&amp;b=2">`, "https://example.com/?a=1&b=2"},
		{"white space around", page, `<a href="  /a  ">`, "https://example.com/a"},

		{"private addresses", page, `<a href="http://127.0.0.1/"><a href="http://10.0.0.1/"><a href="http://169.254.169.254/latest">
			<a href="http://[::1]/"><a href="http://[fd00::1]/"><a href="http://localhost/"><a href="http://a.localhost./">
			<a href="http://100.64.0.1/"><a href="http://198.18.0.1/"><a href="http://224.0.0.1/"><a href="http://240.0.0.1/">
			<a href="http://[::]/"><a href="http://[64:ff9b::a00:1]/"><a href="http://0x7f.1/"><a href="http://2130706433/"><a href="http://127.1/">`, ""},
		{"a port is no reason", page, `<a href="http://foo.com:8080/">`, "http://foo.com:8080/"},
		{"a base does not make an address public", page, `<base href="http://169.254.169.254/"><a href="latest/meta-data/"><a href="//10.0.0.1:80/">`, ""},
		{"public addresses", page, `<a href="http://93.184.216.34/"><a href="http://[2606:2800:220:1::1]/">`, "http://93.184.216.34/ http://[2606:2800:220:1::1]/"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, c.url, c.body)
			if got, want := s.linked(t, c.url), strings.Fields(c.want); !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// Links with rel=nofollow are in the graph, but no edges lead there.
func TestNoFollow(t *testing.T) {
	const page = "http://example.com/"
	s := read(t, page, `<a href="/a" rel="nofollow">a</a> <a rel='noopener NOFOLLOW' href="/b">b</a>
		<a rel="nofollower" href="/c">c</a> <a href="/d" title="rel=nofollow">d</a>`)
	if got, want := s.linked(t, page), []string{page + "c", page + "d"}; !slices.Equal(got, want) {
		t.Errorf("edges to %q, want %q", got, want)
	}
	if got, want := s.urls(t), []string{page, page + "a", page + "b", page + "c", page + "d"}; !slices.Equal(got, want) {
		t.Errorf("links %q, want %q", got, want)
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct{ name, body, title, text string }{
		{"a page", "<title>The  Title</title><h1>Head</h1><p>Some <b>bold</b> text.</p>", "The Title", "Head Some bold text."},
		{"paragraphs", "<p>alpha</p><p>beta</p>", "", "alpha beta"},
		{"cells and lines", "<table><tr><td>a</td><td>b</td></tr></table>c<br>d", "", "a b c d"},
		{"title over two lines", "<title>\n one\n two </title>", "one two", ""},
		{"entities", "<title>a &amp; b</title>&lt;b&gt; &eacute;&nbsp;x", "a & b", "<b> é x"},
		{"scripts and styles", "<script>var x</script><style>p{}</style><p>text<!-- comment -->", "", "text"},
		{"title of a picture", "<body><svg><title>picture</title></svg>text<title>late</title>", "late", "picture text late"},
		{"two titles", "<title></title><title>second</title>x", "", "x"},
		{"frames", "<title>t</title><frameset><frame src=x>", "t", ""},
		{"nothing", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := read(t, "http://example.com/", c.body)
			doc := s.document(t, "http://example.com/")
			if doc.Title != c.title || doc.Content != c.text || doc.URL != "http://example.com/" || doc.IndexedAt.IsZero() {
				t.Errorf("got %+v, want title %q and text %q", doc, c.title, c.text)
			}
		})
	}
}

// Pages in other encodings are read as what they are, and so are the queries of their links.
func TestCharset(t *testing.T) {
	const url = "http://example.com/"
	s := newStores()
	w := web{url: respond(200, "text/html; charset=ISO-8859-1", "<title>Gr\xfc\xdfe</title><p>na\xefve</p><a href='?q=\xe9'>x</a>")}
	if _, err := crawl.NewPipeline(s.config(w)).Crawl(t.Context(), links(url)); err != nil {
		t.Fatal(err)
	}
	if doc := s.document(t, url); doc.Title != "Grüße" || doc.Content != "naïve x" {
		t.Errorf("got %+v", doc)
	}
	if got, want := s.linked(t, url), []string{url + "?q=%E9"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"HTTP://Example.COM", "http://example.com/"},
		{"https://example.com:443/a/../b#c", "https://example.com/b"},
		{"  http://example.com/a b ", "http://example.com/a%20b"},
		{"http://bücher.example/", "http://xn--bcher-kva.example/"},
		{"http://0x7f.1/", "http://127.0.0.1/"},
		{"example.com", ""}, {"//example.com/", ""}, {"ftp://example.com/", ""}, {"javascript:alert(1)", ""},
		{"http://", ""}, {"http://a b/", ""}, {"", ""}, {"data:text/html,x", ""},
	} {
		got, err := crawl.Normalize(c.in)
		if got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v, want %q", c.in, got, err, c.want)
		}
	}
}

func TestGuard(t *testing.T) {
	guard := crawl.NewGuard("http://127.0.0.1:8080/start", "http://localhost:9090", "http://10.0.0.1/", "https://example.com/", "no URL")
	for url, want := range map[string]bool{
		"http://example.com/": true, "https://example.com:8443/": true, "http://93.184.216.34/": true,
		"http://127.0.0.1:8080/other": true, "https://127.0.0.1:8080/": true,
		"http://127.0.0.1/": false, "http://127.0.0.1:8081/": false, "http://127.0.0.2:8080/": false, "http://localhost:8080/": false,
		"http://localhost:9090/x": true, "http://127.0.0.1:9090/": false,
		"http://10.0.0.1/": false, "http://[::1]:8080/": false, "http://[::ffff:127.0.0.1]:8080/": false,
		"ftp://example.com/": false, "": false, "/path": false,
	} {
		if got := guard.Permits(url); got != want {
			t.Errorf("%q: %v, want %v", url, got, want)
		}
	}
	var none *crawl.Guard
	if none.Permits("http://127.0.0.1:8080/") || !none.Permits("http://example.com/") {
		t.Error("a nil guard")
	}
}
