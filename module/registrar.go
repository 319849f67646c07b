package module

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Registrar holds the modules of kind M and chooses among them. M is the type that its owner wants
// to get back: an interface, or a pointer to a struct that embeds a [*Base]. It is safe for
// concurrent use. Make one with [NewRegistrar].
type Registrar[M Module] struct {
	turn atomic.Uint64 // the number of the last choice

	mu sync.RWMutex // guards the map; what a slice in it holds never changes
	of map[Type][]*entry[M]
}

type entry[M Module] struct {
	mid    MID
	module M
	chosen atomic.Uint64 // the turn in which it was last chosen
}

// NewRegistrar returns an empty registrar.
func NewRegistrar[M Module]() *Registrar[M] {
	return &Registrar[M]{of: make(map[Type][]*entry[M])}
}

// Register adds a module under its name. It returns false if the name is taken. nil, a name that is
// none and a module whose type is not that of its name ([CheckType]) are an
// [*IllegalParameterError].
func (r *Registrar[M]) Register(module M) (bool, error) {
	if isNil(module) {
		return false, &IllegalParameterError{Name: "module", Value: "nil", Why: "there is no module"}
	}
	mid := module.ID()
	parts, err := SplitMID(mid)
	if err != nil {
		return false, err
	}
	if !CheckType(parts.Type, module) {
		return false, &IllegalParameterError{Name: "module", Value: string(mid), Why: "is not the " + string(parts.Type) + " that its name says"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.of[parts.Type]
	if find(old, mid) >= 0 {
		return false, nil
	}
	r.of[parts.Type] = append(old, &entry[M]{mid: mid, module: module})
	return true, nil
}

// Unregister removes the module of that name and returns whether there was one. Code that got it before
// may go on using it. An invalid name is an [*IllegalParameterError].
func (r *Registrar[M]) Unregister(mid MID) (bool, error) {
	parts, err := SplitMID(mid)
	if err != nil {
		return false, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.of[parts.Type]
	i := find(old, mid)
	if i < 0 {
		return false, nil
	}
	r.of[parts.Type] = slices.Concat(old[:i], old[i+1:])
	return true, nil
}

func find[M Module](entries []*entry[M], mid MID) int {
	return slices.IndexFunc(entries, func(e *entry[M]) bool { return e.mid == mid })
}

// Get scores the modules of type t and returns the one with the smallest score; of several with
// the same, the one that was not chosen for the longest time. If there is none it is a
// [*NotFoundError], for a type that does not exist an [*IllegalParameterError].
func (r *Registrar[M]) Get(t Type) (M, error) {
	var best *entry[M]
	var least, turn uint64
	entries, err := r.entries(t)
	for _, e := range entries {
		calculate := e.module.ScoreCalculator()
		if calculate == nil {
			calculate = DefaultScore
		}
		score, chosen := calculate(e.module.Counts()), e.chosen.Load()
		e.module.SetScore(score)
		if best == nil || score < least || score == least && chosen < turn {
			best, least, turn = e, score, chosen
		}
	}
	if best == nil {
		var none M
		return none, err
	}
	best.chosen.Store(r.turn.Add(1))
	return best.module, nil
}

// GetAllByType returns the modules of type t in a map of its own; errors as for Get.
func (r *Registrar[M]) GetAllByType(t Type) (map[MID]M, error) {
	entries, err := r.entries(t)
	if err != nil {
		return nil, err
	}
	all := make(map[MID]M, len(entries))
	for _, e := range entries {
		all[e.mid] = e.module
	}
	return all, nil
}

// GetAll returns all modules in a map of its own, empty if there are none.
func (r *Registrar[M]) GetAll() map[MID]M {
	r.mu.RLock()
	defer r.mu.RUnlock()
	all := make(map[MID]M)
	for _, entries := range r.of {
		for _, e := range entries {
			all[e.mid] = e.module
		}
	}
	return all
}

// Clear removes all modules.
func (r *Registrar[M]) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.of)
}

// entries returns the modules of type t as they are now.
func (r *Registrar[M]) entries(t Type) ([]*entry[M], error) {
	r.mu.RLock()
	entries := r.of[t]
	r.mu.RUnlock()
	switch {
	case len(entries) > 0:
		return entries, nil
	case t.letter() == 0:
		return nil, illegalType(t)
	}
	return nil, &NotFoundError{Type: t}
}
