package page

import (
	"errors"
	"testing"
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
