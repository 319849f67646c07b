package cluster_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// notes are the lines that a worker has in its log.
type notes struct {
	mu    sync.Mutex // guards the field below
	lines []string
	came  chan struct{} // holds a token when there are new lines
}

func newNotes() *notes { return &notes{came: make(chan struct{}, 1)} }

// log is for SharedRun.Log. The fields of a line are behind it.
func (n *notes) log(warn bool, message string, numbers map[string]any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	level := "info"
	if warn {
		level = "warn"
	}
	n.lines = append(n.lines, fmt.Sprint(level, ": ", message, " ", numbers))
	select {
	case n.came <- struct{}{}:
	default:
	}
}

// await waits for a line and returns what the parentheses of the pattern match in it.
func (n *notes) await(pattern string) []string {
	for {
		n.mu.Lock()
		for _, line := range n.lines {
			if found := regexp.MustCompile(pattern).FindStringSubmatch(line); found != nil {
				n.mu.Unlock()
				return found[1:]
			}
		}
		n.mu.Unlock()
		<-n.came
	}
}

// all returns all lines.
func (n *notes) all() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.lines, "\n")
}

// A worker says in its log who has joined, ended or died, and how many hosts and requests have moved for that: a line
// each, however many hosts these are.
func TestLogOfOthers(t *testing.T) {
	dsn := database(t)
	firsts, seconds := newNotes(), newNotes()
	first := join(t, dsn, "told", "one", tegenaria.SharedRun{Log: firsts.log})
	const hosts = 40
	var records []tegenaria.Record
	for i := range hosts {
		rec := record(fmt.Sprint("request", i))
		rec.Slot = fmt.Sprint("host", i, ".example")
		records = append(records, rec)
	}
	if _, err := first.Accept(t.Context(), records); err != nil {
		t.Fatal(err)
	}
	if err := first.Settle(t.Context(), tegenaria.Batch{Counters: map[string]int64{"settled": 3}}); err != nil {
		t.Fatal(err)
	}
	second := join(t, dsn, "told", "two", tegenaria.SharedRun{Log: seconds.log})
	firsts.await(`^info: joined the job: worker two; 2 workers at work map\[count:1 workers:2\]`)
	released := firsts.await(`^info: gave away (\d+) hosts with (\d+) requests waiting to other workers map\[hosts:\d+ waiting:\d+\]`)
	if n, _ := strconv.Atoi(released[0]); n == 0 || n == hosts || released[1] != released[0] {
		t.Errorf("%s hosts with %s requests went to the second worker", released[0], released[1])
	}
	awaitRow(t, dsn, `SELECT count(DISTINCT owner)::text || count(owner) FROM told.partition`, "28")
	counts, err := second.JobCounts(t.Context())
	if err != nil || counts.Programs != 2 || counts.Waiting != hosts || counts.Counters["settled"] != 3 {
		t.Errorf("the job has %+v, %v; want 2 programs, %d waiting, 3 settled", counts, err, hosts)
	}
	if err := first.Freeze(t.Context(), `DELETE FROM told.queue`); err != nil {
		t.Fatal(err)
	}
	seconds.await(`^warn: worker one was not heard of for \S+s: it is taken for dead, and others take its hosts over; 1 worker at work map\[seconds:[\d.]+ worker:one workers:1\]`)
	taken := 0
	for _, from := range []string{"", " from one"} {
		moved := seconds.await(`^info: took over (\d+) hosts with \d+ requests waiting` + from + ` map`)
		n, _ := strconv.Atoi(moved[0])
		taken += n
	}
	if taken != hosts {
		t.Errorf("%d hosts were taken over, want %d:\n%s", taken, hosts, seconds.all())
	}
	first.Thaw()
	_ = first.Close() // it is not at work any more, and has nothing to write
	third := join(t, dsn, "told", "three", tegenaria.SharedRun{})
	seconds.await(`^info: joined the job: worker three; 2 workers at work`)
	closed(t, third)
	seconds.await(`worker three\b.*1 worker at work`)
	closed(t, second)
	if n := strings.Count(seconds.all(), " hosts with "); n > 4 { // there and back, for three workers
		t.Errorf("%d lines about hosts:\n%s", n, seconds.all())
	}
}

// A worker says in its log that the database does not answer, and that it answers again.
func TestLogOfDatabaseAway(t *testing.T) {
	dsn, all := database(t), newNotes()
	c := join(t, dsn, "mute", "one", tegenaria.SharedRun{Log: all.log})
	server := pgtest.Get(t)
	if err := server.Stop(); err != nil {
		t.Fatal(err)
	}
	all.await(`^warn: the database has not answered for \d+(\.\d+)?m?s.*: the crawl waits for it map\[seconds:[\d.]+\]`)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	all.await(`^info: the database answers again, after [\d.]+m?s map\[seconds:[\d.]+\]`)
	closed(t, c)
}
