//go:build linux

package cluster_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

var (
	faultRuns  = flag.Int("faults", 0, "runs of TestFaultMatrix, in each of which every kind of fault happens once; 0: the test is skipped")
	faultSeed  = flag.Uint64("faults.seed", 1, "the seed of the first of them")
	faultPages = flag.Int("faults.pages", 10000, "pages of each of them")
	faulty     = flag.String("faulty", "", "crawl as this JSON says, and do nothing else: a worker of TestFaultMatrix")
)

const (
	faultTTL   = 3 * time.Second
	faultDelay = 2 * time.Second
	faultHosts = 200
	leastPause = 2 * time.Second // between two faults
)

// faultRun is a crawl of four workers to which faults happen.
type faultRun struct {
	*testing.T
	random           *rand.Rand
	web              *faultWeb
	primary, standby *pgtest.Server
	job              string
	workers          []*faultWorker
	disk             string // with the folder of the first worker, small
	databases        string // the disk with the database and its standby
	faults           []fault
}

// fault is one that has happened.
type fault struct {
	kind     string
	victim   string // the worker, "" is the database
	at, over time.Time
}

// faultWorker is a worker that is started again whenever it has ended before the job.
type faultWorker struct {
	*faultCrawl
	proxy *faultProxy

	mu      sync.Mutex // guards the fields below
	process *os.Process
	down    chan struct{} // closed when it may start
	stopped [][2]time.Time
	kills   int
	errs    []string // what it has said when it has ended with an error
}

// work starts the process again and again.
func (w *faultWorker) work(t *testing.T) {
	for t.Context().Err() == nil {
		w.mu.Lock()
		down := w.down
		w.mu.Unlock()
		<-down
		text, err := json.Marshal(w.faultCrawl)
		if err != nil {
			t.Error(err)
			return
		}
		out, err := os.OpenFile(w.File+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Error(err)
			return
		}
		program := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestFaultMatrix$", "-faulty", string(text))
		program.Env = append(program.Environ(), "TMPDIR="+filepath.Dir(w.File)) // not that of the databases
		var said bytes.Buffer
		program.Stdout, program.Stderr = io.MultiWriter(out, &said), io.MultiWriter(out, &said)
		w.mu.Lock()
		err = program.Start()
		w.process = program.Process
		w.mu.Unlock()
		if err == nil {
			err = program.Wait()
		}
		_ = out.Close()
		var exit *exec.ExitError
		switch {
		case err == nil:
			return
		case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
			w.kills++
		case strings.Contains(said.String(), "cluster: opening the job"): // it was started while the database was away
			pass(200 * time.Millisecond)
		default:
			w.errs = append(w.errs, said.String()[max(0, said.Len()-2000):])
			pass(200 * time.Millisecond) // as a service manager does
		}
	}
}

// signal sends a signal to the process.
func (w *faultWorker) signal(s syscall.Signal) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.process != nil {
		_ = w.process.Signal(s)
	}
}

// hold keeps the process from being started; the func that it returns ends that.
func (w *faultWorker) hold() (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = make(chan struct{})
	return func() { close(w.down) }
}

// freeze stops the process for a time.
func (w *faultWorker) freeze(d time.Duration) {
	began := time.Now()
	w.signal(syscall.SIGSTOP)
	<-time.After(d)
	w.signal(syscall.SIGCONT)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = append(w.stopped, [2]time.Time{began, time.Now()})
}

// wasFrozen reports whether what a worker asked for then may have been in flight while it stood still.
func (r *faultRun) wasFrozen(by string, at time.Time) bool {
	for _, w := range r.workers {
		for _, s := range w.stopped {
			if w.Options.Worker == by && at.After(s[0]) && at.Before(s[1].Add(time.Second)) {
				return true
			}
		}
	}
	return false
}

// faultKinds are what happens, each of which is told its victim. The victim is returned, which may be another one; nil
// is the database.
var faultKinds = map[string]func(r *faultRun, w *faultWorker) (*faultWorker, error){
	"kill":                        func(_ *faultRun, w *faultWorker) (*faultWorker, error) { w.signal(syscall.SIGKILL); return w, nil },
	"kill before commit":          func(r *faultRun, w *faultWorker) (*faultWorker, error) { return r.at(fence, false, killing, w) },
	"kill before answer":          func(r *faultRun, w *faultWorker) (*faultWorker, error) { return r.at(fence, true, killing, w) },
	"cut before commit":           func(r *faultRun, w *faultWorker) (*faultWorker, error) { return r.at(fence, false, cutting, w) },
	"cut after commit":            func(r *faultRun, w *faultWorker) (*faultWorker, error) { return r.at(fence, true, cutting, w) },
	"kill in takeover":            (*faultRun).killInTakeover,
	"kill in release":             (*faultRun).killInRelease,
	"stop 0.5 TTL":                func(_ *faultRun, w *faultWorker) (*faultWorker, error) { w.freeze(faultTTL / 2); return w, nil },
	"stop 1 TTL":                  func(_ *faultRun, w *faultWorker) (*faultWorker, error) { w.freeze(faultTTL); return w, nil },
	"stop 3 TTL":                  func(_ *faultRun, w *faultWorker) (*faultWorker, error) { w.freeze(3 * faultTTL); return w, nil },
	"database killed":             (*faultRun).killDatabase,
	"database stopped":            (*faultRun).stopDatabase,
	"standby promoted":            (*faultRun).promote,
	"rollback: backends ended":    (*faultRun).endBackends,
	"rollback: a trigger raises":  (*faultRun).raise,
	"stop 3 TTL in takeover":      (*faultRun).stopInTakeover,
	"full disk of a worker, kill": (*faultRun).fillDisk,
	"full disk of the database":   (*faultRun).fillDatabase,
}

// What messages of a worker have.
const (
	fence   = "WITH ours AS (UPDATE worker SET batch"
	gain    = "UPDATE partition SET owner = $1 WHERE number <> ALL"
	release = "UPDATE partition SET owner = NULL"
)

// harm is done to a worker at a certain moment.
type harm int

const (
	cutting  harm = iota // its connection is cut
	killing              // it is killed, and its connection is cut
	stopping             // it stands still, and its connection stays
)

// at waits for a moment of one of these workers, harms it then, and returns it.
func (r *faultRun) at(text string, answer bool, h harm, workers ...*faultWorker) (victim *faultWorker, err error) {
	var once sync.Once
	done := make(chan struct{}, len(workers))
	for _, w := range workers {
		w.proxy.arm(&moment{text: text, answer: answer, do: func() bool {
			once.Do(func() {
				switch victim = w; h {
				case killing:
					w.signal(syscall.SIGKILL)
				case stopping:
					w.signal(syscall.SIGSTOP)
				}
				done <- struct{}{}
			})
			return h != stopping
		}})
	}
	defer func() {
		for _, w := range workers {
			w.proxy.arm(nil)
		}
	}()
	select {
	case <-done:
		return victim, nil
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("none of %d workers has sent %q", len(workers), text)
	}
}

// others returns the workers but one.
func (r *faultRun) others(w *faultWorker) (others []*faultWorker) {
	for _, o := range r.workers {
		if o != w {
			others = append(others, o)
		}
	}
	return others
}

// killInTakeover kills a worker, and the first that takes its partitions over, between the statement and the commit.
func (r *faultRun) killInTakeover(w *faultWorker) (*faultWorker, error) {
	defer w.hold()()
	w.signal(syscall.SIGKILL)
	return r.at(gain, true, killing, r.others(w)...)
}

// stopInTakeover kills a worker, and stops the first that takes its partitions over, between the statement and the
// commit: its transaction holds the row of the job.
func (r *faultRun) stopInTakeover(w *faultWorker) (*faultWorker, error) {
	defer w.hold()()
	w.signal(syscall.SIGKILL)
	victim, err := r.at(gain, true, stopping, r.others(w)...)
	if err == nil {
		victim.freeze(3 * faultTTL)
	}
	return victim, err
}

// killInRelease kills a worker, starts it again when its partitions were taken over, and kills the first that releases
// some of them for it.
func (r *faultRun) killInRelease(w *faultWorker) (*faultWorker, error) {
	start := w.hold()
	w.signal(syscall.SIGKILL)
	<-time.After(3 * faultTTL)
	start()
	return r.at(release, r.random.IntN(2) == 0, killing, r.others(w)...)
}

func (r *faultRun) killDatabase(*faultWorker) (*faultWorker, error) {
	err := r.primary.Signal(syscall.SIGKILL)
	_ = r.primary.Crash() // there is nothing to end any more
	if err == nil {
		err = r.start()
	}
	return nil, err
}

// start starts the database again once its processes have ended.
func (r *faultRun) start() (err error) {
	for begin := time.Now(); time.Since(begin) < time.Minute; {
		if err = r.primary.Start(); err == nil {
			return nil
		}
	}
	return err
}

func (r *faultRun) stopDatabase(*faultWorker) (*faultWorker, error) {
	err := r.primary.Signal(syscall.SIGSTOP)
	<-time.After(faultTTL * time.Duration(1+r.random.IntN(3)) / 2)
	return nil, errors.Join(err, r.primary.Signal(syscall.SIGCONT))
}

// promote has the standby take the place of the database, which crashes, and makes another standby.
func (r *faultRun) promote(*faultWorker) (*faultWorker, error) {
	if err := errors.Join(r.primary.Crash(), r.standby.Promote()); err != nil {
		return nil, err
	}
	r.primary = r.standby
	socket, _ := socketOf(r.primary.DSN("postgres"))
	for _, w := range r.workers {
		w.proxy.lead(socket)
	}
	return nil, r.follow()
}

// follow makes a standby of the database, which commits nothing that the standby does not have.
func (r *faultRun) follow() (err error) {
	if r.standby, err = r.primary.StandBy(r.T); err != nil {
		return err
	}
	admin := connect(r.T, r.primary.DSN("postgres"))
	run(r.T, admin, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	run(r.T, admin, "SELECT pg_reload_conf()")
	for begin := time.Now(); read(r.T, admin, "SELECT count(*)::text FROM pg_stat_replication WHERE sync_state = 'sync'") != "1"; {
		if time.Since(begin) > time.Minute {
			return errors.New("the standby does not follow")
		}
	}
	return nil
}

func (r *faultRun) endBackends(w *faultWorker) (*faultWorker, error) {
	admin := connect(r.T, r.primary.DSN("postgres"))
	_, err := admin.Exec(r.Context(), "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", w.Options.Worker)
	return w, err
}

// raise has each commit that settles something fail for a moment.
func (r *faultRun) raise(*faultWorker) (*faultWorker, error) {
	admin := connect(r.T, r.primary.DSN("postgres"))
	for _, statement := range []string{
		`CREATE OR REPLACE FUNCTION public.raise() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'undone' USING ERRCODE = '40001'; END $$`,
		fmt.Sprintf(`CREATE CONSTRAINT TRIGGER raises AFTER INSERT ON %q.outcome DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION public.raise()`, r.job),
		`SELECT pg_sleep(1)`,
		fmt.Sprintf(`DROP TRIGGER raises ON %q.outcome`, r.job),
	} {
		if _, err := admin.Exec(r.Context(), statement); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// fillDisk fills the disk with the folder of the first worker, which is killed and cannot begin until there is room
// again.
func (r *faultRun) fillDisk(*faultWorker) (*faultWorker, error) {
	name := filepath.Join(r.disk, "full")
	err := os.WriteFile(name, make([]byte, 2<<20), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, fmt.Errorf("the disk is not full: %w", err)
	}
	<-time.After(time.Second)
	r.workers[0].signal(syscall.SIGKILL)
	<-time.After(2 * time.Second)
	return r.workers[0], os.Remove(name)
}

// fillDatabase fills the disk with the database and its standby. What has crashed for that is started again when there
// is room.
func (r *faultRun) fillDatabase(*faultWorker) (*faultWorker, error) {
	full, err := os.Create(filepath.Join(r.databases, "full"))
	if err != nil {
		return nil, err
	}
	for size := int64(0); err == nil; size += 1 << 20 {
		err = syscall.Fallocate(int(full.Fd()), 0, size, 1<<20)
	}
	if !errors.Is(err, syscall.ENOSPC) {
		return nil, fmt.Errorf("the disk is not full: %w", err)
	}
	<-time.After(faultTTL * time.Duration(1+r.random.IntN(3)) / 2)
	_ = full.Close()
	if err := os.Remove(full.Name()); err != nil {
		return nil, err
	}
	_, _ = r.standby.Crash(), r.primary.Crash()
	if err := r.start(); err != nil {
		return nil, err
	}
	return nil, r.follow()
}

// Every kind of fault happens to four workers and their database while they crawl. The web's log is the witness, see
// [faultRun.check].
func TestFaultMatrix(t *testing.T) {
	if *faulty != "" {
		var c faultCrawl
		if err := json.Unmarshal([]byte(*faulty), &c); err != nil {
			t.Fatal(err)
		}
		if err := c.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		return
	}
	if *faultRuns == 0 {
		t.Skip("it takes minutes; say how many with -faults N")
	}
	table := make(map[string][]faultResult)
	for i := range *faultRuns {
		seed := *faultSeed + uint64(i)
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := newFaultRun(t, seed)
			r.crawl()
			r.check(table)
		})
	}
	printFaults(t, table)
}

func newFaultRun(t *testing.T, seed uint64) *faultRun {
	r := &faultRun{T: t, random: rand.New(rand.NewPCG(seed, 60)), job: fmt.Sprint("faults ", seed)}
	folder := t.TempDir()
	pgtest.Get(t) // before TMPDIR is another one, since it outlives this test
	// Not below the test's own folder, which nobody else may enter: the databases have a user of their own.
	databases, err := os.MkdirTemp("", "faults")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(databases) })
	r.databases = databases
	r.mount(r.databases, "2g")
	t.Setenv("TMPDIR", r.databases)
	r.primary = pgtest.Another(t)
	r.web = &faultWeb{pages: *faultPages, busy: make(map[string]int)}
	listening := &http.Server{Handler: r.web}
	var serving sync.WaitGroup
	for i := range faultHosts {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.2.%d:0", i+1))
		if err != nil {
			t.Fatal(err)
		}
		r.web.hosts = append(r.web.hosts, listener.Addr().String())
		serving.Go(func() { _ = listening.Serve(listener) })
	}
	t.Cleanup(func() {
		_ = listening.Close()
		serving.Wait()
	})
	dsn := r.primary.DSN("postgres")
	setFsync(t, dsn, "on")
	admin := connect(t, dsn)
	run(t, admin, "ALTER SYSTEM SET wal_retrieve_retry_interval = '200ms'")
	run(t, admin, "SELECT pg_reload_conf()")
	if err := r.follow(); err != nil {
		t.Fatal(err)
	}
	socket, rest := socketOf(dsn)
	for i := range 4 {
		name := fmt.Sprint("w", i)
		w := &faultWorker{down: make(chan struct{}), proxy: newFaultProxy(t, socket, rest)}
		close(w.down)
		w.faultCrawl = &faultCrawl{
			DSN: w.proxy.dsn, Job: r.job, File: filepath.Join(folder, name+".jsonl"), Delay: faultDelay, Hosts: r.web.hosts, Pages: *faultPages,
			Options: cluster.Options{Worker: name, TTL: faultTTL, Dir: filepath.Join(folder, name+".state")}, DieInStart: filepath.Join(folder, "died in StartRequest"),
		}
		r.workers = append(r.workers, w)
	}
	r.disk = r.workers[0].Options.Dir
	if err := os.Mkdir(r.disk, 0o700); err != nil {
		t.Fatal(err)
	}
	r.mount(r.disk, "1m")
	return r
}

// mount makes a folder a disk of a certain size.
func (r *faultRun) mount(folder, size string) {
	if err := syscall.Mount("tegenaria", folder, "tmpfs", 0, "size="+size); err != nil {
		r.Fatalf("a disk that can be filled: %v; run the test as root", err)
	}
	r.Cleanup(func() { _ = syscall.Unmount(folder, syscall.MNT_DETACH) })
}

// crawl crawls, and has the faults happen one after the other.
func (r *faultRun) crawl() {
	began := time.Now()
	var working sync.WaitGroup
	for _, w := range r.workers {
		working.Go(func() { w.work(r.T) })
	}
	kinds := slices.Sorted(maps.Keys(faultKinds))
	r.random.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for len(r.web.snapshot()) < faultHosts { // every host has work
		pass(100 * time.Millisecond)
	}
	r.faults = append(r.faults, fault{kind: "kill in StartRequest", victim: "?", at: began, over: began}, fault{kind: "poison page", victim: "?", at: began, over: began})
	for _, kind := range kinds {
		at := time.Now()
		victim, err := faultKinds[kind](r, r.workers[r.random.IntN(len(r.workers))])
		if err != nil {
			r.Fatalf("%s: %v", kind, err)
		}
		f := fault{kind: kind, at: at, over: time.Now()}
		if victim != nil {
			f.victim = victim.Options.Worker
		}
		r.faults = append(r.faults, f)
		r.Logf("%v: %s, %s, %v", at.Sub(began).Round(time.Second/10), kind, f.victim, f.over.Sub(at).Round(time.Second/10))
		pass(leastPause + time.Duration(r.random.Int64N(int64(leastPause))))
	}
	if asked := len(r.web.snapshot()); asked > *faultPages*21/20 {
		r.Errorf("%d requests before the last fault: the job was over too soon", asked)
	}
	working.Wait()
	r.Logf("%v in all", time.Since(began).Round(time.Second))
}

// pass lets a time pass.
func pass(d time.Duration) { <-time.After(d) }

// snapshot returns what was asked so far.
func (w *faultWeb) snapshot() []faultAsk {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.asks[:len(w.asks):len(w.asks)]
}
