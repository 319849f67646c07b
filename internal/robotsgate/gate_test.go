package robotsgate_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

type job struct{ parked int }

func park(j *job) { j.parked++ }

// group is a robots.txt that allows one path.
type group struct {
	path        string
	delay, rate time.Duration // 0: it does not say
}

func (g group) Allowed(path string) bool           { return path == g.path }
func (g group) CrawlDelay() (time.Duration, bool)  { return g.delay, g.delay > 0 }
func (g group) RequestRate() (time.Duration, bool) { return g.rate, g.rate > 0 }

// parse reads a group: its path, and its two delays if they are there.
func parse(body []byte) robotsgate.Group {
	words := append(strings.Fields(string(body)), "0s", "0s")
	var g group
	g.path = words[0]
	g.delay, _ = time.ParseDuration(words[1])
	g.rate, _ = time.ParseDuration(words[2])
	return g
}

// newGate makes a gate that tells delays what it wants of slots.
func newGate(delays map[string]time.Duration) *robotsgate.Gate[*job] {
	return robotsgate.New(parse, func(slot string, d time.Duration) { delays[slot] = d }, park)
}

// ask has a job ask for its file, to which the server says this.
func ask(t *testing.T, gate *robotsgate.Gate[*job], j *job, status int, body string) robotsgate.End[*job] {
	t.Helper()
	end, err := gate.Ask(j, "https://a.example", func(string, time.Duration, bool) (robotsgate.Response, error) {
		return robotsgate.Response{Status: status, Body: []byte(body)}, nil
	})
	if err != nil {
		t.Errorf("status %d: %v", status, err)
	}
	return end
}

func place(path, slot string) robotsgate.Place {
	return robotsgate.Place{Origin: "https://a.example", Path: path, Slot: slot}
}

func want(t *testing.T, what string, got robotsgate.Look, answer robotsgate.Answer) {
	t.Helper()
	if got.Answer != answer {
		t.Errorf("%s: answer %d, want %d", what, got.Answer, answer)
	}
}

// slowGroup is a robots.txt whose matching takes until it is released.
type slowGroup struct {
	group
	begun, release chan struct{}
}

func (g slowGroup) Allowed(string) bool {
	g.begun <- struct{}{}
	<-g.release
	return false
}

// A path that takes long to match holds nobody up, of its own origin or another. It fails, and hangs, if Look matches while it holds
// its lock.
func TestGateMatchesWithoutItsLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := slowGroup{begun: make(chan struct{}), release: make(chan struct{})}
		first := &job{}
		gate := robotsgate.New(func([]byte) robotsgate.Group { return slow }, func(string, time.Duration) {}, park)
		want(t, "the first", gate.Look(first, place("/", "a"), true), robotsgate.Ask)
		ask(t, gate, first, 200, "x")
		looks := make(chan robotsgate.Look, 1)
		go func() { looks <- gate.Look(first, place("/", "a"), true) }()
		<-slow.begun
		other := robotsgate.Place{Origin: "https://b.example", Path: "/", Slot: "b"}
		want(t, "another origin", gate.Look(&job{}, other, true), robotsgate.Ask)
		if gate.Stopped() {
			t.Error("it was stopped")
		}
		close(slow.release)
		want(t, "the slow one", <-looks, robotsgate.Forbid)
	})
}

// One job asks and the others wait until it is known; the rules hold for a day, and old ones for an hour where new ones
// cannot be had. It fails if Look lets a second job ask.
func TestGateAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := make(map[string]time.Duration)
		gate := newGate(delays)
		first, second, inline := &job{}, &job{}, &job{}
		want(t, "first", gate.Look(first, place("/x", "a"), true), robotsgate.Ask)
		want(t, "second", gate.Look(second, place("/x", "b"), true), robotsgate.Wait)
		waits := gate.Look(inline, place("/x", "a"), false)
		want(t, "inline", waits, robotsgate.Wait)
		if second.parked != 1 || inline.parked != 0 || first.parked != 0 {
			t.Error("another job was parked than the one that waits")
		}
		end := ask(t, gate, first, 200, "/x 1s")
		if len(end.Waiting) != 1 || end.Waiting[0] != (robotsgate.Waiting[*job]{Job: second, Slot: "b"}) || !end.RetryAt.IsZero() || !end.New || end.Lost {
			t.Errorf("ended by %+v", end)
		}
		<-waits.Changed
		if delays["a"] != time.Second || delays["b"] != time.Second {
			t.Errorf("delays %v", delays)
		}
		want(t, "an allowed path", gate.Look(second, place("/x", "c"), true), robotsgate.Allow)
		want(t, "another one", gate.Look(second, place("/y", "a"), true), robotsgate.Forbid)
		if delays["c"] != time.Second {
			t.Errorf("a slot that came later has no delay: %v", delays)
		}

		sleep(robotsgate.Refresh)
		want(t, "a day later", gate.Look(first, place("/x", "a"), true), robotsgate.Ask)
		if end := ask(t, gate, first, 503, ""); end.New || end.Lost || !end.RetryAt.IsZero() {
			t.Errorf("with old rules ended by %+v", end)
		}
		want(t, "with old rules", gate.Look(first, place("/y", "a"), true), robotsgate.Forbid)
		sleep(robotsgate.Again)
		want(t, "an hour later", gate.Look(first, place("/x", "a"), true), robotsgate.Ask)
		ask(t, gate, first, 200, "/y")
		if delays["a"] != 0 || delays["b"] != 0 {
			t.Errorf("the delay has gone from the file, not from the slots: %v", delays)
		}
	})
}

// After a server error anybody may ask again, a little later; after four the file is lost for a day. It fails if a failure
// does not count.
func TestGateAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newGate(make(map[string]time.Duration))
		first, second := &job{}, &job{}
		for i, wait := range []time.Duration{2 * time.Second, 8 * time.Second, 20 * time.Second, 0} {
			want(t, "first", gate.Look(first, place("/", "a"), true), robotsgate.Ask)
			want(t, "second", gate.Look(second, place("/", "b"), true), robotsgate.Wait)
			end := ask(t, gate, first, []int{500, 429, 503, 599}[i], "")
			if len(end.Waiting) != 1 || end.Lost != (i == 3) || end.New {
				t.Fatalf("failure %d: ended by %+v", i+1, end)
			}
			if end.Lost {
				break
			}
			if at := time.Now().Add(wait); !end.RetryAt.Equal(at) {
				t.Errorf("again at %s, want %s", end.RetryAt, at)
			}
			look := gate.Look(second, place("/", "b"), true)
			want(t, "too early", look, robotsgate.Later)
			sleep(time.Until(look.At))
			first, second = second, first
		}
		want(t, "lost", gate.Look(first, place("/", "a"), true), robotsgate.Unreachable)
		sleep(robotsgate.Refresh)
		want(t, "a day later", gate.Look(first, place("/", "a"), true), robotsgate.Ask)
		gate.Postpone(first, time.Now().Add(time.Minute))
		gate.Abort(first)
		want(t, "postponed", gate.Look(second, place("/", "a"), true), robotsgate.Later)
		sleep(time.Minute)
		want(t, "a minute later", gate.Look(second, place("/", "a"), true), robotsgate.Ask)
		if released := gate.Abort(first); released.Waiting != nil {
			t.Error("a job that does not ask has ended the asking")
		}
		want(t, "still", gate.Look(first, place("/", "a"), true), robotsgate.Wait)
		if waiting := gate.Stop(); len(waiting) != 1 || waiting[0].Job != first || !gate.Stopped() {
			t.Errorf("Stop returned %+v", waiting)
		}
		want(t, "stopped", gate.Look(first, place("/", "a"), true), robotsgate.Unreachable)
	})
}

// However many origins there are, so many files are kept. It fails if makeRoom forgets a file that is asked for.
func TestGateForgets(t *testing.T) {
	gate := newGate(make(map[string]time.Duration))
	asker := &job{}
	first := robotsgate.Place{Origin: "https://first.example", Path: "/", Slot: "first"}
	want(t, "first", gate.Look(asker, first, true), robotsgate.Ask)
	for i := range robotsgate.MaxOrigins + 100 {
		j := &job{}
		at := robotsgate.Place{Origin: "https://" + string(rune('a'+i%26)) + string(rune(0x4e00+i/26)), Path: "/", Slot: "s"}
		want(t, at.Origin, gate.Look(j, at, true), robotsgate.Ask)
		ask(t, gate, j, 200, "/")
	}
	want(t, "the first is still asked for", gate.Look(&job{}, first, true), robotsgate.Wait)
}

// sleep waits in the time of the test.
func sleep(d time.Duration) { <-time.NewTimer(d).C }
