package middleware_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
	"github.com/tegenaria/tegenaria/spidertest"
)

// kept makes a committer of cookies as the engine keeps them: what has changed since the last commit is stored with the end of requests, beside
// what was stored before.
type kept struct {
	cookies *middleware.Cookies
	version uint64
	stored  map[string][]byte
	staged  map[string][]middleware.Cookie // by request
}

func (k *kept) GetPriority() int  { return 0 }
func (k *kept) CommitKey() string { return k.cookies.StateKey() }
func (k *kept) Discard(id string) { delete(k.staged, id) }
func (k *kept) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errors.New("cookies are no items")
}

func (k *kept) Restore(_ context.Context, checkpoint []byte) error {
	k.stored, k.staged = make(map[string][]byte), make(map[string][]middleware.Cookie)
	if checkpoint == nil {
		return nil
	}
	if err := json.Unmarshal(checkpoint, &k.stored); err != nil {
		return err
	}
	return k.cookies.RestoreState(k.stored)
}

func (k *kept) Prepare(_ context.Context, ids []string) ([]byte, error) {
	for _, id := range ids {
		for _, c := range k.staged[id] {
			if err := k.cookies.Add(c.Value, c); err != nil {
				return nil, err
			}
		}
		delete(k.staged, id)
	}
	changed, version, err := k.cookies.ChangedState(k.version)
	if err != nil {
		return nil, err
	}
	k.version = version
	maps.Copy(k.stored, changed)
	return json.Marshal(k.stored)
}

// What a durable job keeps of cookies passes the suite of committers, whatever crashes between two calls. It fails if a change is left out of what is
// stored, or if one that was not stored comes back.
func TestStateOfCookies(t *testing.T) {
	var last *kept
	spidertest.TestCommitter(t, spidertest.CommitterHarness{
		Open: func(testing.TB) tegenaria.Committer {
			last = &kept{cookies: middleware.NewCookies(middleware.CookieOptions{})}
			return last
		},
		Stage: func(_ testing.TB, c tegenaria.Committer, id string, n int) {
			k := c.(*kept)
			k.staged[id] = append(k.staged[id], middleware.Cookie{Domain: fmt.Sprintf("host%d.example", n), Name: fmt.Sprint(n), Value: fmt.Sprint("jar", n%7)})
		},
		Read: func(t testing.TB) (numbers []int) {
			text, err := json.Marshal(last.stored)
			if err != nil {
				t.Fatal(err)
			}
			next := &kept{cookies: middleware.NewCookies(middleware.CookieOptions{})}
			if err := next.Restore(t.Context(), text); err != nil {
				t.Fatal(err)
			}
			for _, jar := range next.cookies.Jars() {
				for _, c := range next.cookies.All(jar) {
					var n int
					if _, err := fmt.Sscan(c.Name, &n); err != nil || c.Value != jar {
						t.Errorf("%+v in %s: %v", c, jar, err)
					}
					numbers = append(numbers, n)
				}
			}
			return numbers
		},
		AnyOrder: true,
		Rounds:   80,
	})
}
