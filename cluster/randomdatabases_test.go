package cluster_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/tegenaria/tegenaria/cluster"
)

var (
	databaseJobs     = flag.Int("jobs.postgres", 3, "jobs of TestRandomJobsOnPostgreSQL")
	databaseJobsFrom = flag.Uint64("jobs.postgres.from", 1, "the seed of the first of them")
)

// The jobs of TestRandomJobs have the same ends in PostgreSQL as on the model of it.
func TestRandomJobsOnPostgreSQL(t *testing.T) {
	dsns := servers(t, 3)
	places := make(chan struct{}, 3) // jobs at a time: each has up to twenty connections
	for i := range *databaseJobs {
		seed, job := *databaseJobsFrom+uint64(i), newJob()
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			places <- struct{}{}
			defer func() { <-places }()
			cluster.RandomJob(t, seed, job, dsns)
		})
	}
}
