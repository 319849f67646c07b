package cluster

import "github.com/tegenaria/tegenaria"

// recentKeys is how many keys each of the two halves of recent holds.
const recentKeys = 1 << 17

// recent remembers keys that the database has, accepted or forwarded, with the smallest depth that is known of each.
// What was used longest ago is forgotten first, half of it at a time.
type recent struct {
	young, old map[tegenaria.Key]remembered
}

// remembered is what is remembered of a key.
type remembered struct {
	depth    int32
	accepted bool // otherwise it was forwarded, and may still be in an inbox
}

// lookUp returns what is remembered of a key, if it is.
func (r *recent) lookUp(key tegenaria.Key) (k remembered, ok bool) {
	k, ok = r.young[key]
	if !ok {
		if k, ok = r.old[key]; ok {
			r.put(key, k)
		}
	}
	return k, ok
}

// add remembers a key.
func (r *recent) add(key tegenaria.Key, depth int, accepted bool) {
	before, _ := r.lookUp(key)
	r.put(key, remembered{depthOf(depth), accepted || before.accepted})
}

func (r *recent) put(key tegenaria.Key, k remembered) {
	if len(r.young) >= recentKeys || r.young == nil {
		r.young, r.old = make(map[tegenaria.Key]remembered), r.young
	}
	r.young[key] = k
}
