package commit_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria/internal/commit"
)

// register keeps values, and notes at which version each has changed.
type register struct {
	key     string
	values  map[string]string
	changed map[string]uint64
	version uint64
	fails   error
}

func (r *register) set(name, value string) {
	r.version++
	if r.values == nil {
		r.values, r.changed = make(map[string]string), make(map[string]uint64)
	}
	r.values[name], r.changed[name] = value, r.version
}

func (r *register) StateKey() string { return r.key }

func (r *register) RestoreState(state map[string][]byte) error {
	for name, value := range state {
		r.set(name, string(value))
	}
	return r.fails
}

func (r *register) ChangedState(since uint64) (map[string][]byte, uint64, error) {
	if r.fails != nil {
		return nil, 0, r.fails
	}
	state := make(map[string][]byte)
	for name, at := range r.changed {
		if at > since {
			state[name] = []byte(r.values[name])
		}
	}
	return state, r.version, nil
}

// What keepers have is stored once for each change, and comes back to the one that it is of, also where two have one key.
func TestKeepers(t *testing.T) {
	a, b, c := &register{key: "one"}, &register{key: "one"}, &register{key: "two"}
	keepers := commit.KeepersOf([]any{a, "no keeper", b, c})
	job := make(map[string][]byte)
	stored := func() (keys []string) {
		t.Helper()
		if err := keepers.Changed(func(key string, checkpoint []byte) { keys, job[key] = append(keys, key), checkpoint }); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	a.set("x", "1")
	b.set("x", "2")
	b.set("y", "3")
	if got := stored(); len(got) != 3 {
		t.Errorf("stored %q", got)
	}
	b.set("y", "4")
	c.set("x", "5")
	if got := stored(); len(got) != 2 {
		t.Errorf("stored %q", got)
	}
	if got := stored(); len(got) != 0 {
		t.Errorf("stored %q although nothing has changed", got)
	}
	again := []any{&register{key: "one"}, &register{key: "one"}, &register{key: "two"}}
	job["feed:x"] = []byte("of a committer")
	var opened int
	err := commit.KeepersOf(again).Restore(job, func(_ any, code func() error) error { opened++; return code() })
	if err != nil || opened != 3 {
		t.Errorf("%d were restored: %v", opened, err)
	}
	for i, want := range []*register{a, b, c} {
		if got := again[i].(*register); !maps.Equal(got.values, want.values) {
			t.Errorf("keeper %d has %v, want %v", i, got.values, want.values)
		}
	}
}

// An error ends the run, and says whose it is; what panics is an error.
func TestKeepersFail(t *testing.T) {
	broken := &register{key: "one", fails: errors.New("broken")}
	keepers := commit.KeepersOf([]any{broken})
	if err := keepers.Restore(nil, func(_ any, code func() error) error { return code() }); !errors.Is(err, broken.fails) {
		t.Errorf("Restore: %v", err)
	}
	if err := keepers.Changed(func(string, []byte) {}); !errors.Is(err, broken.fails) {
		t.Errorf("Changed: %v", err)
	}
	panics := commit.KeepersOf([]any{panicking{}})
	if err := panics.Changed(func(string, []byte) {}); err == nil {
		t.Error("a panic is no error")
	}
}

type panicking struct{}

func (panicking) StateKey() string                                       { return "panics" }
func (panicking) RestoreState(map[string][]byte) error                   { return nil }
func (panicking) ChangedState(uint64) (map[string][]byte, uint64, error) { panic("lost") }

// A keeper keeps a state of any number of values: for each run of a durable job the engine restores it, and stores what has changed with
// each batch of requests.
func ExampleKeepers() {
	login := &register{key: "login"}
	keepers := commit.KeepersOf([]any{login})
	login.set("a.example", "session=1")
	var stored []string
	_ = keepers.Changed(func(key string, checkpoint []byte) { stored = append(stored, fmt.Sprintf("%s = %s", key, checkpoint)) })
	slices.Sort(stored)
	fmt.Println(stored)
	// Output: [tegenaria/state/login/1/a.example = session=1]
}
