package cache

// heap is a binary heap; only its top is ever taken.
type heap[E any] struct {
	s    []E
	less func(a, b E) bool
}

func (h *heap[E]) push(e E) {
	h.s = append(h.s, e)
	i := len(h.s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !h.less(e, h.s[up]) {
			break
		}
		h.s[i] = h.s[up]
		i = up
	}
	h.s[i] = e
}

// pop removes and returns the top of a heap that is not empty.
func (h *heap[E]) pop() E {
	var zero E
	n := len(h.s) - 1
	top, e := h.s[0], h.s[n]
	h.s[n] = zero
	h.s = h.s[:n]
	i := 0
	for {
		down := 2*i + 1
		if down >= n {
			break
		}
		if right := down + 1; right < n && h.less(h.s[right], h.s[down]) {
			down = right
		}
		if !h.less(h.s[down], e) {
			break
		}
		h.s[i] = h.s[down]
		i = down
	}
	if n > 0 {
		h.s[i] = e
	}
	if cap(h.s) > 1024 && n < cap(h.s)/4 {
		h.s = append(make([]E, 0, cap(h.s)/2), h.s...)
	}
	return top
}
