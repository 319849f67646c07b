package robotsgate_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/robotsgate"
)

type job struct{ parked int }

func (j *job) Park() { j.parked++ }

// only allows one path.
type only string

func (o only) Allowed(path string) bool { return path == string(o) }

func place(path, slot string) robotsgate.Place {
	return robotsgate.Place{Origin: "https://a.example", Path: path, Slot: slot}
}

func want(t *testing.T, what string, got robotsgate.Look, answer robotsgate.Answer) {
	t.Helper()
	if got.Answer != answer {
		t.Errorf("%s: answer %d, want %d", what, got.Answer, answer)
	}
}

// One job asks and the others wait until it is known; the rules hold for a day, and old ones for an hour where new ones
// cannot be had. It fails if Look lets a second job ask.
func TestGateAsksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := make(map[string]time.Duration)
		gate := robotsgate.New[*job](func(slot string, d time.Duration) { delays[slot] = d })
		first, second, inline := &job{}, &job{}, &job{}
		want(t, "first", gate.Look(first, place("/x", "a"), true), robotsgate.Ask)
		want(t, "second", gate.Look(second, place("/x", "b"), true), robotsgate.Wait)
		waits := gate.Look(inline, place("/x", "a"), false)
		want(t, "inline", waits, robotsgate.Wait)
		if second.parked != 1 || inline.parked != 0 || first.parked != 0 {
			t.Error("another job was parked than the one that waits")
		}
		released := gate.Known(first, robotsgate.Rules{Group: only("/x"), Delay: time.Second}, robotsgate.Refresh)
		if len(released.Waiting) != 1 || released.Waiting[0] != (robotsgate.Waiting[*job]{Job: second, Slot: "b"}) || !released.RetryAt.IsZero() {
			t.Errorf("released %+v", released)
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
		if _, kept := gate.KeepOld(first); !kept {
			t.Error("the old rules are gone")
		}
		want(t, "with old rules", gate.Look(first, place("/y", "a"), true), robotsgate.Forbid)
		sleep(robotsgate.Again)
		want(t, "an hour later", gate.Look(first, place("/x", "a"), true), robotsgate.Ask)
		gate.Known(first, robotsgate.Rules{Group: only("/y")}, robotsgate.Refresh)
		if delays["a"] != 0 || delays["b"] != 0 {
			t.Errorf("the delay has gone from the file, not from the slots: %v", delays)
		}
	})
}

// After a server error anybody may ask again, a little later; after four the file is lost for a day. It fails if a failure
// does not count.
func TestGateAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := robotsgate.New[*job](func(string, time.Duration) {})
		first, second := &job{}, &job{}
		for i, wait := range []time.Duration{2 * time.Second, 8 * time.Second, 20 * time.Second, 0} {
			want(t, "first", gate.Look(first, place("/", "a"), true), robotsgate.Ask)
			want(t, "second", gate.Look(second, place("/", "b"), true), robotsgate.Wait)
			released, isLost := gate.Failed(first)
			if len(released.Waiting) != 1 || isLost != (i == 3) {
				t.Fatalf("failure %d: released %+v, lost %v", i+1, released, isLost)
			}
			if isLost {
				break
			}
			if at := time.Now().Add(wait); !released.RetryAt.Equal(at) {
				t.Errorf("again at %s, want %s", released.RetryAt, at)
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
		if _, kept := gate.KeepOld(first); kept {
			t.Error("there are no old rules")
		}
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
	gate := robotsgate.New[*job](func(string, time.Duration) {})
	asker := &job{}
	first := robotsgate.Place{Origin: "https://first.example", Path: "/", Slot: "first"}
	want(t, "first", gate.Look(asker, first, true), robotsgate.Ask)
	for i := range robotsgate.MaxOrigins + 100 {
		j := &job{}
		at := robotsgate.Place{Origin: "https://" + string(rune('a'+i%26)) + string(rune(0x4e00+i/26)), Path: "/", Slot: "s"}
		want(t, at.Origin, gate.Look(j, at, true), robotsgate.Ask)
		gate.Known(j, robotsgate.Rules{Group: only("/")}, robotsgate.Refresh)
	}
	want(t, "the first is still asked for", gate.Look(&job{}, first, true), robotsgate.Wait)
}

// sleep waits in the time of the test.
func sleep(d time.Duration) { <-time.NewTimer(d).C }
