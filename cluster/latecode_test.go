package cluster

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// User code that is late has no effect on a job that workers share, whatever it does then, and its request runs again.
func TestLateCode(t *testing.T) {
	enginetest.LateCode(t, true, true, deep.Rounds(4, 1), func(t testing.TB) func() tegenaria.CacheInterface {
		models := models{newModel(location{suffixes: builtIn, servers: 1, partitions: 2})}
		return func() tegenaria.CacheInterface {
			w := &link{name: "job", patience: time.Minute, random: rand.New(rand.NewPCG(1, 1)), onDeath: func() {}}
			c, err := models.open(t.Context(), w, member{job: "job", worker: "own", ttl: 2 * time.Second}, 1)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			})
			return c
		}
	})
}
