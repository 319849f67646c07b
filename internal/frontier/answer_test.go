package frontier_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/frontier"
	"github.com/tegenaria/tegenaria/internal/slots"
)

// answering is a world that notes which slots it is to remember.
type answering struct {
	*world
	kept []string
}

func newAnswering(cfg frontier.Config[*job]) *answering {
	a := new(answering)
	cfg.Keep = func(slot string) { a.kept = append(a.kept, slot) }
	a.world = newWorld(cfg)
	return a
}

// answer downloads a request of a slot, which takes so long and is answered so; it waits for its turn before.
func (a *answering) answer(t *testing.T, slot string, takes time.Duration, answer frontier.Answer) {
	t.Helper()
	a.send(0, record{id: 1, slot: slot})
	j := a.take(t)
	at, ok := a.Start(j)
	if !ok {
		t.Error("the job may not start")
	}
	<-time.NewTimer(takes).C
	a.Answered(j, answer, at)
	a.Release(j, false)
	a.ledger.Settle(fetched, "")
}

// state returns what is known of a slot.
func (a *answering) state(slot string) slots.State {
	for _, s := range a.Status() {
		if s.Name == slot {
			return s.State
		}
	}
	return slots.State{}
}

// next wants the next request of a slot to be allowed so long after now.
func (a *answering) next(t *testing.T, when, slot string, want time.Duration) {
	t.Helper()
	if d := time.Until(a.state(slot).Next); d != want {
		t.Errorf("%s: the next one may start in %v, want %v", when, d, want)
	}
}

// A refusal blocks its slot for its Retry-After, as far as that is honoured, and a shorter one later does not end that; the slot is
// remembered.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswering(frontier.Config[*job]{})
		a.send(0, record{id: 9, slot: "a"})
		other := a.take(t)
		at, _ := a.Start(other)
		a.answer(t, "a", 0, frontier.Answer{Came: true, Refused: true, After: 10 * time.Minute})
		a.next(t, "refused", "a", 10*time.Minute)
		a.Answered(other, frontier.Answer{Came: true, Refused: true, After: time.Minute}, at)
		a.next(t, "refused for less", "a", 10*time.Minute)
		a.answer(t, "a", 0, frontier.Answer{Came: true, Refused: true, After: 30 * 24 * time.Hour})
		a.next(t, "refused for a month", "a", time.Hour)
		if d := a.Heed("b", 30*24*time.Hour); d != time.Hour {
			t.Errorf("robots.txt blocks for %v, want an hour", d)
		}
		a.next(t, "robots.txt", "b", time.Hour)
		a.Heed("b", time.Minute)
		a.next(t, "robots.txt for less", "b", time.Hour)
		a.Block("c", in(time.Minute))
		if at := a.BlockedUntil("d"); !at.IsZero() {
			t.Errorf("a slot that nobody knows is blocked until %v", at)
		}
		begun := time.Now()
		a.Refused("d", 30*24*time.Hour)
		if d := time.Until(a.BlockedUntil("d")); d != time.Hour {
			t.Errorf("a refusal without a job blocks for %v, want an hour", d)
		}
		a.send(0, record{id: 2, slot: "d"})
		a.take(t)
		if at := a.BlockedUntil("d"); !at.IsZero() || time.Since(begun) != time.Hour {
			t.Errorf("after %v the slot is served, and blocked until %v", time.Since(begun), at)
		}
		if got := fmt.Sprint(a.kept); got != "[a a a b b d]" {
			t.Errorf("the slots to be remembered are %s", got)
		}
	})
}

// A refusal without Retry-After is a penalty, which good answers take away little by little; where no answer comes because the host
// is overloaded it is one with a throttle alone.
func TestPenalty(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswering(frontier.Config[*job]{})
		good := frontier.Answer{Came: true, OK: true}
		a.answer(t, "a", time.Second, frontier.Answer{Overload: true})
		if a.state("a").Learnt || len(a.kept) > 0 {
			t.Error("an overload is a refusal")
		}
		a.answer(t, "a", time.Second, frontier.Answer{Came: true, Refused: true})
		before := a.state("a").Delays[slots.Penalty]
		if before <= 0 || len(a.kept) != 1 {
			t.Errorf("the penalty is %v, and %v are to be remembered", before, a.kept)
		}
		a.answer(t, "a", time.Second, frontier.Answer{}) // none came
		if d := a.state("a").Delays[slots.Penalty]; d != before {
			t.Errorf("the penalty is %v after no answer, want %v", d, before)
		}
		a.answer(t, "a", 0, good)
		if d := a.state("a").Delays[slots.Penalty]; d >= before {
			t.Errorf("the penalty is %v after a good answer, which was %v", d, before)
		}
		for range 50 {
			a.answer(t, "a", 0, good)
		}
		if d := a.state("a").Delay; d != 0 {
			t.Errorf("the delay is %v after many good answers, want none", d)
		}
		if len(a.kept) != 1 {
			t.Errorf("%v are to be remembered, want the one refusal", a.kept)
		}

		a = newAnswering(frontier.Config[*job]{Throttle: &slots.Throttle{Max: 10 * time.Minute, Target: 1}})
		a.answer(t, "a", 4*time.Second, good)
		if d := a.state("a").Delays[slots.Throttled]; d != 4*time.Second {
			t.Errorf("the delay is %v after four seconds without a latency that was measured", d)
		}
		a.answer(t, "b", time.Minute, frontier.Answer{Came: true, OK: true, Latency: 2 * time.Second})
		if d := a.state("b").Delays[slots.Throttled]; d != 2*time.Second {
			t.Errorf("the delay is %v after a latency of two seconds", d)
		}
		a.answer(t, "b", 0, frontier.Answer{Overload: true})
		if a.state("b").Delays[slots.Penalty] <= 0 || len(a.kept) != 1 {
			t.Errorf("an overload is no refusal; %v are to be remembered", a.kept)
		}
	})
}

// told wants these slots reported, and that so many may be logged.
func (a *answering) told(t *testing.T, when string, log int, last bool, want ...string) {
	t.Helper()
	if a.HasBlocks() != (len(want) > 0) {
		t.Errorf("%s: HasBlocks is %t", when, a.HasBlocks())
	}
	list, n, end := a.TakeBlocks()
	var got []string
	for _, b := range list {
		got = append(got, fmt.Sprint(b.Slot, " ", b.Cause, " ", time.Until(b.Until).Round(time.Minute)))
	}
	if !slices.Equal(got, want) || n != log || end != last {
		t.Errorf("%s: %q are reported, %d are to be logged (the last: %t); want %q, %d, %t", when, got, n, end, want, log, last)
	}
}

// Blocks of more than a minute are reported with their cause, once.
func TestBlocksAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rules := frontier.NewRules(frontier.Rule{}, map[string]frontier.Rule{"spent": {Pages: 1}})
		a := newAnswering(frontier.Config[*job]{Rules: rules, Throttle: &slots.Throttle{Max: 10 * time.Minute, Target: 1}})
		cause := func(c frontier.Cause) string { return fmt.Sprint(" ", c, " ") }
		a.told(t, "at the beginning", 0, false)
		refused := frontier.Answer{Came: true, Refused: true, After: 10 * time.Minute}
		a.answer(t, "a", 0, refused)
		a.told(t, "a refusal", 1, false, "a"+cause(frontier.RetryAfter)+"10m0s")
		a.NoteBlock("a", frontier.Robots, in(10*time.Minute+time.Second))
		a.Block("short", in(time.Minute))
		a.told(t, "of the same end, and a short one", 0, false)
		a.NoteBlock("a", frontier.Robots, in(12*time.Minute))
		a.told(t, "a longer one", 1, false, "a"+cause(frontier.Robots)+"12m0s")
		if s := a.state("a"); time.Until(s.Next) != 10*time.Minute {
			t.Errorf("a block that is noted alone blocks for %v", time.Until(s.Next))
		}
		a.SetDelay("u", 2*time.Minute, time.Time{})
		a.answer(t, "u", 0, frontier.Answer{Came: true, Refused: true})
		a.told(t, "refusals without Retry-After", 1, false, "u"+cause(frontier.Refusals)+fmt.Sprint(time.Until(a.state("u").Until).Round(time.Minute)))

		a.SetDelay("l", time.Hour, time.Time{}) // of the user's own
		a.answer(t, "l", 0, frontier.Answer{Came: true, OK: true, Latency: 3 * time.Minute})
		a.told(t, "a long latency", 1, false, "l"+cause(frontier.AutoThrottle)+"1h0m0s")

		a.send(0, record{id: 1, slot: "spent"})
		j := a.take(t)
		at, _ := a.Start(j)
		if err := a.Spend(j); err != nil {
			t.Error(err)
		}
		a.send(0, record{id: 2, slot: "spent"})
		a.Answered(j, refused, at)
		a.told(t, "a slot that has had its pages", 0, false)
	})
}

// What holds for each request is reported when it begins, and when it has grown by more than a minute; it begins anew after it was
// short.
func TestCrawlDelayIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswering(frontier.Config[*job]{})
		a.SetCrawlDelay("a", 30*24*time.Hour)
		a.told(t, "before the first request", 0, false)
		a.answer(t, "a", 0, frontier.Answer{Came: true, OK: true})
		a.next(t, "a month", "a", time.Hour)
		for _, tt := range []struct {
			delay time.Duration
			want  []string
		}{
			{5 * time.Minute, []string{"5m0s"}}, {6 * time.Minute, nil}, {5 * time.Minute, nil}, {7 * time.Minute, []string{"7m0s"}},
			{time.Minute, nil}, {5 * time.Minute, []string{"5m0s"}},
		} {
			a.SetCrawlDelay("a", tt.delay)
			for i := range tt.want {
				tt.want[i] = fmt.Sprint("a ", frontier.CrawlDelay, " ", tt.want[i])
			}
			a.told(t, tt.delay.String(), len(tt.want), false, tt.want...)
		}
		if len(a.kept) != 7 {
			t.Errorf("%v are to be remembered, want a seven times", a.kept)
		}
		a.SetDelay("d", time.Minute, time.Time{})
		a.next(t, "without a start", "d", time.Until(time.Time{}))
		a.SetDelay("d", time.Minute, time.Now().Add(-time.Second))
		a.next(t, "with the start", "d", 59*time.Second)
	})
}

// Twenty blocks may be logged in a minute.
func TestBlocksOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAnswering(frontier.Config[*job]{})
		<-time.NewTimer(time.Hour).C
		made := 0
		block := func(n int) (want []string) {
			for range n {
				made++
				a.Block(fmt.Sprint(made), in(time.Hour))
				want = append(want, fmt.Sprint(made, " ", frontier.Robots, " 1h0m0s"))
			}
			return want
		}
		a.told(t, "15", 15, false, block(15)...)
		a.told(t, "10 more", 5, true, block(10)...)
		a.told(t, "further ones", 0, false, block(3)...)
		<-time.NewTimer(time.Minute).C
		a.told(t, "a minute later", 20, true, block(25)...)
	})
}
