package s3_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/s3"
)

// fake starts a server with the bucket "books". bad, unless nil, may answer in its place.
func fake(t *testing.T, bad func(w http.ResponseWriter, r *http.Request) bool) (backend *s3mem.Backend, endpoint string) {
	t.Helper()
	backend = s3mem.New()
	if err := backend.CreateBucket("books"); err != nil {
		t.Fatal(err)
	}
	inner := gofakes3.New(backend).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := checkSignature(r); err != nil {
			t.Error(err)
		}
		if bad == nil || !bad(w, r) {
			inner.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return backend, server.URL
}

const secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"

// checkSignature makes the signature of a request by the letter of Amazon's description, from what came over the wire.
func checkSignature(r *http.Request) error {
	auth := r.Header.Get("Authorization")
	part := func(name string) string {
		_, after, _ := strings.Cut(auth, name+"=")
		value, _, _ := strings.Cut(after, ",")
		return value
	}
	path, _, _ := strings.Cut(r.RequestURI, "?")
	canonical := r.Method + "\n" + path + "\n\n"
	for name := range strings.SplitSeq(part("SignedHeaders"), ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		canonical += name + ":" + value + "\n"
	}
	canonical += "\n" + part("SignedHeaders") + "\n" + r.Header.Get("X-Amz-Content-Sha256")
	scope := strings.SplitN(part("Credential"), "/", 2)[1]
	text := fmt.Sprintf("AWS4-HMAC-SHA256\n%s\n%s\n%x", r.Header.Get("X-Amz-Date"), scope, sha256.Sum256([]byte(canonical)))
	key := []byte("AWS4" + secret)
	for piece := range strings.SplitSeq(scope, "/") {
		h := hmac.New(sha256.New, key)
		io.WriteString(h, piece)
		key = h.Sum(nil)
	}
	h := hmac.New(sha256.New, key)
	io.WriteString(h, text)
	if want := fmt.Sprintf("%x", h.Sum(nil)); want != part("Signature") {
		return fmt.Errorf("%s %s: signature %s, want %s", r.Method, r.RequestURI, part("Signature"), want)
	}
	return nil
}

func options(endpoint string) s3.Options {
	return s3.Options{Endpoint: endpoint, Bucket: "books", Key: "key", Secret: secret, Token: "token", Prefix: "crawl/", PathStyle: true}
}

func bucket(t *testing.T, endpoint string) *s3.Bucket {
	t.Helper()
	b, err := s3.New(options(endpoint))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func object(t *testing.T, backend *s3mem.Backend, name string) string {
	t.Helper()
	o, err := backend.GetObject("books", name, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer o.Contents.Close()
	text, err := io.ReadAll(o.Contents)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestSend(t *testing.T) {
	backend, endpoint := fake(t, nil)
	b := bucket(t, endpoint)
	for name, text := range map[string]string{
		"plain.csv": "a,b\n", "empty": "", "dir/a b+c%2F=é.csv": "é", "large": strings.Repeat("x", 1<<20),
	} {
		for range 2 { // again is no mistake
			if err := b.Send(t.Context(), name, strings.NewReader(text), int64(len(text))); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := object(t, backend, "crawl/"+name); got != text {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
	if err := b.Send(t.Context(), "short", strings.NewReader("abc"), 4); err == nil {
		t.Error("a file that is shorter than it should be is sent")
	}
}

func TestBadAnswers(t *testing.T) {
	isPut := func(r *http.Request) bool { return r.Method == http.MethodPut }
	for name, test := range map[string]struct {
		bad  func(w http.ResponseWriter, r *http.Request) bool
		says string
	}{
		"503": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(503)
			io.WriteString(w, "<Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>")
			return true
		}, "status 503 SlowDown: Please reduce"},
		"no bucket": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(404)
			io.WriteString(w, "<Error><Code>NoSuchBucket</Code></Error>")
			return true
		}, "create the bucket"},
		"not there afterwards": {func(w http.ResponseWriter, r *http.Request) bool { return isPut(r) }, "not there after"},
		"less": {func(w http.ResponseWriter, r *http.Request) bool {
			if isPut(r) {
				return false
			}
			w.Header().Set("Content-Length", "2")
			w.WriteHeader(200)
			return true
		}, "2 bytes"},
		"500": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(500)
			return true
		}, "status 500"},
		"other bytes": {func(w http.ResponseWriter, r *http.Request) bool {
			if isPut(r) {
				return false
			}
			w.Header().Set("Content-Length", "3")
			w.Header().Set("X-Amz-Meta-Sha256", fmt.Sprintf("%x", sha256.Sum256([]byte("abd"))))
			w.WriteHeader(200)
			return true
		}, "has 3 bytes and the sum"},
		"cut in the answer": {func(w http.ResponseWriter, r *http.Request) bool {
			io.Copy(io.Discard, r.Body)
			w.Header().Set("Content-Length", "100")
			io.WriteString(w, "<Error>")
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "unexpected EOF"},
		"cut": {func(w http.ResponseWriter, r *http.Request) bool {
			io.Copy(io.Discard, r.Body) // or the client may fail while it writes
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			conn.Close()
			return true
		}, "EOF"},
		"endless error": {func(w http.ResponseWriter, r *http.Request) bool {
			w.WriteHeader(500)
			for range 10_000 {
				if _, err := io.WriteString(w, strings.Repeat("<Code>", 1000)); err != nil {
					break
				}
			}
			return true
		}, "status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			_, endpoint := fake(t, test.bad)
			err := bucket(t, endpoint).Send(t.Context(), "x", strings.NewReader("abc"), 3)
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), secret) {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

// A server that is slow is left when the context ends.
func TestSlowServer(t *testing.T) {
	free := make(chan struct{})
	_, endpoint := fake(t, func(w http.ResponseWriter, r *http.Request) bool {
		<-free
		return false
	})
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() { sent <- bucket(t, endpoint).Send(ctx, "x", strings.NewReader("abc"), 3) }()
	cancel()
	if err := <-sent; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(free)
}

// FuzzAnswers: whatever a server answers, an error is short and says what it is about.
func FuzzAnswers(f *testing.F) {
	f.Add("HTTP/1.1 503 Slow\r\n\r\n<Error><Code>SlowDown</Code><Message>less</Message></Error>")
	f.Add("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Amz-Meta-Sha256: x\r\n\r\nabc")
	f.Add("HTTP/1.1 403 No\r\n\r\n<Code><Code></Code>")
	f.Add("HTTP/1.1 404 No\r\nContent-Length: 9999999999999999999\r\n\r\n")
	f.Fuzz(func(t *testing.T, answer string) {
		o := options("http://127.0.0.1:1")
		o.Client = &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return http.ReadResponse(bufio.NewReader(strings.NewReader(answer)), r)
		})}
		b, err := s3.New(o)
		if err != nil {
			t.Fatal(err)
		}
		err = b.Send(t.Context(), "x", strings.NewReader("abc"), 3)
		right := strings.Contains(answer, fmt.Sprintf("%x", sha256.Sum256([]byte("abc"))))
		if err == nil && !right || err != nil && (len(err.Error()) > 2000+len(answer) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%v", err)
		}
	})
}

func TestOptions(t *testing.T) {
	for says, change := range map[string]func(o *s3.Options){
		"Endpoint":   func(o *s3.Options) { o.Endpoint = "s3.example.com" },
		"more than":  func(o *s3.Options) { o.Endpoint += "/books" },
		"Bucket":     func(o *s3.Options) { o.Bucket = "a/b" },
		"Key":        func(o *s3.Options) { o.Key = "" },
		"is no name": func(o *s3.Options) { o.Bucket = "" },
	} {
		o := options("http://127.0.0.1:1")
		change(&o)
		if _, err := s3.New(o); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// The bucket is in the name of the host unless PathStyle is set.
func TestHostStyle(t *testing.T) {
	var asked []string
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		asked = append(asked, r.URL.String())
		return nil, errors.New("enough")
	})}
	o := options("https://s3.example.com")
	o.PathStyle, o.Client = false, client
	b, err := s3.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Send(t.Context(), "x.csv", bytes.NewReader(nil), 0); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	if len(asked) != 1 || asked[0] != "https://books.s3.example.com/crawl/x.csv" {
		t.Errorf("asked for %q", asked)
	}
}

type roundTrip func(r *http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A feed with a bucket delivers each file.
func TestFeed(t *testing.T) {
	backend, endpoint := fake(t, nil)
	f := feed.JSONL(filepath.Join(t.TempDir(), "x-{part}.jsonl"), feed.Rotate(feed.Rotation{Items: 2}), feed.To(bucket(t, endpoint), feed.Delivery{}))
	ctx := context.Background()
	if err := f.Restore(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if err := f.ProcessItem(nil, &tegenaria.ItemMeta{CtxId: "a", Item: i}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Prepare(ctx, []string{"a"}); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(ctx, "finished"); err != nil {
		t.Fatal(err)
	}
	list, err := backend.ListBucket("books", nil, gofakes3.ListBucketPage{})
	if err != nil || len(list.Contents) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	text := ""
	for _, o := range list.Contents {
		text += object(t, backend, o.Key)
	}
	if text != "0\n1\n2\n3\n4\n" {
		t.Errorf("%q", text)
	}
}
