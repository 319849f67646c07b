package tegenaria_test

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// Of a robots.txt without end no more is downloaded than counts.
func TestEndlessRobots(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			return
		}
		line := strings.Repeat("# nothing that counts\n", 1000)
		for sent.Load() < 1<<30 {
			n, err := w.Write([]byte(line))
			sent.Add(int64(n))
			if err != nil {
				return
			}
		}
	}))
	defer server.Close()
	s := newSpider(server.URL + "/")
	s.parse = nothing
	e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(s), tegenaria.EngineWithLogger(quiet()))
	if stats := mustRun(t, e); stats.Outcomes[tegenaria.Fetched] != 1 {
		t.Errorf("outcomes %v", stats.Outcomes)
	}
	if n := sent.Load(); n > 64<<20 { // what lies in buffers is more than what is read
		t.Errorf("the server sent %d MiB", n>>20)
	}
}

// A robots.txt that is longer than what counts is obeyed as far as it counts, whether it is coded or not. The test fails if
// the decoder has the same limit as the reader, which asks for one byte more to see that there is more.
func TestH01LongRobotsIsObeyed(t *testing.T) {
	body := []byte("User-agent: *\nDisallow: /no\n" + strings.Repeat("# more\n", 1<<20))
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(body); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for coding, body := range map[string][]byte{"identity": body, "gzip": packed.Bytes()} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				w.Header().Set("Content-Encoding", coding)
				_, _ = w.Write(body)
			}
		}))
		s := newSpider(server.URL+"/", server.URL+"/no")
		s.parse = nothing
		e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(s), tegenaria.EngineWithLogger(quiet()))
		if stats := mustRun(t, e); stats.Outcomes[tegenaria.Fetched] != 1 || stats.Outcomes[tegenaria.Robots] != 1 {
			t.Errorf("%s: outcomes %v, errors %v", coding, stats.Outcomes, s.errors())
		}
		server.Close()
	}
}

// A reference that cannot be resolved is told without the password of the page's URL, and of its own.
func TestBadReferencesTellNoSecrets(t *testing.T) {
	w := newWorld().page("http://user:hidden@a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
		return tegenaria.NewResponse(ctx.Request, http.StatusFound, map[string][]string{"Location": {"http://me:hidden@[::1/%zz"}}, nil), nil
	}).page("http://user:hidden@b.test/", text("x"))
	s := newSpider("http://user:hidden@a.test/", "http://user:hidden@b.test/")
	s.parse = parserOf(func(ctx *tegenaria.Context) error {
		_, err := ctx.Response().Follow("http://me:hidden@[::1/%zz")
		return err
	})
	mustRun(t, newEngine(w, s))
	for _, herr := range s.errors() {
		if text := herr.Error(); strings.Contains(text, "hidden") {
			t.Error(text)
		}
	}
	if n := len(s.errors()); n != 2 {
		t.Errorf("%d errors", n)
	}
}
