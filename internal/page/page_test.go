package page_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/page"
)

// response is a host that is not a part of an engine.
type response struct {
	url    string
	header map[string][]string
	buffer *bytes.Buffer
	run    *run
	status int
	page   page.Page
}

func (r *response) Given() page.Given {
	return page.Given{Status: r.status, URL: r.url, Header: r.header, Buffer: r.buffer}
}

func (r *response) ContentType() string {
	if v := r.header["Content-Type"]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func (r *response) Run() page.Run {
	if r.run == nil {
		return nil
	}
	return r.run
}

// unreadable is the error of a response whose body cannot be read into memory.
type unreadable struct {
	limit int64
	cause error
}

func (e *unreadable) Error() string { return fmt.Sprintf("unreadable (%d): %v", e.limit, e.cause) }

func (r *response) Unreadable(limit int64, cause error) error { return &unreadable{limit, cause} }

// of makes a response of a body in memory.
func of(contentType, body string) *response {
	r := &response{url: "http://a.test/dir/page", header: map[string][]string{}, buffer: bytes.NewBufferString(body)}
	if contentType != "" {
		r.header["Content-Type"] = []string{contentType}
	}
	return r
}

// file is a spooled body that is kept in memory.
type file struct {
	data   string
	small  bool  // it needed no file
	broken error // of its readers
	closed int
}

func (f *file) Bytes() ([]byte, bool) {
	if f.small {
		return []byte(f.data), true
	}
	return nil, false
}

func (f *file) Len() int64 { return int64(len(f.data)) }

func (f *file) Reader() io.ReadCloser {
	if f.closed > 0 && !f.small {
		return io.NopCloser(brokenReader{os.ErrClosed})
	}
	if f.broken != nil {
		return io.NopCloser(brokenReader{f.broken})
	}
	return io.NopCloser(strings.NewReader(f.data))
}

func (f *file) Close() error {
	f.closed++
	return nil
}

// brokenReader gives one byte and an error.
type brokenReader struct{ err error }

func (r brokenReader) Read(b []byte) (int, error) { return copy(b, "<"), r.err }

// ofFile makes a response of a spooled body.
func ofFile(contentType string, f *file, readable int64) *response {
	r := of(contentType, "")
	r.buffer = nil
	r.page.AdoptSpool(f, readable)
	return r
}

// panicOf returns what f panics with, as an error.
func panicOf(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// all returns what is made of a page: its bytes, its text, what it has parsed, its links, and what a reference means.
func all(t *testing.T, r *response) string {
	t.Helper()
	text, err := r.page.Text(r)
	if err != nil {
		t.Fatal(err)
	}
	url, err := r.page.Resolve(r, "x?\u00e9")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, link := range r.page.Links(r, nil) {
		found = append(found, link.URL)
	}
	return fmt.Sprintf("%q %q %q %q %q", r.page.Bytes(r), text, r.page.Document(r).CSS("p").Texts(), found, url)
}

// What was made of a body ends with it, in whichever way it is replaced. It fails if the text, the encoding, the tree or the base
// of one body is used for another, and if reading the buffer takes something from the body.
func TestReplacedBody(t *testing.T) {
	first := "<base href=/one/><p>caf\xe9<a href=1>"
	const inLatin = `"<base href=/one/><p>caf\xe9<a href=1>" "<base href=/one/><p>café<a href=1>" ["café"] ["http://a.test/one/1"] "http://a.test/one/x?%E9"`
	second := "<base href=/two/><p>tw\u00f6<a href=2>"
	const inUTF8 = `"<base href=/two/><p>twö<a href=2>" "<base href=/two/><p>twö<a href=2>" ["twö"] ["http://a.test/two/2"] "http://a.test/two/x?%C3%A9"`
	for name, replace := range map[string]func(r *response, body string){
		"another buffer": func(r *response, body string) { r.buffer = bytes.NewBufferString(body) },
		"Adopt": func(r *response, body string) {
			r.page.Lock()
			defer r.page.Unlock()
			r.buffer = bytes.NewBufferString(body)
			r.page.Adopt(r.buffer)
		},
		"Sync": func(r *response, body string) {
			r.page.Lock()
			defer r.page.Unlock()
			r.buffer = bytes.NewBufferString(body)
			r.page.Sync(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := of("text/html", first)
			if got := all(t, r); got != inLatin {
				t.Errorf("got  %s\nwant %s", got, inLatin)
			}
			if _, err := io.ReadAll(r.buffer); err != nil {
				t.Fatal(err)
			}
			if got := all(t, r); got != inLatin {
				t.Errorf("after reading the buffer\ngot  %s\nwant %s", got, inLatin)
			}
			replace(r, second)
			if got := all(t, r); got != inUTF8 {
				t.Errorf("of another body\ngot  %s\nwant %s", got, inUTF8)
			}
			r.buffer = nil
			if got := r.page.Bytes(r); got != nil || !r.page.IsEmpty(r) || r.page.String(r) != "" {
				t.Errorf("without a buffer it has the bytes %q", got)
			}
		})
	}
}

// Each method sees another buffer by itself. It fails if one of them does not look at what the response gives.
func TestEachMethodSeesAnotherBuffer(t *testing.T) {
	for name, get := range map[string]func(r *response) string{
		"Bytes":  func(r *response) string { return string(r.page.Bytes(r)) },
		"String": func(r *response) string { return r.page.String(r) },
		"Text":   func(r *response) string { text, _ := r.page.Text(r); return text },
		"Reader": func(r *response) string { body, _ := io.ReadAll(r.page.Reader(r)); return string(body) },
		"Beginning": func(r *response) string {
			body, _ := r.page.Beginning(r, 10)
			return string(body)
		},
		"IsEmpty":  func(r *response) string { return fmt.Sprint(r.page.IsEmpty(r)) },
		"Document": func(r *response) string { return r.page.Document(r).CSS("base::attr(href)").Get() },
		"Links":    func(r *response) string { return fmt.Sprint(r.page.Links(r, nil)) },
		"Resolve":  func(r *response) string { url, _ := r.page.Resolve(r, "x"); return url },
		"DecodeJSON": func(r *response) string {
			var v any
			err := r.page.DecodeJSON(r, &v)
			return fmt.Sprint(v, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := of("text/html", "")
			before := get(r)
			body := "<base href=/one/><a href=1>"
			if name == "DecodeJSON" {
				body = "[1]"
			}
			r.buffer = bytes.NewBufferString(body)
			after := get(r)
			if fresh := get(of("text/html", body)); after == before || after != fresh {
				t.Errorf("before %q, after %q, want %q", before, after, fresh)
			}
		})
	}
}

// Readers are independent, and all methods may be called at once, also while the body is replaced. Run with the race detector.
func TestConcurrently(t *testing.T) {
	bodies := []string{strings.Repeat("<a href='x'>x</a>", 100), strings.Repeat("<a href='y'>y</a>", 100)}
	r := of("text/html", bodies[0])
	var done sync.WaitGroup
	for i := range 8 {
		done.Go(func() {
			if i == 0 {
				r.page.Lock()
				r.buffer = bytes.NewBufferString(bodies[1])
				r.page.Adopt(r.buffer)
				r.page.Unlock()
			}
			body, err := io.ReadAll(r.page.Reader(r))
			if err != nil || string(body) != bodies[0] && string(body) != bodies[1] {
				t.Errorf("read %d bytes, %v", len(body), err)
			}
			if n := r.page.Document(r).CSS("a").Len(); n != 100 {
				t.Errorf("%d elements", n)
			}
			found := r.page.Links(r, nil)
			if len(found) != 1 || found[0].URL != "http://a.test/dir/x" && found[0].URL != "http://a.test/dir/y" {
				t.Errorf("links: %v", found)
			}
			if url := r.page.Document(r).CSS("a").URL(); url != "http://a.test/dir/x" && url != "http://a.test/dir/y" {
				t.Errorf("URL: %s", url)
			}
		})
	}
	done.Wait()
}

// A page without a body is empty and has no error.
func TestNoBody(t *testing.T) {
	r := &response{url: "http://a.test/"}
	if body, err := io.ReadAll(r.page.Reader(r)); err != nil || len(body) != 0 || !r.page.IsEmpty(r) {
		t.Errorf("%q, %v", body, err)
	}
	if body, err := r.page.Beginning(r, 10); err != nil || len(body) != 0 {
		t.Errorf("%q, %v", body, err)
	}
	if text, err := r.page.Text(r); err != nil || text != "" || r.page.String(r) != "" || r.page.Bytes(r) != nil {
		t.Errorf("%q, %v", text, err)
	}
	if n := r.page.Document(r).CSS("p").Len(); n != 0 || len(r.page.Links(r, nil)) != 0 {
		t.Errorf("%d elements", n)
	}
	r.page.CloseSpool()
}

func TestBeginning(t *testing.T) {
	for name, r := range map[string]*response{
		"memory": of("", "0123456789"), "file": ofFile("", &file{data: "0123456789"}, 0), "small file": ofFile("", &file{data: "0123456789", small: true}, 0),
	} {
		for most, want := range map[int]string{0: "", 4: "0123", 10: "0123456789", 11: "0123456789"} {
			if got, err := r.page.Beginning(r, most); err != nil || string(got) != want {
				t.Errorf("%s: the first %d bytes are %q, %v", name, most, got, err)
			}
		}
		if r.page.IsEmpty(r) {
			t.Errorf("%s: it is empty", name)
		}
	}
	broken := errors.New("broken")
	r := ofFile("", &file{data: "0123", broken: broken}, 0)
	if _, err := r.page.Beginning(r, 4); !errors.Is(err, broken) {
		t.Errorf("a broken file: %v", err)
	}
	if r := ofFile("", &file{}, 0); !r.page.IsEmpty(r) {
		t.Error("a file without a byte is not empty")
	}
}

// uses are the methods that need a spooled body in memory.
var uses = map[string]func(r *response) error{
	"String":   func(r *response) error { return panicOf(func() { _ = r.page.String(r) }) },
	"Text":     func(r *response) error { _, err := r.page.Text(r); return err },
	"Document": func(r *response) error { return panicOf(func() { r.page.Document(r) }) },
	"Links":    func(r *response) error { return panicOf(func() { r.page.Links(r, nil) }) },
	"EachLink": func(r *response) error { return panicOf(func() { r.page.EachLink(r, nil, nil) }) },
	"Resolve":  func(r *response) error { _, err := r.page.Resolve(r, "x"); return err },
	"Base":     func(r *response) error { _, err := r.page.Base(r); return err },
	"DecodeJSON": func(r *response) error {
		return r.page.DecodeJSON(r, new(any))
	},
}

// A spooled body is read into memory once, by what needs it there, up to its limit.
func TestSpool(t *testing.T) {
	const body = "<base href=/b/><p>one</p><a href=x>link</a>"
	f := &file{data: body}
	r := ofFile("text/html", f, int64(len(body)))
	r.run = newRun()
	if r.page.Bytes(r) != nil || r.page.IsEmpty(r) || !r.page.IsSpooled() {
		t.Error("Bytes of a spooled body")
	}
	if r.run.added != 0 {
		t.Errorf("%d bytes are in memory before they are needed", r.run.added)
	}
	if url, err := r.page.Resolve(r, "x"); err != nil || url != "http://a.test/b/x" {
		t.Errorf("Resolve: %q, %v", url, err)
	}
	if text, err := r.page.Text(r); err != nil || text != body || r.page.String(r) != body || r.page.Document(r).CSS("p").Text() != "one" {
		t.Errorf("Text: %q, %v", text, err)
	}
	if r.run.added != int64(len(body)) {
		t.Errorf("%d bytes were counted, want %d", r.run.added, len(body))
	}
	reader := r.page.Reader(r)
	if got, err := io.ReadAll(reader); err != nil || string(got) != body || r.page.Bytes(r) != nil {
		t.Errorf("Reader: %q, %v", got, err)
	}
	r.page.CloseSpool()
	if text, err := r.page.Text(r); err != nil || text != body || f.closed != 1 {
		t.Errorf("what was read is gone with the file: %v", err)
	}
	if _, err := io.ReadAll(r.page.Reader(r)); !errors.Is(err, os.ErrClosed) {
		t.Errorf("a reader of the closed file: %v", err)
	}
}

// A spooled body that needed no file is in memory already: no limit, nothing to count.
func TestSpoolInMemory(t *testing.T) {
	r := ofFile("", &file{data: "<p>one", small: true}, 1)
	r.run = newRun()
	if r.page.String(r) != "<p>one" || r.page.Document(r).CSS("p").Text() != "one" || r.run.added != 0 || r.page.Bytes(r) != nil {
		t.Errorf("%q, %d bytes were counted", r.page.String(r), r.run.added)
	}
}

// A spooled body that is too large, or cannot be read, is the response's error, and never an empty body.
func TestSpoolUnreadable(t *testing.T) {
	const body = "<p>one</p>"
	broken := errors.New("broken")
	for name, use := range uses {
		var e *unreadable
		large := ofFile("text/html", &file{data: body}, int64(len(body))-1)
		large.run = newRun()
		if err := use(large); !errors.As(err, &e) || e.cause != nil || e.limit != int64(len(body))-1 || large.run.added != 0 {
			t.Errorf("%s of a larger one: %v", name, err)
		}
		failing := ofFile("text/html", &file{data: body, broken: broken}, int64(len(body)))
		failing.run = newRun()
		if err := use(failing); !errors.As(err, &e) || !errors.Is(e.cause, broken) || failing.run.added != 0 {
			t.Errorf("%s of a broken one: %v", name, err)
		}
		closed := ofFile("text/html", &file{data: body}, int64(len(body)))
		closed.page.CloseSpool()
		if err := use(closed); !errors.As(err, &e) || !errors.Is(e.cause, os.ErrClosed) {
			t.Errorf("%s of a closed one: %v", name, err)
		}
	}
}

// Who replaces a spooled body has its file removed, and what was read of it forgotten.
func TestSpoolReplaced(t *testing.T) {
	f := &file{data: "<p>one"}
	r := ofFile("", f, 100)
	if got := r.page.Document(r).CSS("p").Text(); got != "one" {
		t.Fatalf("it has %q", got)
	}
	r.buffer = bytes.NewBufferString("<p>two")
	if got := r.page.Document(r).CSS("p").Text(); got != "two" || f.closed != 1 || r.page.IsSpooled() || string(r.page.Bytes(r)) != "<p>two" {
		t.Errorf("it has %q, and the file was closed %d times", got, f.closed)
	}
	r.page.CloseSpool()
	if f.closed != 1 {
		t.Error("the file of the body before was closed again")
	}
	f, r.buffer = &file{data: "<p>three"}, nil
	r.page.AdoptSpool(f, 100)
	if got := r.page.String(r); got != "<p>three" {
		t.Errorf("it has %q", got)
	}
	r.page.AdoptSpool(&file{data: "<p>four"}, 100)
	if got := r.page.String(r); got != "<p>four" || f.closed != 1 {
		t.Errorf("it has %q, and the file before was closed %d times", got, f.closed)
	}
}

// ExamplePage reads a page that no crawl has fetched.
func ExamplePage() {
	r := of("text/html; charset=iso-8859-1", "<base href=/shop/><title>Caf\xe9</title><a href=menu?q=\xe9>Menu</a>")
	fmt.Println(r.page.Document(r).CSS("title::text").Get())
	for _, link := range r.page.Links(r, nil) {
		fmt.Println(link.Text, link.URL)
	}
	url, err := r.page.Resolve(r, "tables#free")
	fmt.Println(url, err)
	// Output:
	// Café
	// Menu http://a.test/shop/menu?q=%E9
	// http://a.test/shop/tables#free <nil>
}
