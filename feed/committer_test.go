package feed_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/spidertest"
)

// numbered is an item that the number decides, with texts that formats stumble over. Those without a key have an ID below 0.
func numbered(n int, format string) record {
	text := hardTexts[n%len(hardTexts)]
	if format == ".csv" { // encoding/csv turns CR LF within quotes into LF
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	return record{ID: n%40 - 5, Text: fmt.Sprint(n, " ", text), Tags: []string{fmt.Sprint("tag", n%3)}}
}

// numbers returns the numbers of items, each of which has to be as it was made.
func numbers(t testing.TB, list []record, format string) (got []int) {
	t.Helper()
	for _, r := range list {
		var n int
		if _, err := fmt.Sscan(r.Text, &n); err != nil || !reflect.DeepEqual(r, numbered(n, format)) {
			t.Errorf("%.200q: %v", fmt.Sprint(r), err)
		}
		got = append(got, n)
	}
	return got
}

// watched is a feed whose files are looked at before each commit but the first of a run: what was committed is stored then.
type watched struct {
	*feed.Feed
	look      func()
	committed bool
}

func (w *watched) Prepare(ctx context.Context, ids []string) ([]byte, error) {
	if w.committed {
		w.look()
	}
	w.committed = true
	return w.Feed.Prepare(ctx, ids)
}

// Each form of a feed passes the conformance suite of committers: file, compressed file, set of files, with Unique, and with a target.
// Whenever a reader looks, a file that stands alone is whole, and one of a set has not changed since it got its name, and has no
// more items than it may. It fails if what ends a file is not written, is not overwritten, or if a cut loses or repeats something.
func TestCommitter(t *testing.T) {
	stage := func(format string) func(t testing.TB, c tegenaria.Committer, id string, n int) {
		return func(t testing.TB, c tegenaria.Committer, id string, n int) {
			t.Helper()
			if err := c.(tegenaria.PipelinesInterface).ProcessItem(nil, &tegenaria.ItemMeta{CtxId: id, Item: numbered(n, format)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"out", "{start}-{part}", "by-tag/{item.tags}/{part}"} {
		for _, format := range formatEndings {
			for _, pack := range packEndings {
				t.Run(name+format+pack, func(t *testing.T) {
					t.Parallel()
					dir := plainDir(t)
					path := filepath.Join(dir, name+format+pack)
					const most = 7
					var opts []feed.Option
					sums := make(map[string][32]byte)
					look := func() { finishedFiles(t, dir, sums) }
					if name == "out" {
						look = func() { parse(t, path) }
					} else {
						opts = append(opts, feed.Rotate(feed.Rotation{Items: most}))
					}
					spidertest.TestCommitter(t, spidertest.CommitterHarness{
						Open:  func(testing.TB) tegenaria.Committer { return &watched{Feed: makeFeed(path, opts...), look: look} },
						Stage: stage(format),
						Read: func(tb testing.TB) []int {
							if name == "out" {
								return numbers(tb, parse(t, path), format)
							}
							list, open := finishedFiles(t, dir, maps.Clone(sums)) // a run that begins after Close may end its files anew
							if open > 0 {
								tb.Errorf("%d files are not finished", open)
							}
							return numbers(tb, list, format)
						},
						AnyOrder: name != "out",
						Rounds:   deep.Rounds(15, 50),
					})
					if name != "out" {
						finishedFiles(t, dir, sums)
					}
					for file := range sums {
						if n := len(parse(t, file)); n > most || n == 0 {
							t.Errorf("%s has %d items", file, n)
						}
					}
					if left, err := filepath.Glob(filepath.Join(dir, "*", ".*")); err != nil || len(left) > 0 {
						t.Errorf("left: %q, %v", left, err)
					}
				})
			}
		}
	}
	for _, name := range []string{"out.jsonl", "out-{part}.csv"} {
		t.Run("unique, "+name, func(t *testing.T) {
			t.Parallel()
			dir, format := plainDir(t), filepath.Ext(name)
			spidertest.TestCommitter(t, spidertest.CommitterHarness{
				Open:  func(testing.TB) tegenaria.Committer { return makeFeed(filepath.Join(dir, name), feed.Unique(idOf)) },
				Stage: stage(format),
				Read: func(tb testing.TB) []int {
					list, _ := finishedFiles(t, dir, make(map[string][32]byte))
					return numbers(tb, list, format)
				},
				Merge: func(settled []int) (first []int) {
					seen := make(map[string]bool)
					for _, n := range settled {
						key := idOf(numbered(n, format))
						if key == "" || !seen[key] {
							first = append(first, n)
						}
						seen[key] = true
					}
					return first
				},
				Rounds: deep.Rounds(80, 200),
			})
		})
	}
	for _, ending := range []string{".jsonl", ".csv.gz"} {
		format := strings.TrimSuffix(ending, ".gz")
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
					return makeFeed(filepath.Join(dir, "{start}-{part}"+ending), feed.Rotate(feed.Rotation{Items: 5}), feed.To(b, feed.Delivery{}))
				},
				Stage:    stage(format),
				Read:     func(tb testing.TB) []int { return numbers(tb, b.items(t, ending), format) },
				AnyOrder: true,
				Kill: func(_ testing.TB, c tegenaria.Committer) {
					pass(time.Hour) // what it was sending arrives
					killed = append(killed, c.(*feed.Feed))
				},
				Rounds: 60,
			})
			if len(b.changed) > 0 {
				t.Errorf("objects changed: %q", b.changed)
			}
			if left, err := filepath.Glob(filepath.Join(dir, "[^.]*")); err != nil || len(left) > 0 {
				t.Errorf("left: %q, %v", left, err)
			}
			for _, f := range killed {
				f.Close(t.Context(), "killed")
			}
		})
	}
}
