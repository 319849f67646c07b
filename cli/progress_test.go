package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cli"
)

// screen is a terminal: it has rows, and a line feed begins a new one. It remembers each line of progress that was on it.
type screen struct {
	mu     sync.Mutex
	rows   [][]byte
	column int
	seen   []string
	wrong  []string
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rows == nil {
		s.rows = [][]byte{nil}
	}
	for _, c := range b {
		last := &s.rows[len(s.rows)-1]
		switch {
		case c == '\r':
			s.column = 0
		case c == '\n':
			s.rows, s.column = append(s.rows, nil), 0
		case c < ' ':
			s.wrong = append(s.wrong, fmt.Sprintf("it was sent %q", b))
		case s.column < len(*last):
			(*last)[s.column] = c
			s.column++
		default:
			*last = append(*last, c)
			s.column++
		}
	}
	if row := s.row(len(s.rows) - 1); row != "" && (len(s.seen) == 0 || s.seen[len(s.seen)-1] != row) {
		s.seen = append(s.seen, row)
	}
	return len(b), nil
}

func (s *screen) row(i int) string { return strings.TrimRight(string(s.rows[i]), " ") }

// slow answers every request after a time that no tick of a second meets.
var slow = tegenaria.DownloaderFunc(func(ctx context.Context, r *tegenaria.Request) (*tegenaria.Response, error) {
	timer := time.NewTimer(1630100 * time.Microsecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		return tegenaria.NewResponse(r, 200, nil, nil), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
})

// watched crawls on a screen of so many columns: 40 pages, each with an item, and one whose parser panics.
func watched(t *testing.T, columns func() int, args ...string) (*screen, int) {
	t.Helper()
	s, code := &screen{}, 0
	t.Chdir(t.TempDir())
	synctest.Test(t, func(t *testing.T) {
		app := cli.New(tegenaria.NewSpider("shop", tegenaria.Handle(func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
			switch resp.Request().Depth {
			case 0:
				for i := range 40 {
					if err := out.Follow(fmt.Sprintf("/%d", i)); err != nil {
						return err
					}
				}
			case 1:
				if strings.HasSuffix(resp.Request().Url, "/7") {
					panic("no price")
				}
			}
			return out.Item(resp.Request().Url)
		}), "http://shop.example/"))
		app.Columns(columns)
		app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
			return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(slow), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 2})}, nil
		})
		code = app.Run(t.Context(), append([]string{"crawl", "shop"}, args...), nil, s, s)
	})
	for _, w := range s.wrong {
		t.Error(w)
	}
	return s, code
}

// It fails if the line is not redrawn each second, is wider than the terminal, is torn by a line of the log or an item, tears one, or is
// left behind.
func TestProgress(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	for _, columns := range []int{80, 200} {
		s, code := watched(t, func() int { return columns })
		if code != 0 {
			t.Errorf("code %d", code)
		}
		items := 0
		for i := range s.rows[:len(s.rows)-1] {
			row := s.row(i)
			var item string
			switch {
			case strings.HasPrefix(row, "time=") && !strings.Contains(row, "pages/s"):
			case json.Unmarshal([]byte(row), &item) == nil:
				items++
			default:
				t.Errorf("%d columns: a torn row: %q", columns, row)
			}
		}
		if left := s.row(len(s.rows) - 1); items != 40 || left != "" {
			t.Errorf("%d columns: %d items, and %q is left", columns, items, left)
		}
		if len(s.seen) < 30 { // 41 pages, two in 1.63 s
			t.Errorf("%d columns: %d lines were seen: %q", columns, len(s.seen), s.seen)
		}
		for _, line := range s.seen {
			if len(line) >= columns || !strings.Contains(line, " pages/s, ") {
				t.Errorf("%d columns: %q", columns, line)
			}
		}
		const want = "12s: 13 pages, 12 items, 1 error, 1.2 pages/s, 26 waiting; busiest host: shop.example with 26 waiting; " +
			"slowest host: shop.example with a latency of 1.63s"
		if !strings.Contains(strings.Join(s.seen, "\n"), want[:min(columns-1, len(want))]) {
			t.Errorf("%d columns: no %q in\n%s", columns, want, strings.Join(s.seen, "\n"))
		}
	}
}

// A terminal that becomes narrow has a shorter line at once.
func TestProgressResized(t *testing.T) {
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "1")
	asked := 0
	s, _ := watched(t, func() int {
		if asked++; asked < 12 {
			return 80
		}
		return 20
	})
	if last := s.seen[len(s.seen)-1]; len(last) > 19 {
		t.Errorf("%q", last)
	}
}

// It fails if a line is shown where none belongs, or if the standard error has another log than the engine's.
func TestNoProgress(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	for name, test := range map[string]struct {
		term    string
		columns int
		args    []string
	}{
		"no terminal": {term: "xterm"},
		"dumb":        {term: "dumb", columns: 80},
		"quiet":       {term: "xterm", columns: 80, args: []string{"--quiet"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TERM", test.term)
			s, code := watched(t, func() int { return test.columns }, test.args...)
			for i := range s.rows {
				if strings.Contains(s.row(i), "pages/s") || code != 0 {
					t.Errorf("code %d: %q", code, s.row(i))
				}
			}
		})
	}
}

// It fails if an item or a line of the log can steer the terminal that it is written to, or if items elsewhere are not as JSON has them.
func TestItemsOnTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("TERM", "dumb")
	const steering = "a\u009b2J\u202eb"
	for _, columns := range []int{0, 80} {
		var out, log strings.Builder
		synctest.Test(t, func(t *testing.T) {
			app := cli.New(tegenaria.NewSpider("shop", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[string]) error {
				return errors.Join(out.Item(steering), errors.New(steering))
			}), "http://shop.example/"))
			app.Columns(func() int { return columns })
			app.Engine(func(*cli.Run) ([]tegenaria.EngineOption, error) {
				return []tegenaria.EngineOption{tegenaria.EngineWithDownloader(slow)}, nil
			})
			app.Run(t.Context(), []string{"crawl", "shop", "-s", "politeness.ignore_robots=true"}, nil, &out, &log)
		})
		want := `"` + steering + `"` + "\n"
		if columns > 0 {
			want = `"a\u009b2J\u202eb"` + "\n"
		}
		if out.String() != want {
			t.Errorf("%d columns: %q, and not %q", columns, out.String(), want)
		}
		if text := log.String(); !strings.Contains(text, `u009b`) || strings.ContainsAny(text, "\u009b\u202e") {
			t.Errorf("%d columns: the log is %q", columns, text)
		}
	}
}
