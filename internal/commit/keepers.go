package commit

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/internal/guard"
)

// Keeper is the StateKeeper of package tegenaria, which says what its methods do.
type Keeper interface {
	StateKey() string
	RestoreState(state map[string][]byte) error
	ChangedState(since uint64) (state map[string][]byte, version uint64, err error)
}

// Keepers are the keepers of a run. The methods must not be called concurrently.
type Keepers []keeper

// keeper is one of them, and what of it is stored.
type keeper struct {
	Keeper
	prefix  string // of its checkpoints
	version uint64
}

// KeepersOf finds the keepers among the parts of a run. Those that have one key are told apart by their order.
func KeepersOf(parts []any) (ks Keepers) {
	taken := make(map[string]int)
	for _, part := range parts {
		if k, ok := part.(Keeper); ok {
			key := k.StateKey()
			taken[key]++
			ks = append(ks, keeper{Keeper: k, prefix: fmt.Sprintf("tegenaria/state/%s/%d/", key, taken[key])})
		}
	}
	return ks
}

// Restore gives the keepers what was stored, each by a call of opening, whose error it returns.
func (ks Keepers) Restore(stored map[string][]byte, opening func(part any, code func() error) error) error {
	for _, k := range ks {
		state := make(map[string][]byte)
		for name, value := range stored {
			if name, own := strings.CutPrefix(name, k.prefix); own {
				state[name] = value
			}
		}
		if err := opening(k.Keeper, func() error { return k.RestoreState(state) }); err != nil {
			return err
		}
	}
	return nil
}

// Changed calls add for each checkpoint of the keepers that has changed since the last call.
func (ks Keepers) Changed(add func(key string, checkpoint []byte)) error {
	for i := range ks {
		k := &ks[i]
		var state map[string][]byte
		version := k.version
		err := guard.Protect(func() (err error) {
			state, version, err = k.ChangedState(k.version)
			return err
		})
		if err != nil {
			return fmt.Errorf("the state of %T: %w", k.Keeper, err)
		}
		k.version = version
		for name, value := range state {
			add(k.prefix+name, value)
		}
	}
	return nil
}
