package cluster_test

import (
	"testing"

	"github.com/tegenaria/tegenaria/cluster"
)

// The plans of TestRandomJobs come to the same ends in PostgreSQL as on the model of it. -jobs.postgres says how many,
// -jobs.from which ones.
func TestRandomJobsOnPostgreSQL(t *testing.T) { cluster.RandomJobs(t, servers(t, 3), newJob) }
