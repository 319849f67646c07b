package page

import (
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

// Small copies cost nothing, of the others the largest counts once. What grow refuses does not count. It fails if a second copy
// of the same size counts again.
func TestCopies(t *testing.T) {
	var c copies
	held, full := int64(0), false
	refused := errors.New("refused")
	grow := func(n int64) error {
		if n > 0 && full {
			return refused
		}
		held += n
		return nil
	}
	const k = 1 << 10
	for _, step := range []struct{ from, to, want int64 }{
		{0, 256 * k, 0}, {0, 300 * k, 300 * k}, {0, 300 * k, 300 * k}, {0, 260 * k, 300 * k}, {300 * k, 500 * k, 500 * k}, {0, 700 * k, 700 * k},
	} {
		if err := c.grow(step.from, step.to, grow); err != nil || held != step.want {
			t.Fatalf("from %d to %d: %d bytes, %v, want %d", step.from, step.to, held, err, step.want)
		}
	}
	full = true
	if err := c.grow(0, 900*k, grow); err != refused {
		t.Fatal(err)
	}
	full = false
	if err := c.grow(0, 700*k, grow); err != nil || held != 700*k {
		t.Fatalf("after a refusal: %d bytes, %v", held, err)
	}
}

// granting is a run.
type granting struct {
	Run
	bounds Bounds
	held   int64
	refuse error
}

func (g *granting) Bounds() *Bounds { return &g.bounds }

func (g *granting) Grow(n int64) error {
	if n > 0 && g.refuse != nil {
		return g.refuse
	}
	g.held += n
	return nil
}

// host is a response in a run.
type host struct {
	Host
	run *granting
}

func (h host) Run() Run { return h.run }

// Of a list that shrinks and grows the largest size counts. It fails if what was refused, or what was counted before, counts again.
func TestLinkMemory(t *testing.T) {
	const k = 1 << 10
	full := errors.New("full")
	g := &granting{bounds: NewBounds(0, 0, 0, 1<<20)}
	m := &linkMemory{page: new(Page), host: host{run: g}}
	for _, step := range []struct {
		n      int64
		refuse error
		held   int64
	}{
		{300 * k, nil, 300 * k}, {-100 * k, nil, 300 * k}, {100 * k, nil, 300 * k}, {100 * k, full, 300 * k}, {0, full, 300 * k},
		{100 * k, nil, 400 * k}, {-400 * k, nil, 400 * k}, {400 * k, nil, 400 * k}, {k, nil, 401 * k},
	} {
		g.refuse = step.refuse
		err := m.Grow(step.n)
		if g.held != step.held {
			t.Fatalf("%+v: %d bytes are held, %v", step, g.held, err)
		}
		if refused := step.refuse != nil && step.n > 0; refused != errors.Is(err, full) || refused != errors.As(err, new(*selector.ParseError)) {
			t.Fatalf("%+v: %v", step, err)
		}
	}
}
