package staging_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/staging"
)

// Random items are added, taken and discarded by several goroutines, with little memory: all that were taken come out, in their order,
// and the file is empty whenever nothing is in it.
func TestItems(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	for _, bound := range []int{0, 100, 1 << 20} {
		path := filepath.Join(t.TempDir(), "spool")
		var items staging.Items
		items.Reset(staging.Options{Bound: bound, Open: func() (staging.File, error) { return os.Create(path) }})
		var wg sync.WaitGroup
		for worker := range 4 {
			wg.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(worker)))
				for n := range 200 {
					id := fmt.Sprint(worker, ".", n)
					var want []string
					for i := range random.IntN(5) {
						item := fmt.Sprint(id, ".", i, ".", random.IntN(1_000_000))
						if err := items.Add(id, []byte(item)); err != nil {
							t.Error(err)
						}
						want = append(want, item)
					}
					if random.IntN(3) == 0 {
						items.Discard(id)
						continue
					}
					var got []string
					if err := items.Take([]string{id}, func(b []byte) error { got = append(got, string(b)); return nil }); err != nil || !slices.Equal(got, want) {
						t.Errorf("%q, %v; want %q", got, err, want)
					}
				}
			})
		}
		wg.Wait()
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			t.Errorf("bound %d: %d bytes are left in the file", bound, info.Size())
		}
		if used, err := items.Close(); err != nil || used != (bound == 0) && bound != 100 {
			t.Errorf("bound %d: Close: %v, %v", bound, used, err)
		}
	}
}

func Example() {
	var items staging.Items
	items.Reset(staging.Options{Bound: 1 << 20})
	items.Add("request 1", []byte("an item"))
	items.Add("request 2", []byte("of an attempt that runs again"))
	items.Discard("request 2")
	items.Take([]string{"request 1", "request 2"}, func(item []byte) error {
		fmt.Printf("%s\n", item)
		return nil
	})
	// Output: an item
}
