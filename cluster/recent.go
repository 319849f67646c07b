package cluster

import "github.com/tegenaria/tegenaria"

// recentKeys is how many keys each of the two halves of recent holds.
const recentKeys = 1 << 17

// recent remembers keys that the database has, with the smallest depth that is known of each. What was used longest ago is forgotten first,
// half of it at a time.
type recent struct {
	young, old map[tegenaria.Key]int32
}

// depth returns the depth of a key, if it is remembered.
func (r *recent) depth(key tegenaria.Key) (depth int, ok bool) {
	d, ok := r.young[key]
	if !ok {
		if d, ok = r.old[key]; ok {
			r.add(key, int(d))
		}
	}
	return int(d), ok
}

// add remembers a key.
func (r *recent) add(key tegenaria.Key, depth int) {
	if len(r.young) >= recentKeys || r.young == nil {
		r.young, r.old = make(map[tegenaria.Key]int32), r.young
	}
	r.young[key] = depthOf(depth)
}
