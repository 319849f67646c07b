package buffer

// fifo is the store of a pool: a chain of slices of one size, filled at the tail and emptied at
// the head. Values never move, so each step takes constant time however large the pool has grown.
//
// As the first chunk may be half emptied and the last one half filled, values that would fit into
// k buffers can lie in k+1 chunks; so one chunk more than there are buffers is kept.
type fifo[T any] struct {
	size       int       // values per chunk
	head, tail *chunk[T] // never nil
	first, end int       // index of the oldest value in head, of the next free place in tail
	n          int       // values held
	spare      *chunk[T] // empty chunks for reuse
	chunks     int       // allocated: in the chain and spare
}

type chunk[T any] struct {
	values []T
	next   *chunk[T]
}

func (f *fifo[T]) init(size int) {
	f.size = size
	f.head = f.chunk()
	f.tail = f.head
}

// chunk returns an empty chunk.
func (f *fifo[T]) chunk() *chunk[T] {
	c := f.spare
	if c == nil {
		f.chunks++
		return &chunk[T]{values: make([]T, f.size)}
	}
	f.spare, c.next = c.next, nil
	return c
}

// push adds the newest value. The caller counts the room.
func (f *fifo[T]) push(v T) {
	if f.end == f.size {
		c := f.chunk()
		f.tail.next = c
		f.tail, f.end = c, 0
	}
	f.tail.values[f.end] = v
	f.end++
	f.n++
}

// pop takes the oldest value; there must be one.
func (f *fifo[T]) pop() T {
	var zero T
	v := f.head.values[f.first]
	f.head.values[f.first] = zero
	f.first++
	f.n--
	if f.n == 0 {
		// The last value lay in the tail, so head is tail and can start again at its front.
		f.first, f.end = 0, 0
	} else if f.first == f.size {
		c := f.head
		f.head, f.first = c.next, 0
		c.next, f.spare = f.spare, c
	}
	return v
}

// trim is called when the number of buffers has fallen by one, to the given one, and drops the
// chunk that is too many then. Nothing else can be: a chunk is made only when all are in use.
func (f *fifo[T]) trim(buffers int) {
	if f.chunks > buffers+1 && f.spare != nil {
		f.spare = f.spare.next
		f.chunks--
	}
}
