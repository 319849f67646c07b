package links

import (
	"strings"
	"sync"
)

// maxCached is how many compiled expressions of a kind are kept.
const maxCached = 1024

// cache keeps what was compiled: handlers write their options where they use them, for each page
// anew.
type cache[T any] struct {
	mu   sync.Mutex // guards list
	list map[string]T
}

// get returns what compile makes of a text, or made of it before.
func (c *cache[T]) get(text string, compile func(string) T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.list[text]
	if !ok {
		v = compile(text)
		if c.list == nil || len(c.list) >= maxCached {
			c.list = make(map[string]T)
		}
		c.list[strings.Clone(text)] = v
	}
	return v
}
