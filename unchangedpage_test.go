package tegenaria_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// skipping remembers what pages have sent, and skips those that it remembers.
type skipping struct {
	off     bool
	damage  func(sent [][]byte) [][]byte // nil: none
	mu      sync.Mutex
	sent    map[tegenaria.Key][][]byte
	skipped []string
	asked   int
}

func (*skipping) GetPriority() int                                                 { return 0 }
func (*skipping) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error { return nil }
func (*skipping) Settled()                                                         {}
func (*skipping) ListensToLinks() bool                                             { return true }
func (s *skipping) SkipsUnchanged() bool                                           { return !s.off }

func (s *skipping) Settling(list []tegenaria.Settlement) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range list {
		if one.Unchanged {
			s.skipped = append(s.skipped, one.URL)
		} else if one.Sendable && one.Outcome == tegenaria.Fetched {
			s.sent[one.Key] = one.Sent
		}
	}
}

func (s *skipping) Unchanged(key tegenaria.Key, request []byte, page *tegenaria.Response) ([][]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked++
	sent, known := s.sent[key]
	if known && s.damage != nil {
		sent = s.damage(sent)
	}
	return sent, known && len(request) > 0 && page != nil
}

// TestUnchangedPages: on a second day pages are skipped, unless what they have sent cannot be read or the part panics;
// the same pages are visited.
func TestUnchangedPages(t *testing.T) {
	for name, test := range map[string]struct {
		part    *skipping
		skipped []string
	}{
		"skipped":          {&skipping{}, []string{"http://a.test/", "http://a.test/1"}},
		"off":              {&skipping{off: true}, nil},
		"damaged":          {&skipping{damage: func([][]byte) [][]byte { return [][]byte{{0}} }}, nil},
		"empty":            {&skipping{damage: func([][]byte) [][]byte { return [][]byte{nil} }}, nil},
		"a parser is gone": {&skipping{damage: func([][]byte) [][]byte { return [][]byte{append([]byte{0, 0}, 0xff, 0xff)} }}, nil},
		"a panic":          {&skipping{damage: func([][]byte) [][]byte { panic("lost") }}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			part := test.part
			part.sent = make(map[tegenaria.Key][][]byte)
			var mu sync.Mutex
			for day := range 2 {
				parsed, first := 0, part.asked
				w := enginetest.NewWorld().Page("http://a.test/", enginetest.Page("/1")).Page("http://a.test/1", enginetest.Page("/"))
				e := tegenaria.NewSpiderEngine(tegenaria.EngineWithLogger(enginetest.Quiet()), tegenaria.EngineWithDownloader(w),
					tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}), tegenaria.EngineWithPipelines(part))
				e.RegisterSpiders(tegenaria.NewSpiderOf("a", tegenaria.Handle(
					func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[int]) error {
						mu.Lock()
						parsed++
						mu.Unlock()
						return out.FollowLinks()
					}), tegenaria.NewRequest("http://a.test/", tegenaria.GET, nil)))
				err := e.Run(t.Context(), "a")
				want := 2
				if day == 1 {
					want -= len(test.skipped)
				}
				if stats := e.Stats(); err != nil || parsed != want || stats.Outcomes[tegenaria.Fetched] != 2 {
					t.Errorf("day %d: %d pages were parsed, not %d: %v, %v", day, parsed, want, stats.Outcomes, err)
				}
				if asked := part.asked - first; part.off != (asked == 0) {
					t.Errorf("day %d: asked about %d pages", day, asked)
				}
			}
			if slices.Sort(part.skipped); !slices.Equal(part.skipped, test.skipped) {
				t.Errorf("skipped are %q, not %q", part.skipped, test.skipped)
			}
			for key, sent := range part.sent {
				if part.off && sent != nil {
					t.Errorf("%v has sent %q though nobody skips", key, sent)
				}
			}
		})
	}
}
