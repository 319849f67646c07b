package dashboard

import (
	"slices"
	"sync"
	"time"
)

// maxChanges is how many changes are kept.
const maxChanges = 50

// Change is something that users of a [Board] have changed, in the answer of GET /api/v1/changes.
type Change struct {
	At   time.Time `json:"at"`
	What string    `json:"what"` // in words: "paused"
}

// changes are the last ones. They may be used concurrently.
type changes struct {
	mu   sync.Mutex // guards list
	list []Change   // the newest last
}

func (c *changes) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == maxChanges {
		c.list = slices.Delete(c.list, 0, 1)
	}
	c.list = append(c.list, Change{time.Now(), what})
}

// newest returns the changes, the newest first.
func (c *changes) newest() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := append([]Change{}, c.list...)
	slices.Reverse(list)
	return list
}
