package module

import (
	"reflect"
	"time"
)

// Module is a worker that can be registered, counted and chosen. All its methods must be safe for
// concurrent use and must not block. Embed a [*Base] to get them.
type Module interface {
	// ID returns the module's name, always the same.
	ID() MID
	// Addr returns the address in the name, "" if there is none.
	Addr() string
	// Score returns what SetScore was last given, 0 before.
	Score() uint64
	// SetScore is called by the registrar whenever it has computed the score.
	SetScore(score uint64)
	// ScoreCalculator returns how this module is scored, nil for DefaultScore.
	ScoreCalculator() CalculateScore
	// CalledCount returns how often the module was called.
	CalledCount() uint64
	// AcceptedCount returns how many calls it accepted; others had wrong arguments or came at the
	// wrong time.
	AcceptedCount() uint64
	// CompletedCount returns how many accepted calls ended without an error.
	CompletedCount() uint64
	// HandlingNumber returns how many calls are running now.
	HandlingNumber() uint64
	// Counts returns all of these at once.
	Counts() Counts
	// Summary returns name and counts in the form that is shown to people.
	Summary() SummaryStruct
}

// Typed is an optional ability of a module that knows its type by itself, whatever its name says.
// [CheckType] relies on neither alone.
type Typed interface {
	Type() Type
}

// Counts is a snapshot of the counters of a module. A [*Base] that is not cleared meanwhile never
// shows more completed than accepted or more accepted than called.
type Counts struct {
	CalledCount    uint64
	AcceptedCount  uint64
	CompletedCount uint64
	HandlingNumber uint64
	// RecentFailures grows by one with each call that fails, and is halved by each call that
	// succeeds and by each FailureHalfLife that passes.
	RecentFailures float64
}

// SummaryStruct is what a module shows of itself.
type SummaryStruct struct {
	ID        MID    `json:"id"`
	Name      string `json:"name,omitempty"` // under which it is registered; "" for the default one
	Called    uint64 `json:"called"`
	Accepted  uint64 `json:"accepted"`
	Completed uint64 `json:"completed"`
	Handling  uint64 `json:"handling"`
	Extra     any    `json:"extra,omitempty"` // what is particular to this kind of module
}

// FailureHalfLife is the time in which one half of a module's recent failures is forgiven, so that
// a module that was avoided is tried again.
const FailureHalfLife = 30 * time.Second

// CalculateScore turns counts into a score. The module with the smallest score is chosen next. It
// must be safe for concurrent use.
type CalculateScore func(counts Counts) uint64

// DefaultScore counts 16 for each running call and 64 for each recent failure. An idle module that
// works has 0, which nothing beats; one that fails at once, and so is always idle, gets worse with
// each call.
func DefaultScore(counts Counts) uint64 {
	return counts.HandlingNumber*16 + uint64(counts.RecentFailures*64)
}

// SimpleScore is called + 2·accepted + 4·completed + 16·running. It evens out the number of calls
// over the whole life of the modules; as a failed call counts less than a good one, it prefers
// modules that fail.
func SimpleScore(counts Counts) uint64 {
	return counts.CalledCount + counts.AcceptedCount<<1 + counts.CompletedCount<<2 + counts.HandlingNumber<<4
}

// CheckType reports whether m is a module of type t: by its name and, if it is [Typed], by its own
// word. It is false for nil and for a type or name that does not exist.
func CheckType(t Type, m Module) bool {
	if t.letter() == 0 || isNil(m) {
		return false
	}
	if parts, err := SplitMID(m.ID()); err != nil || parts.Type != t {
		return false
	}
	typed, ok := m.(Typed)
	return !ok || typed.Type() == t
}

// isNil reports whether there is no module in m, also for a nil pointer of some type.
func isNil(m Module) bool {
	if m == nil {
		return true
	}
	v := reflect.ValueOf(m)
	switch v.Kind() {
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Func, reflect.Chan:
		return v.IsNil()
	}
	return false
}
