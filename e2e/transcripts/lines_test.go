//go:build unix

package transcripts_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/tegenaria/tegenaria"
)

var manyPages = flag.Int("pages", 100_000, "how many pages TestLines crawls; a twentieth of that with -short")

// mostLines is how many lines the log of a crawl may have, progress apart.
const mostLines = 40

// TestLines fails if the log of a crawl has more lines than one can read, when one page in twenty fails in one of three ways.
func TestLines(t *testing.T) {
	n, failed := *manyPages, 0
	if testing.Short() {
		n /= 20
	}
	site := tegenaria.DownloaderFunc(func(_ context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
		page, err := strconv.Atoi(strings.TrimPrefix(r.Url, "http://a.test/"))
		if err != nil {
			return nil, err
		}
		status, body := http.StatusOK, "ok"
		switch {
		case page%20 != 7:
		case page%3 == 0:
			status = http.StatusNotFound
		case page%3 == 1:
			return nil, errors.New("the archive is damaged")
		default:
			body = "no"
		}
		return tegenaria.NewResponse(r, status, nil, []byte(body)), nil
	})
	parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[int]) error {
		if page.String() == "no" {
			return errors.New("this is no page")
		}
		return out.Item(1)
	})
	var requests []*tegenaria.Request
	for i := range n {
		requests = append(requests, tegenaria.NewRequest(fmt.Sprint("http://a.test/", i), tegenaria.GET, nil))
		if i%20 == 7 {
			failed++
		}
	}
	var log bytes.Buffer
	logger := logrus.New()
	logger.SetOutput(&log)
	err := run(tegenaria.EngineWithLogger(logger), tegenaria.NewSpiderOf("books", parse, requests...), tegenaria.EngineWithDownloader(site),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}))
	if err != nil {
		t.Fatal(err)
	}
	lines, progress := 0, 0
	for line := range strings.Lines(log.String()) {
		if strings.Contains(line, `msg="after `) || strings.Contains(line, " more failures") {
			progress++
			continue
		}
		lines++
	}
	t.Logf("%d pages, %d of them failed: %d lines, and %d of progress\n%s", n, failed, lines, progress, &log)
	if lines > mostLines || lines < 4 {
		t.Errorf("%d lines", lines)
	}
	for _, text := range []string{" × 404", "the archive is damaged", "this is no page"} {
		if !strings.Contains(log.String(), text) {
			t.Errorf("nothing says %q", text)
		}
	}
}
