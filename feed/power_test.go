package feed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/internal/feedtest"
	"github.com/tegenaria/tegenaria/internal/commit"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// powerJob is a job of a feed whose power is cut again and again.
type powerJob struct {
	t       *testing.T
	random  *rand.Rand
	disk    *feedtest.Power
	make    func() *feed.Feed
	feed    *feed.Feed
	stored  []byte
	waiting []powerRequest
	want    []int
	made    int // items
	ids     int // requests
}

// powerRequest is a request that is not settled, and the numbers of its items.
type powerRequest struct {
	id    string
	items []int
}

// start begins a run, however often the power is cut in that.
func (j *powerJob) start() {
	for most := 40; ; most *= 2 { // so that the run gets beyond what it does again
		j.disk.On(1+j.random.IntN(most), "")
		j.feed = j.make()
		err := j.feed.Restore(j.t.Context(), j.stored)
		if err == nil && j.stored == nil {
			j.stored, err = j.feed.Prepare(j.t.Context(), nil)
		}
		for _, r := range j.waiting {
			if err == nil {
				err = j.stage(r)
			}
		}
		if err == nil {
			return
		}
		j.failed(err)
	}
}

func (j *powerJob) stage(r powerRequest) error {
	for _, n := range r.items {
		if err := process(j.feed, r.id, record{ID: n, Text: strings.Repeat(fmt.Sprint(n, " "), 1+n%40), Tags: []string{"tag"}}); err != nil {
			return err
		}
	}
	return nil
}

// failed ends a run whose power was cut.
func (j *powerJob) failed(err error) {
	j.t.Helper()
	if !errors.Is(err, feedtest.ErrPower) || !j.disk.IsCut() {
		j.t.Fatalf("%v, after %d items", err, j.made)
	}
	j.kill()
}

func (j *powerJob) kill() {
	_ = j.feed.Close(commit.OfClose(context.WithoutCancel(j.t.Context()), false), "") // it may find the power cut
}

func (j *powerJob) round() {
	switch j.random.IntN(6) {
	case 0, 1, 2:
		j.ids++
		r := powerRequest{id: fmt.Sprint("request ", j.ids)}
		for range j.random.IntN(5) {
			r.items = append(r.items, j.made)
			j.made++
		}
		j.waiting = append(j.waiting, r)
		if err := j.stage(r); err != nil {
			j.failed(err)
			j.start()
		}
	case 3, 4:
		j.settle(j.random.IntN(len(j.waiting) + 1))
	case 5:
		j.kill()
		j.start()
	}
}

func (j *powerJob) settle(n int) {
	var ids []string
	var items []int
	for _, r := range j.waiting[:n] {
		ids, items = append(ids, r.id), append(items, r.items...)
	}
	checkpoint, err := j.feed.Prepare(j.t.Context(), ids)
	switch {
	case err == nil && j.random.IntN(5) > 0:
		j.stored, j.want, j.waiting = checkpoint, append(j.want, items...), j.waiting[n:]
		return
	case err != nil:
		j.failed(err)
	default: // it was not stored
		j.kill()
	}
	j.start()
}

// end ends the job, however often the power is cut in that.
func (j *powerJob) end() {
	for len(j.waiting) > 0 {
		j.settle(len(j.waiting))
	}
	for {
		err := j.feed.Close(j.t.Context(), "finished")
		if err == nil {
			return
		}
		j.failed(err)
		j.start()
	}
}

// The power is cut in any operation of the disk; what was not synced is then there, or not, or half of it. Afterwards each item of a batch
// that was stored is in the files once, no other one is, each file is well-formed, and nothing is left beside them.
func TestPowerCuts(t *testing.T) {
	for _, name := range []string{"out", "{part}"} {
		for _, format := range formatEndings {
			for _, pack := range packEndings {
				t.Run(name+format+pack, func(t *testing.T) {
					t.Parallel()
					seed := deep.Seed()
					random := rand.New(rand.NewPCG(seed, 1))
					cuts := 0
					jobs := deep.Rounds(3, 12)
					for range jobs {
						disk := feedtest.NewPower(rand.New(rand.NewPCG(random.Uint64(), 1)))
						opts := []feed.Option{feed.WithFS(disk), feed.StageBytes(300)}
						if name != "out" {
							opts = append(opts, feed.Rotate(feed.Rotation{Items: 7}))
						}
						j := &powerJob{t: t, random: random, disk: disk, make: func() *feed.Feed { return makeFeed(name+format+pack, opts...) }}
						j.start()
						for range 40 {
							j.round()
						}
						j.end()
						for _, n := range disk.Points {
							cuts += n
						}
						got := readPower(t, disk, format+pack)
						if name != "out" {
							slices.Sort(got)
						}
						if !slices.Equal(got, j.want) {
							t.Fatalf("seed %d: %v\nwant %v", seed, got, j.want)
						}
					}
					if t.Logf("seed %d: %d cuts", seed, cuts); cuts < jobs {
						t.Error("too few")
					}
				})
			}
		}
	}
}

// readPower returns the numbers of the items in all files.
func readPower(t *testing.T, disk *feedtest.Power, ending string) (numbers []int) {
	t.Helper()
	dir := plainDir(t)
	files := disk.Files("")
	for name, text := range files {
		if strings.HasSuffix(name, ".spool") { // its removal was not durable yet; nothing of it is read again
			continue
		}
		if !strings.HasSuffix(name, ending) {
			t.Errorf("%s is left", name)
			continue
		}
		write(t, filepath.Join(dir, filepath.Base(name)), string(text))
	}
	list, _ := finishedFiles(t, dir, make(map[string][32]byte))
	for _, r := range list {
		numbers = append(numbers, r.ID)
	}
	return numbers
}
