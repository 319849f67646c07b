package middleware_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// A page whose gzip has no end reaches the parser at the first try; it is counted, and named at the end. It fails if such a page is
// a failure, is retried, or passes in silence.
func TestCrawlOfDamagedPage(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "<title>hello</title>")
	z.Close()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes()[:packed.Len()-8])
	})
	var got string
	var told error
	parser := tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, _ *tegenaria.Output[string]) error {
		got, told = string(resp.Bytes()), resp.Transfer().Err
		return nil
	})
	var said bytes.Buffer
	log := logrus.New()
	log.SetOutput(&said)
	stats := crawlWith(t, tegenaria.NewSpider("test", parser, s.URL+"/damaged"), middleware.Standard(), tegenaria.EngineWithLogger(log))
	if len(s.visits()) != 1 || got != "<title>hello</title>" || told == nil || stats.Damaged != 1 || stats.Outcomes[tegenaria.Fetched] != 1 {
		t.Errorf("%d visits, got %q, %v; %+v", len(s.visits()), got, told, stats)
	}
	if !strings.Contains(said.String(), "1 response delivered with a body that is not whole") || !strings.Contains(said.String(), "/damaged") {
		t.Errorf("the log says %s", &said)
	}
}
