package cluster_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// A worker that takes over a job of many hosts takes its partitions one after the other: it has requests to hand out
// before it has read all hosts. A link to a host that it has not read yet waits in the inbox, and makes no second row
// of that host. The deep check measures a million hosts.
func TestManySlots(t *testing.T) {
	hosts := deep.Rounds(3000, 1_000_000)
	dsn := database(t)
	first, _ := begin(t, dsn, "many", cluster.Options{Partitions: 32})
	closed(t, first)
	fillSlots(t, dsn, hosts)
	base := heapAfterGC().HeapAlloc
	links := 0
	for _, name := range []string{"two", "three"} {
		taken, arrived := make(chan []tegenaria.SlotState, 100), make(chan int, 100)
		run := complete(tegenaria.SharedRun{
			Gain:   func(slots []tegenaria.SlotState, _ int64) { taken <- slots },
			Arrive: func(records []tegenaria.Record, _ []tegenaria.Verdict) { arrived <- len(records) },
		})
		started := time.Now()
		c, err := cluster.Open(t.Context(), dsn, "many", cluster.Options{Worker: name})
		if err != nil {
			t.Fatal(err)
		}
		c.Attach(run)
		if _, err := c.Begin(t.Context(), tegenaria.Job{Spider: "spider", KeyVersion: 1}); err != nil {
			t.Fatal(err)
		}
		pending, slot := 0, ""
		for s, err := range c.Slots(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			pending, slot = pending+s.Pending, s.Name
		}
		if records, _, err := c.Next(t.Context(), slot, 1); err != nil || len(records) != 1 {
			t.Fatal(records, err)
		}
		firstRequest := time.Since(started)
		if pending >= hosts+links {
			t.Errorf("Begin has taken all %d requests", pending)
		}
		waiting := 0
		for i := range hosts / 100 {
			rec := record(fmt.Sprint(name, i))
			rec.Slot = hostName(i)
			verdicts, err := c.Accept(t.Context(), []tegenaria.Record{rec})
			if err != nil {
				t.Fatal(err)
			}
			if verdicts[0] == tegenaria.VerdictHandedOn {
				waiting++
			}
		}
		if waiting == 0 {
			t.Error("no link has to wait for its host")
		}
		joined := time.Now()
		c.Join()
		for want := hosts + links; pending < want; {
			for _, s := range <-taken {
				pending += s.Pending
			}
		}
		all := firstRequest + time.Since(joined)
		links += hosts / 100
		for waiting > 0 {
			waiting -= <-arrived
		}
		m := heapAfterGC()
		t.Logf("%s: the first request after %v, all of %d hosts after %v; %d MiB more in use, %d MiB from the system", name, firstRequest.Round(time.Millisecond), hosts, all.Round(time.Millisecond),
			(int64(m.HeapAlloc)-int64(base))>>20, m.Sys>>20)
		closed(t, c)
		if got, want := read(t, connect(t, dsn), `SELECT count(*) || ' ' || count(DISTINCT name) || ' ' || (SELECT count(*) FROM many.queue) FROM many.slot`), fmt.Sprint(hosts, " ", hosts, " ", hosts+links); got != want {
			t.Errorf("slots, names, requests: %s, want %s", got, want)
		}
		wantCounted(t, dsn, "many")
	}
}

func hostName(i int) string { return fmt.Sprintf("host-%07d.example", i) }

// heapAfterGC returns the state of the memory when nothing unused is left in it.
func heapAfterGC() (m runtime.MemStats) {
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m
}

// fillSlots stores so many hosts, with a request each, in the job "many".
func fillSlots(t *testing.T, dsn string, hosts int) {
	t.Helper()
	conn := connect(t, dsn)
	i := -1
	_, err := conn.CopyFrom(context.Background(), pgx.Identifier{"many", "slot"}, []string{"id", "partition", "name", "delay", "penalty", "throttle", "pages"}, pgx.CopyFromFunc(func() ([]any, error) {
		if i++; i == hosts {
			return nil, nil
		}
		name := hostName(i)
		return []any{int64(i + 1), int32(cluster.PartitionOf(name, 32)), []byte(name), int64(0), int64(0), int64(0), int64(0)}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	run(t, conn, `INSERT INTO many.queue SELECT id, -1, id, id, decode(lpad(to_hex(id), 32, '0'), 'hex'), 0, 0, convert_to(rpad(id::text, 150), 'UTF8') FROM many.slot`)
	run(t, conn, `INSERT INTO many.request SELECT key, seq, 1 FROM many.queue`)
	run(t, conn, `UPDATE many.worker SET queued = queued + (SELECT count(*) FROM many.queue)`)
}
