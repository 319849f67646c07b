package cache

import (
	"iter"
	"slices"
	"unsafe"
)

// line is the queue of one slot: a chain for each priority. Most slots have one priority, so the
// best chain lies in the line itself.
type line struct {
	slot   string
	top    chain
	others *others // nil while there is one chain
	bytes  int64   // that it holds, as Queue.Bytes counts them
}

// others are the chains below the top one.
type others struct {
	heap  heap[*chain]
	index map[int]*chain // nil while there are few
	n     int            // entries in all of them
}

// few is how many chains are searched one by one.
const few = 8

// chainCost estimates what a chain beside the top one costs: itself, its places in heap and index.
const chainCost = int64(unsafe.Sizeof(chain{})) + 8 + 32

func (l *line) len() int {
	if l.others == nil {
		return l.top.n
	}
	return l.top.n + l.others.n
}

// push appends an entry and returns by how many bytes the line grew.
func (l *line) push(priority int, data []byte) (grown int64) {
	if priority == l.top.priority {
		return l.top.push(data)
	}
	if l.others == nil {
		l.others = &others{heap: heap[*chain]{less: func(a, b *chain) bool { return a.priority > b.priority }}}
	}
	o := l.others
	if priority > l.top.priority {
		// The top steps down. Its priority cannot be among the others.
		old := l.top
		o.add(&old)
		o.n += old.n
		l.top = chain{priority: priority}
		return l.top.push(data) + chainCost
	}
	c := o.find(priority)
	if c == nil {
		c = &chain{priority: priority}
		o.add(c)
		grown = chainCost
	}
	o.n++
	return grown + c.push(data)
}

// pop takes the first entry of the top chain and returns by how many bytes the line shrank. The
// entry is valid until the next push. A line is empty when its top chain is.
func (l *line) pop() (data []byte, freed int64) {
	data, freed = l.top.pop()
	if l.top.n == 0 && l.others != nil {
		c := l.others.take()
		l.others.n -= c.n
		l.top = *c
		freed += chainCost
		if len(l.others.heap.s) == 0 {
			l.others = nil
		}
	}
	return data, freed
}

// chains iterates over the chains, the highest priority first.
func (l *line) chains() iter.Seq[*chain] {
	return func(yield func(*chain) bool) {
		if !yield(&l.top) || l.others == nil {
			return
		}
		rest := slices.SortedFunc(slices.Values(l.others.heap.s), func(a, b *chain) int {
			if a.priority > b.priority {
				return -1
			}
			return 1
		})
		for _, c := range rest {
			if !yield(c) {
				return
			}
		}
	}
}

func (o *others) find(priority int) *chain {
	if o.index != nil {
		return o.index[priority]
	}
	for _, c := range o.heap.s {
		if c.priority == priority {
			return c
		}
	}
	return nil
}

func (o *others) add(c *chain) {
	o.heap.push(c)
	if o.index != nil {
		o.index[c.priority] = c
		return
	}
	if len(o.heap.s) > few {
		o.index = make(map[int]*chain, 2*few)
		for _, c := range o.heap.s {
			o.index[c.priority] = c
		}
	}
}

// take removes the chain of the highest priority.
func (o *others) take() *chain {
	c := o.heap.pop()
	if o.index != nil {
		delete(o.index, c.priority)
		if len(o.heap.s) <= few/2 {
			o.index = nil
		}
	}
	return c
}
