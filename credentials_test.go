package tegenaria_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Credentials in links do not make another host of theirs: neither for the accepted domains nor for the slots, by whatever
// way a link is sent. It fails if the host of a link ends at the first colon.
func TestCredentialsInLinks(t *testing.T) {
	ways := map[string]func(out *tegenaria.Output[any], refs []string) error{
		"FollowLinks": func(out *tegenaria.Output[any], _ []string) error { return out.FollowLinks() },
		"Follow": func(out *tegenaria.Output[any], refs []string) error {
			for _, ref := range refs {
				if err := out.Follow(ref); err != nil {
					return err
				}
			}
			return nil
		},
		"Request": func(out *tegenaria.Output[any], refs []string) error {
			for _, ref := range refs {
				if err := out.Request(tegenaria.NewRequest(ref, tegenaria.GET, nil)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	crawl := func(t *testing.T, refs []string, send func(*tegenaria.Output[any], []string) error, opts ...tegenaria.EngineOption) (*world, tegenaria.Stats) {
		w := newWorld().page("http://a.test/", page(refs...))
		for _, ref := range refs {
			w.page(ref, text("x"))
		}
		s := handledSpider(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
			if r.URL != "http://a.test/" {
				return nil
			}
			return send(out, refs)
		})
		return w, mustRun(t, newEngine(w, s, opts...))
	}
	for name, send := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, _ := crawl(t, []string{"http://a.test:x@evil.test/", "http://u:p@a.test/in"}, send, tegenaria.EngineWithAllowedDomains("a.test"))
				if in, out := w.count("http://u:p@a.test/in"), w.count("http://a.test:x@evil.test/"); in != 1 || out != 0 {
					t.Errorf("the page in the domain was asked for %d times, the one outside %d times", in, out)
				}
			})
			synctest.Test(t, func(t *testing.T) {
				refs := []string{"http://:x@b.test/"}
				for n := range 10 {
					refs = append(refs, fmt.Sprintf("http://u%d:x@b.test/", n))
				}
				began := time.Now()
				crawl(t, refs, send, tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true, PerSlot: 1, Delay: time.Second}))
				if took := time.Since(began); took != 10*time.Second {
					t.Errorf("11 pages of a host took %s with a second between them", took)
				}
			})
		})
	}
}
