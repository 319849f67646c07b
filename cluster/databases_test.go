package cluster

import (
	"context"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/pgretry"
)

var databaseJobs = flag.Int("jobs.postgres", 3, "jobs of TestRandomJobsOnPostgreSQL")

// RandomJobs runs the plans of TestRandomJobs in databases, twice as fast, some of them at a time.
func RandomJobs(t *testing.T, dsns []string, newJob func() string) {
	var taking sync.Mutex
	places := make(chan struct{}, 4) // each for the connections of a job on one server; the others take two
	for i := range *databaseJobs {
		seed, job := *firstJob+uint64(i), newJob()
		t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			t.Parallel()
			p := newPlan(t, seed)
			p.job, p.real = job, true
			p.hasten(2)
			takes := min(p.servers, 2)
			taking.Lock()
			for range takes {
				places <- struct{}{}
			}
			taking.Unlock()
			defer func() {
				for range takes {
					<-places
				}
			}()
			p.began = time.Now()
			p.runInDatabases(dsns[:p.servers])
			if p.Failed() {
				p.Logf("again: go test ./cluster -run TestRandomJobsOnPostgreSQL -args -postgres DIR -jobs.postgres 1 -jobs.from %d", seed)
			}
		})
	}
}

func (p *plan) runInDatabases(dsns []string) {
	all := &databases{plan: p, dsn: strings.Join(dsns, ",")}
	for _, dsn := range dsns {
		conn, err := pgx.Connect(p.Context(), dsn)
		if err != nil {
			p.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		all.conns = append(all.conns, conn)
	}
	p.run(all)
}

// databases are a backend in PostgreSQL.
type databases struct {
	plan *plan
	dsn  string

	mu      sync.Mutex  // guards the fields below
	conns   []*pgx.Conn // of the witness, by server
	resumed int         // how often the job went on after it was stopped, at most
}

func (all *databases) open(ctx context.Context, w *link, m member, lock int32) (*Cache, error) {
	configs, err := configsOf(all.dsn, m.job)
	if err != nil {
		return nil, err
	}
	line := &wire{link: w}
	line.alive, line.die = context.WithCancel(context.Background())
	cry := w.onDeath
	w.onDeath = func() {
		line.cut()
		cry()
	}
	for _, config := range configs {
		config.DialFunc = line.dial
	}
	s := &server{config: configs[0], member: m, location: location{suffixes: builtIn, servers: len(configs)}, patience: w.patience, lock: lock}
	if s, err = s.openServers(ctx, configs, all.plan.partitions); err != nil {
		return nil, err
	}
	c := newCache(ctx, &linkedServer{s, line, all}, s.member, s.location, Options{})
	for _, p := range s.peers {
		c.remotes = append(c.remotes, linkedPeer{p, line})
	}
	return c, nil
}

// query reads one row on a server. A job that nobody has opened has none: it reports whether there was one.
func (all *databases) query(server int, sql string, args, into []any) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	ctx := context.Background() // the witness sees the job to its end
	err := all.conns[server].QueryRow(ctx, all.in(sql), append([]any{unprepared}, args...)...).Scan(into...)
	if err != nil && !pgretry.IsCode(err, "42P01", "3F000") {
		all.plan.Errorf("reading what is stored: %v", err)
	}
	return err == nil
}

// in names the schema of the job in a statement.
func (all *databases) in(sql string) string {
	return strings.ReplaceAll(sql, "JOB.", pgx.Identifier{all.plan.job}.Sanitize()+".")
}

// stopped returns why the job was stopped, "" if it was not.
func (all *databases) stopped() (reason string) {
	all.query(0, `SELECT coalesce(stopped, '') FROM JOB.job`, nil, []any{&reason})
	return reason
}

// began notes whether a session that has begun has the job go on after it was stopped.
func (all *databases) began(stopped string) {
	if stopped != "" && all.stopped() == "" {
		all.mu.Lock()
		defer all.mu.Unlock()
		all.resumed++
	}
}

func (all *databases) isOver() (over bool) {
	all.query(0, `SELECT finished IS NOT NULL OR stopped IS NOT NULL FROM JOB.job`, nil, []any{&over})
	return over
}

func (all *databases) drain(worker string) bool {
	ctx := context.Background()
	j, err := Dial(ctx, all.dsn, all.plan.job)
	if err != nil { // nobody has opened it
		return false
	}
	defer func() { _ = j.Close() }()
	return j.Drain(ctx, worker) == nil
}

func (all *databases) see(s start) (saw seen) {
	var owner *int64
	all.query(s.server, `SELECT CASE WHEN $4 AND EXISTS (SELECT FROM JOB.host_lease AS t WHERE t.session = $1 AND t.partition = p.number AND t.owner <> 0 AND coalesce(p.owner, t.owner) = t.owner) THEN $1 ELSE p.owner END,
		EXISTS (SELECT FROM JOB.outcome WHERE url = $3 AND outcome = 'fetched') FROM JOB.partition AS p WHERE number = $2`,
		[]any{s.session, s.partition, s.url, s.inline}, []any{&owner, &saw.settled})
	if owner != nil {
		saw.owner = *owner
	}
	all.query(int(s.session)%len(all.conns), `SELECT EXISTS (SELECT FROM JOB.worker WHERE session = $1 AND NOT expired)`, []any{s.session}, []any{&saw.alive})
	return saw
}

// read also compares what the rows of the workers say about the sizes of the lists with what lies there.
func (all *databases) read() *tally {
	t := &tally{requests: make(map[tegenaria.Key]seenKey), outcomes: make(map[int64]modelOutcome), resumed: all.resumed}
	all.query(0, `SELECT started, coalesce(finished, ''), coalesce(stopped, '') FROM JOB.job`, nil, []any{&t.started, &t.finished, &t.stopped})
	for i := range all.conns {
		var queue, due, inbox, outbox, queued, delayed, messages int
		var fetched int64
		all.query(i, `SELECT (SELECT count(*) FROM JOB.queue), (SELECT count(*) FROM JOB.due), (SELECT count(*) FROM JOB.inbox), (SELECT count(*) FROM JOB.outbox),
			(SELECT coalesce(sum(queued), 0)::bigint FROM JOB.worker), (SELECT coalesce(sum(delayed), 0)::bigint FROM JOB.worker),
			(SELECT coalesce(sum(messages), 0)::bigint FROM JOB.worker) + (SELECT coalesce(sum(messages), 0)::bigint FROM JOB.peer),
			(SELECT coalesce(sum(value), 0)::bigint FROM JOB.counter WHERE name = $1)`,
			[]any{fetchedCounter}, []any{&queue, &due, &inbox, &outbox, &queued, &delayed, &messages, &fetched})
		t.waiting, t.messages, t.outgoing, t.fetched = t.waiting+queue+due, t.messages+inbox, t.outgoing+outbox, t.fetched+fetched
		if queue != queued || due != delayed || inbox+outbox != messages {
			t.violations = append(t.violations, fmt.Sprintf("on server %d the rows of the workers count %d queued, %d delayed, %d messages; there are %d, %d, %d in the inbox and %d in the outbox",
				i, queued, delayed, messages, queue, due, inbox, outbox))
		}
		var key []byte
		var seq int64
		var depth int
		var url, outcome string
		all.each(i, `SELECT key, seq, depth FROM JOB.request`, []any{&key, &seq, &depth}, func() { t.requests[tegenaria.Key(key)] = seenKey{seq, depth} })
		all.each(i, `SELECT key, seq, depth, url, outcome FROM JOB.outcome`, []any{&key, &seq, &depth, &url, &outcome}, func() {
			o := modelOutcome{key: tegenaria.Key(key), url: url, depth: depth, outcome: tegenaria.Failed}
			if outcome == tegenaria.Fetched.String() {
				o.outcome = tegenaria.Fetched
			}
			t.outcomes[seq] = o
		})
	}
	return t
}

// each reads rows on a server.
func (all *databases) each(server int, sql string, into []any, do func()) {
	rows, _ := all.conns[server].Query(context.Background(), all.in(sql), unprepared)
	_, err := pgx.ForEachRow(rows, into, func() error {
		do()
		return nil
	})
	if err != nil {
		all.plan.Errorf("reading what is stored: %v", err)
	}
}

// String says how the job is doing on each server.
func (all *databases) String() string {
	var b strings.Builder
	for i := range all.conns {
		var text string
		all.query(i, `SELECT concat_ws(', ', (SELECT j::text FROM JOB.job AS j), (SELECT 'workers ' || string_agg(w::text, ' ') FROM JOB.worker AS w),
			(SELECT 'partitions ' || string_agg(p::text, ' ') FROM JOB.partition AS p), (SELECT 'leases ' || string_agg(t::text, ' ') FROM JOB.host_lease AS t),
			(SELECT count(*) || ' wait' FROM JOB.queue), (SELECT count(*) || ' delayed' FROM JOB.due), (SELECT count(*) || ' messages' FROM JOB.inbox))`, nil, []any{&text})
		b.WriteString(text + "; ")
	}
	return b.String()
}
