package feed_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spidertest"
)

// Each form of a feed passes the conformance suite of committers: file, compressed file, set of files, with Unique, and with a target.
func TestCommitter(t *testing.T) {
	stage := func(t testing.TB, c tegenaria.Committer, id string, n int) {
		t.Helper()
		if err := process(c.(*feed.Feed), id, record{ID: n % 40, Text: fmt.Sprint(n), Tags: []string{fmt.Sprint("tag", n%3)}}); err != nil {
			t.Fatal(err)
		}
	}
	numbers := func(t testing.TB, list []record) (got []int) {
		for _, r := range list {
			var n int
			if _, err := fmt.Sscan(r.Text, &n); err != nil {
				t.Fatal(err)
			}
			got = append(got, n)
		}
		return got
	}
	for _, name := range []string{"out", "{start}-{part}", "by-tag/{item.tags}/{part}"} {
		for _, format := range formatEndings {
			for _, pack := range packEndings {
				t.Run(name+format+pack, func(t *testing.T) {
					t.Parallel()
					dir := plainDir(t)
					path := filepath.Join(dir, name+format+pack)
					var opts []feed.Option
					if name != "out" {
						opts = append(opts, feed.Rotate(feed.Rotation{Items: 7}))
					}
					spidertest.TestCommitter(t, spidertest.CommitterHarness{
						Open:  func(testing.TB) tegenaria.Committer { return makeFeed(path, opts...) },
						Stage: stage,
						Read: func(tb testing.TB) []int {
							list, open := finishedFiles(t, dir, make(map[string][32]byte))
							if open > 0 {
								tb.Errorf("%d files are not finished", open)
							}
							return numbers(tb, list)
						},
						AnyOrder: name != "out",
						Rounds:   deep.Rounds(15, 50),
					})
				})
			}
		}
	}
	t.Run("unique", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "out.jsonl")
		spidertest.TestCommitter(t, spidertest.CommitterHarness{
			Open:  func(testing.TB) tegenaria.Committer { return feed.JSONL(path, feed.Unique(idOf)) },
			Stage: stage,
			Read:  func(tb testing.TB) []int { return numbers(tb, parse(t, path)) },
			Merge: func(settled []int) (first []int) {
				seen := make(map[int]bool)
				for _, n := range settled {
					if !seen[n%40] {
						first = append(first, n)
					}
					seen[n%40] = true
				}
				return first
			},
			Rounds: deep.Rounds(80, 200),
		})
	})
	synctest.Test(t, func(t *testing.T) { // a target that fails again and again, whose owner waits before it tries again
		dir := plainDir(t)
		b := &bucket{fails: func(n int) error {
			if n%3 == 0 {
				return errors.New("503")
			}
			return nil
		}}
		var killed []*feed.Feed
		spidertest.TestCommitter(t, spidertest.CommitterHarness{
			Open: func(testing.TB) tegenaria.Committer {
				return makeFeed(filepath.Join(dir, "{start}-{part}.jsonl"), feed.Rotate(feed.Rotation{Items: 5}), feed.To(b, feed.Delivery{}))
			},
			Stage:    stage,
			Read:     func(tb testing.TB) []int { return numbers(tb, b.items(t, ".jsonl")) },
			AnyOrder: true,
			Kill: func(_ testing.TB, c tegenaria.Committer) {
				pass(time.Hour) // what it was sending arrives
				killed = append(killed, c.(*feed.Feed))
			},
			Rounds: 60,
		})
		for _, f := range killed {
			f.Close(t.Context(), "killed")
		}
	})
}
