//go:build unix

package cluster_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
)

// cpuTime is what this process has used of the processors.
func cpuTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// serverTime is what the processes of this server's folder have used of the processors, 0 where that is not known. The
// system counts in hundredths of a second.
func serverTime(pids []string) (total time.Duration) {
	for _, pid := range pids {
		text, err := os.ReadFile("/proc/" + pid + "/stat")
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		for _, field := range fields[11:13] {
			var ticks int64
			_, _ = fmt.Sscan(field, &ticks)
			total += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return total
}

// BenchmarkPages drives a cache as a crawl of 2,000 hosts does, without downloads: 16 goroutines take pages with 20
// links each, of which 30 in 100 are known, and settle 50 pages at a time. An operation is a page.
func BenchmarkPages(b *testing.B) {
	const hosts, links, batch, workers = 2000, 20, 50, 16
	dsn := database(b)
	c, _ := begin(b, dsn, newJob(), cluster.Options{})
	defer closed(b, c)
	admin := connect(b, dsn)
	pids := strings.Fields(read(b, admin, "SELECT string_agg(pid::text, ' ') FROM pg_stat_activity"))
	host := func(n uint64) string { return fmt.Sprintf("www.host-%04d.example", n%hosts) }
	link := func(n uint64) tegenaria.Record {
		rng := rand.New(rand.NewPCG(n, 3))
		rec := tegenaria.Record{Depth: 3, Slot: host(rng.Uint64()), Data: fmt.Appendf(nil, "https://%s/%064d", host(n), n)}
		binary.BigEndian.PutUint64(rec.Key[:], rng.Uint64())
		binary.BigEndian.PutUint64(rec.Key[8:], rng.Uint64())
		return rec
	}
	var mu sync.Mutex
	rng, urls, at := rand.New(rand.NewPCG(4, 5)), uint64(0), uint64(0)
	discover := func(n int, known float64) (records []tegenaria.Record) {
		mu.Lock()
		defer mu.Unlock()
		for range n {
			i := urls
			if rng.Float64() < known {
				i = rng.Uint64N(urls)
			} else {
				urls++
			}
			records = append(records, link(i))
		}
		return records
	}
	if _, err := c.Accept(b.Context(), discover(2*hosts, 0)); err != nil {
		b.Fatal(err)
	}
	ended := make(chan tegenaria.Settled, 4*batch)
	var settling, working sync.WaitGroup
	settling.Go(func() {
		for open := true; open; {
			var settled []tegenaria.Settled
			for open && len(settled) < batch {
				var s tegenaria.Settled
				if s, open = <-ended; open {
					settled = append(settled, s)
				}
			}
			if err := c.Settle(b.Context(), tegenaria.Batch{Settled: settled}); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportAllocs()
	b.ResetTimer()
	cpu, server := cpuTime(b), serverTime(pids)
	left := b.N
	for range workers {
		working.Go(func() {
			for {
				mu.Lock()
				left--
				at++
				mine, slot := left >= 0, host(at)
				mu.Unlock()
				if !mine {
					return
				}
				records, _, err := c.Next(b.Context(), slot, 1)
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := c.Accept(b.Context(), discover(links, 0.3)); err != nil {
					b.Error(err)
					return
				}
				for _, rec := range records {
					ended <- tegenaria.Settled{Record: rec, Outcome: tegenaria.Fetched, Status: 200, At: time.Now()}
				}
			}
		})
	}
	working.Wait()
	close(ended)
	settling.Wait()
	pages := float64(b.N)
	b.ReportMetric(pages/b.Elapsed().Seconds(), "pages/s")
	b.ReportMetric(links*pages/b.Elapsed().Seconds(), "links/s")
	b.ReportMetric(float64((cpuTime(b)-cpu).Microseconds())/pages, "cpu-µs/page")
	b.ReportMetric(float64((serverTime(pids)-server).Microseconds())/pages, "server-µs/page")
}
