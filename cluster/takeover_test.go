//go:build unix

package cluster_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var takeOvers = flag.Int("takeovers", 1, "kills of TestStandbyGoesOn, and so many SIGSTOP and SIGINT")

// pair is a worker and its standby.
type pair struct {
	site     *site
	one, two *crawl
	program  *exec.Cmd
	told     fmt.Stringer // what the first worker says
}

// newPair begins the crawl of a site whose first worker gets a signal after so many requests, and runs the second one to the end.
func newPair(t *testing.T, pages, after int, signal syscall.Signal, delay time.Duration) *pair {
	t.Helper()
	folder := t.TempDir()
	p := &pair{site: newSite(pages)}
	t.Cleanup(p.site.Close)
	p.one = &crawl{
		DSN: database(t), Job: newJob(), URL: p.site.URL, Worker: "one", File: filepath.Join(folder, "one.jsonl"), Delay: delay,
		Options: cluster.Options{TTL: 2 * shortTTL, Wait: true},
	}
	two := *p.one
	two.Worker, two.File = "two", filepath.Join(folder, "two.jsonl")
	p.two = &two
	p.program, p.told = p.one.begin(t, p.site, after, signal)
	<-p.site.first // the job is the first one's
	if err := p.two.run(t.Context()); err != nil {
		_ = p.program.Process.Kill()
		t.Fatalf("the standby: %v\n%s", err, p.told)
	}
	return p
}

// check compares what both have left with what there was to do, and returns how many requests were too many.
func (p *pair) check(t *testing.T) (extra int) {
	t.Helper()
	p.site.mu.Lock()
	defer p.site.mu.Unlock()
	items := p.one.items(t)
	maps.Copy(items, p.two.items(t))
	for i := range p.site.pages {
		n := p.site.asked[fmt.Sprint("/", i)]
		if n == 0 {
			t.Errorf("the page %d was not asked for", i)
		}
		if extra += n - 1; i%10 == 7 { // tried twice
			extra--
		}
	}
	admin := connect(t, p.one.DSN)
	got := read(t, admin, fmt.Sprintf(`SELECT count(*) || ' ' || count(DISTINCT key) FROM %q.outcome WHERE outcome = 'fetched'`, p.one.Job))
	if want := fmt.Sprint(p.site.pages, " ", p.site.pages); got != want || len(items) != p.site.pages {
		t.Errorf("outcomes and keys %s, want %s; %d items", got, want, len(items))
	}
	return extra
}

// by returns how many requests a worker made, and when the first and the last one came.
func (p *pair) by(worker string) (n int, first, last time.Time) {
	p.site.mu.Lock()
	defer p.site.mu.Unlock()
	for _, v := range p.site.log {
		if v.by == worker {
			if n++; n == 1 {
				first = v.at
			}
			last = v.at
		}
	}
	return n, first, last
}

// The first worker is killed, stands still for longer than its TTL and goes on, or is asked to stop. The standby goes on with what is left. Of the
// worker that stood still nothing is written afterwards, and it starts nothing; what was asked twice was in flight or not yet settled.
func TestStandbyGoesOn(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	const pages, inFlight = 200, 8
	for range *takeOvers {
		for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGINT} {
			t.Run(signal.String(), func(t *testing.T) {
				p := newPair(t, pages, 1+random.IntN(pages/2), signal, 0)
				before, _, _ := p.by("one")
				if signal == syscall.SIGSTOP {
					if err := p.program.Process.Signal(syscall.SIGCONT); err != nil {
						t.Fatal(err)
					}
				}
				err := p.program.Wait()
				after, _, last := p.by("one")
				_, first, _ := p.by("two")
				var exit *exec.ExitError
				switch {
				case signal == syscall.SIGINT:
				case !errors.As(err, &exit):
					t.Errorf("the first worker: %v", err)
				case signal == syscall.SIGSTOP && !strings.Contains(p.told.String(), "another one has begun"):
					t.Errorf("the first worker says:\n%s", p.told)
				}
				if after-before > inFlight {
					t.Errorf("%d requests after the burial", after-before)
				}
				extra := p.check(t)
				if extra > after || signal == syscall.SIGINT && extra > 0 { // the standby has asked for no page twice
					t.Errorf("%d requests too many", extra)
				}
				t.Logf("%d requests of the first worker, %d after it was buried, %d too many; the standby began after %v", after, after-before, extra, first.Sub(last))
			})
		}
	}
}

// A new owner begins with the whole delay of a host, whenever the dead one has asked last.
func TestDelayAtTakeOver(t *testing.T) {
	const delay = 2 * time.Second
	p := newPair(t, 2, 2, syscall.SIGKILL, delay)
	_ = p.program.Wait()
	_, _, last := p.by("one")
	_, first, _ := p.by("two")
	if gap := first.Sub(last); gap < delay {
		t.Errorf("the first request of the new owner came %v after the last one of the dead, want at least %v", gap, delay)
	}
}
