package frontier_test

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/internal/frontier"
)

// take returns the next job, which holds its slot and a worker.
func (w *world) take(t *testing.T) *job {
	t.Helper()
	j, ok, err := w.Take(t.Context())
	if !ok || err != nil {
		t.Fatalf("Take: %v, %v", ok, err)
	}
	return j
}

// A page that is reserved is nobody else's, but its slot has not had it yet: only when the download has begun is the slot
// spent for good, and only that is stored: a process that dies meanwhile has not used the page. What waits for the page comes
// when there is one. It fails if Frontier.IsSpent or Save counts what is reserved, or Overrule does not wake who waits.
func TestReservedPageMayComeBack(t *testing.T) {
	const slot = "a"
	w := newWorld(frontier.Config[*job]{Rules: frontier.NewRules(frontier.Rule{Pages: 1}, nil)})
	w.send(0, record{id: 1, slot: slot}, record{id: 2, slot: slot})
	first, second := w.take(t), w.take(t)
	spent := func(when string, want bool) {
		t.Helper()
		if got := w.IsSpent(slot); got != want {
			t.Errorf("%s: IsSpent is %v, want %v", when, got, want)
		}
	}
	reserve := func(j *job, want error) {
		t.Helper()
		if err := w.Reserve(j); !errors.Is(err, want) {
			t.Errorf("Reserve for %d: %v, want %v", j.id, err, want)
		}
	}
	begun := func(when string, want int) {
		t.Helper()
		if saved, _ := w.Save(slot); saved.Pages != want || w.Status()[0].Pages != want {
			t.Errorf("%s: %d pages are saved and %d told as begun, want %d", when, saved.Pages, w.Status()[0].Pages, want)
		}
	}
	spent("at the beginning", false)
	reserve(first, nil)
	spent("while the page is reserved", false)
	begun("while the page is reserved", 0)
	reserve(second, frontier.ErrShort)
	if w.Starves(second) || !w.IsShort(second) || !w.PutBack(second) {
		t.Error("the second job does not wait for the page")
	}
	if n := w.Status()[0].Pending; n != 0 {
		t.Errorf("%d jobs would be taken that find no page", n)
	}
	w.Overrule(first)
	if second != w.take(t) {
		t.Error("the second job is not taken when the page has come back")
	}
	reserve(first, frontier.ErrOver)
	spent("when the page has come back", false)
	reserve(second, nil)
	if err := w.Spend(second); err != nil {
		t.Errorf("Spend: %v", err)
	}
	spent("when the download has begun", true)
	w.SetRule(slot, frontier.Rule{Pages: 2})
	spent("with another page", false)
	if n := w.Reserved(); n != 0 {
		t.Errorf("%d pages are reserved", n)
	}
}

// A crawl that stops gets the jobs back that wait for a page. It fails if Frontier.Stop leaves them out.
func TestStopReturnsWhatWaitsForAPage(t *testing.T) {
	w := newWorld(frontier.Config[*job]{Rules: frontier.NewRules(frontier.Rule{Pages: 1}, nil)})
	w.send(0, record{id: 1, slot: "a"}, record{id: 2, slot: "a"})
	first, second := w.take(t), w.take(t)
	if err := w.Reserve(first); err != nil || !w.PutBack(second) {
		t.Fatalf("Reserve: %v", err)
	}
	if left := w.Stop(); len(left) != 1 || left[0] != second {
		t.Errorf("Stop returned %v, want the second job", left)
	}
	if w.PutBack(first) {
		t.Error("a job was put back after Stop")
	}
}

// An inline job and a suspect find that a slot has had its pages, where a job of a queue waits for what is reserved; what was
// reserved is counted once.
func TestPagesAreCountedOnce(t *testing.T) {
	w := newWorld(frontier.Config[*job]{Rules: frontier.NewRules(frontier.Rule{Pages: 2}, nil)})
	for id := 1; id <= 4; id++ {
		w.send(0, record{id: id, slot: "a"})
	}
	first, second, third, fourth := w.take(t), w.take(t), w.take(t), w.take(t)
	for _, j := range []*job{first, first, second} {
		if err := w.Reserve(j); err != nil || !j.claim.HasReservation() || w.Starves(j) || w.IsShort(j) {
			t.Errorf("request %d has no page: %v", j.id, err)
		}
	}
	inline := newInline("a")
	if w.IsShort(inline) || !w.Starves(inline) || w.Reserve(inline) != frontier.ErrSpent || w.Spend(inline) != frontier.ErrSpent {
		t.Error("an inline job waits for a page")
	}
	if !w.IsShort(third) || w.Starves(third) || w.Spend(third) != frontier.ErrShort || !w.PutBack(third) {
		t.Error("a job of a queue does not wait for a page")
	}
	if err := w.Spend(first); err != nil || first.claim.HasReservation() || w.IsSpent("a") {
		t.Errorf("the page that was reserved is lost: %v", err)
	}
	if w.take(t) != third || !w.PutBack(third) { // it is told at each page that begins
		t.Error("the third job does not come")
	}
	if err := w.Spend(second); err != nil || !w.IsSpent("a") {
		t.Errorf("the last page has not begun: %v", err)
	}
	if w.take(t) != third || w.IsShort(third) || !w.Starves(third) || w.Spend(third) != frontier.ErrSpent || w.Reserve(fourth) != frontier.ErrSpent {
		t.Error("there is a third page")
	}
	w.Overrule(fourth)
	if w.Spend(fourth) != frontier.ErrOver || !w.IsSpent("a") || w.Status()[0].Pages != 2 {
		t.Errorf("%d pages have begun, want 2", w.Status()[0].Pages)
	}
}

// A budget that comes with a rule counts from then on, for the host in any spelling, and so does one that a rule takes away.
func TestBudgetByRule(t *testing.T) {
	w := newWorld(frontier.Config[*job]{})
	const host = "xn--bcher-kva.example"
	w.send(0, record{id: 1, slot: host}, record{id: 2, slot: host}, record{id: 3, slot: host})
	first, second := w.take(t), w.take(t)
	if err := w.Spend(first); err != nil || w.IsShort(first) || w.Starves(first) || w.IsSpent(host) {
		t.Errorf("a slot without a budget has no pages left: %v", err)
	}
	w.SetRule(host, frontier.Rule{Pages: 1})
	if err := w.Spend(first); err != nil || !w.IsSpent(host) || w.Spend(second) != frontier.ErrSpent {
		t.Errorf("the budget of the rule is not looked at: %v", err)
	}
	w.SetRule(host, frontier.Rule{})
	if err := w.Spend(second); err != nil || w.IsSpent(host) {
		t.Errorf("the budget stays: %v", err)
	}
	w.SetRule("Other.Example", frontier.Rule{Pages: 1})
	w.send(0, record{id: 4, slot: "other.example"})
	w.finish(t, w.take(t))
	j := w.take(t)
	if err := w.Spend(j); err != nil || !w.IsSpent(j.slot) {
		t.Errorf("another spelling has no rule: %v", err)
	}
}
