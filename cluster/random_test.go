package cluster

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

var (
	randomJobs = flag.Int("jobs", 500, "jobs of TestRandomJobs")
	firstJob   = flag.Uint64("jobs.from", 1, "the seed of the first of them")
)

// Jobs of several workers, made at random, on a model of the database: with slow answers and lost ones, workers that
// come, go, die at any step and are cut off for longer than their TTL. The web and the model are the witnesses, see
// [plan.check].
func TestRandomJobs(t *testing.T) {
	for i := range *randomJobs {
		seed := *firstJob + uint64(i)
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlan(t, seed)
				p.run(newModels(p))
			})
		}) {
			t.Logf("again: go test ./cluster -run TestRandomJobs -args -jobs 1 -jobs.from %d", seed)
			return
		}
	}
}

// plan is a job: its pages, its workers, and what is going to happen to them.
type plan struct {
	*testing.T
	seed  uint64
	job   string
	began time.Time
	backend
	servers, partitions int
	links               [][]int // by page
	seeds               []int
	hosts               int
	delay               time.Duration
	perHost             int
	depth               int // the deepest pages, 0: no limit
	most                int // pages of the job, 0: no limit
	ttl                 time.Duration
	fetch               int           // one page in so many has its parser fetch another page
	slowest             time.Duration // the longest that the answer to such a fetch takes
	workers             []*planned
	ctx                 context.Context // ends when the job should be over for long
	faster              time.Duration   // by how much everything is faster than in the plan
	real                bool            // the clock is that of the machine, which may be busy: see [plan.holds]

	mu         sync.Mutex // guards the fields below
	random     *rand.Rand
	asks       []asked
	answers    int
	fetches    int
	inFlight   map[int]map[*plannedWeb]int // by host and process: downloads in flight
	last       map[int]time.Time           // by host: when the last download began
	lastInline map[int]bool                // by host: it was of a parser
	faults     map[string]int
}

// asked is a download.
type asked struct {
	page    int
	session int64
	at      time.Time
}

// planned is a worker of a plan.
type planned struct {
	name   string
	begins time.Duration
	leaves time.Duration // when it is asked to stop, 0: never
	cutOff []time.Duration
	cutFor []time.Duration
	drains time.Duration // when it is drained, 0: never
	dies   []int         // at which step its first processes die
	lost   bool          // after these nobody starts it again
}

const planEnd = 25 * time.Second // after which nothing goes wrong any more

func newPlan(t *testing.T, seed uint64) *plan {
	r, others := rand.New(rand.NewPCG(seed, 36)), rand.New(rand.NewPCG(seed, 37))
	p := &plan{
		T: t, seed: seed, job: "job", began: time.Now(), random: r, hosts: 2 + r.IntN(9), delay: time.Duration(r.IntN(3)) * 60 * time.Millisecond, perHost: 1 + r.IntN(3), ttl: 2 * time.Second, faster: 1, fetch: 6, slowest: 300 * time.Millisecond,
		inFlight: make(map[int]map[*plannedWeb]int), last: make(map[int]time.Time), lastInline: make(map[int]bool), faults: make(map[string]int),
	}
	partitions := 1 + r.IntN(8)
	pages, least := 10+r.IntN(90), 0
	switch r.IntN(6) {
	case 0: // the delay outlasts the takeover of a host
		p.delay, pages, least = 3*time.Second, 4*p.hosts, 1
	case 1: // a fetch outlasts the takeover of its host
		p.fetch, p.slowest, p.perHost, p.delay, pages, least = 2, 4*time.Second, 1, 0, 8*p.hosts, 2
	}
	for page := range pages {
		var links []int
		for range r.IntN(5) {
			links = append(links, r.IntN(pages))
		}
		if page+1 < pages { // so that most pages can be reached
			links = append(links, page+1+r.IntN(min(3, pages-page-1)))
		}
		p.links = append(p.links, links)
	}
	for range 1 + r.IntN(3) {
		p.seeds = append(p.seeds, r.IntN(pages))
	}
	if r.IntN(3) == 0 {
		p.depth = 3 + r.IntN(5)
	}
	if r.IntN(4) == 0 {
		p.most = 1 + r.IntN(pages)
	}
	for i := range max(1+r.IntN(4), 1+least) {
		w := &planned{name: fmt.Sprint("w", i)}
		if i > 0 {
			w.begins = time.Duration(r.Int64N(int64(planEnd / 4)))
			if r.IntN(3) == 0 {
				w.leaves = w.begins + time.Duration(r.Int64N(int64(planEnd/2)))
			}
		}
		for range r.IntN(3) {
			w.cutOff = append(w.cutOff, time.Duration(r.Int64N(int64(planEnd*3/4))))
			w.cutFor = append(w.cutFor, []time.Duration{p.ttl / 2, p.ttl * 4 / 5, p.ttl * 11 / 10, 3 * p.ttl}[r.IntN(4)])
		}
		for range max(r.IntN(3), least) {
			w.dies = append(w.dies, 1+r.IntN(200))
		}
		if others.IntN(4) == 0 {
			w.drains = 1 + time.Duration(others.Int64N(int64(planEnd*3/4)))
		}
		p.workers = append(p.workers, w)
	}
	p.servers = 1
	if r.IntN(3) == 0 {
		p.servers = 1 + r.IntN(3)
	}
	p.partitions = max(partitions, p.servers)
	for _, w := range p.workers[min(p.servers, len(p.workers)):] { // others are needed, see AloneError
		w.lost = others.IntN(2) == 0
	}
	return p
}

// hasten makes all times of the plan shorter, but a delay that is to outlast a takeover: on a busy machine that takes
// longer than its share.
func (p *plan) hasten(by time.Duration) {
	p.faster = by
	if p.delay < p.ttl {
		p.delay /= by
	}
	p.ttl, p.slowest = p.ttl/by, p.slowest/by
	for _, w := range p.workers {
		w.begins, w.leaves, w.drains = w.begins/by, w.leaves/by, w.drains/by
		for i := range w.cutOff {
			w.cutOff[i], w.cutFor[i] = w.cutOff[i]/by, w.cutFor[i]/by
		}
	}
}

// hostOf returns the host of a page.
func (p *plan) hostOf(page int) int { return page % p.hosts }

func (p *plan) url(page int) string {
	return fmt.Sprintf("http://h%d.example/%d", p.hostOf(page), page)
}

// run crawls with all workers until the job is finished, and checks what was seen.
func (p *plan) run(g backend) {
	most := time.Duration(p.servers*p.servers) * time.Minute
	if p.real {
		most *= 10 // which only ends what hangs
	}
	ctx, cancel := context.WithTimeout(p.Context(), planEnd+most)
	defer cancel()
	p.backend, p.ctx = g, ctx
	var working sync.WaitGroup
	for i, w := range p.workers {
		working.Go(func() { p.work(i, w) })
	}
	working.Wait()
	switch {
	case p.isOver():
		p.check()
	case !p.Failed():
		p.Errorf("the workers have ended before the job: %v", p.backend)
	}
}

// work is a machine: it starts the process of a worker again until the job is finished.
func (p *plan) work(i int, w *planned) {
	if w.drains > 0 {
		defer time.AfterFunc(w.drains, func() {
			if p.drain(w.name) {
				p.count("drained")
			}
		}).Stop()
	}
	enginetest.Wait(p.ctx, w.begins)
	for n := 0; !p.isOver(); n++ {
		d := &link{name: p.job, patience: 3 * p.ttl, random: rand.New(rand.NewPCG(p.seed, uint64(100*i+n))), slow: 20 * time.Millisecond / p.faster, loses: 0.05}
		ctx, cancel := context.WithCancelCause(p.ctx)
		d.onDeath = func() {
			p.count("death")
			cancel(errors.New("killed"))
		}
		if n < len(w.dies) {
			d.diesAt = w.dies[n]
		}
		if n == 0 {
			for j, at := range w.cutOff {
				defer time.AfterFunc(at, func() {
					d.mu.Lock()
					d.closed = time.Now().Add(w.cutFor[j])
					d.mu.Unlock()
					p.count("cut off")
				}).Stop()
			}
			if w.leaves > 0 {
				time.AfterFunc(w.leaves, func() {
					p.count("asked to stop")
					cancel(errors.New("asked to stop"))
				})
			}
		}
		err := p.process(ctx, d, w.name, int32(100*i+n))
		cancel(nil)
		var away *Error
		if p.real && !d.isDead() && errors.As(err, &away) {
			p.count("away") // a busy machine is like a link that is closed
		}
		var fenced *FencedError
		var stopped *tegenaria.StoppedError
		if errors.As(err, &stopped) && stopped.Reason == movedAway {
			p.count("moved")
		}
		if errors.As(err, &fenced) {
			p.count("fenced")
		}
		if err == nil {
			return
		}
		p.Logf("%v: %s: %v", time.Since(p.began), w.name, err)
		if w.lost && n+1 == len(w.dies) && d.isDead() {
			p.count("lost")
			return
		}
		if p.ctx.Err() != nil {
			p.Errorf("%s does not end: %v: %v", w.name, err, p.backend)
			return
		}
		enginetest.Wait(p.ctx, time.Duration(p.pick(3000))*time.Millisecond/p.faster)
	}
}

func (p *plan) pick(n int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.IntN(n)
}

func (p *plan) count(fault string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults[fault]++
}

// process is one life of a worker.
func (p *plan) process(ctx context.Context, d *link, worker string, lock int32) error {
	c, err := p.open(ctx, d, member{job: d.name, worker: worker, ttl: p.ttl}, lock)
	if err != nil {
		return err
	}
	parse := func(_ context.Context, resp *tegenaria.Response, out *tegenaria.Output[string]) error {
		page := pageOf(resp.URL)
		if page%10 == 7 && resp.Request().Attempt == 0 {
			return tegenaria.Retry(150*time.Millisecond/p.faster, errors.New("by way of the due list"))
		}
		if page%p.fetch == p.fetch-1 && len(p.workers) >= p.servers { // otherwise the server of the host may have no worker
			if _, err := out.Fetch(tegenaria.NewRequest(fmt.Sprintf("http://h%d.example/%s%d", (page+1)%p.hosts, fetched, page), tegenaria.GET, nil)); err != nil {
				return err
			}
		}
		for _, link := range p.links[page] {
			if err := out.Request(tegenaria.NewRequest(p.url(link), tegenaria.GET, nil)); err != nil {
				return err
			}
		}
		return nil
	}
	seeds := make([]string, 0, len(p.seeds))
	for _, page := range p.seeds {
		seeds = append(seeds, p.url(page))
	}
	err = enginetest.NewEngine(&plannedWeb{p, d, c}, tegenaria.NewSpider("random", tegenaria.Handle(parse), seeds...),
		tegenaria.EngineWithCache(c),
		tegenaria.EngineWithLimits(tegenaria.Limits{Depth: p.depth, Pages: p.most}),
		tegenaria.EngineWithConcurrency(8),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{Delay: p.delay, PerSlot: p.perHost, IgnoreRobots: true}),
	).Run(ctx, "random")
	return errors.Join(err, c.Close())
}

// fetched begins the path of what a parser fetches for itself.
const fetched = "fetched-"

func pageOf(url string) int {
	page, err := strconv.Atoi(strings.TrimPrefix(url[strings.LastIndexByte(url, '/')+1:], fetched))
	if err != nil {
		panic(err)
	}
	return page
}

// plannedWeb is the web as a worker reaches it.
type plannedWeb struct {
	*plan
	link  *link
	cache *Cache
}

// holds reports whether no other worker may have what this one has: always, until it dies, if the clock is that of a
// model. A busy machine may let the worker stand still between two of its steps, longer than its TTL. Then it knows
// that it has been late, and what it does is not judged.
func (w *plannedWeb) holds() bool {
	if !w.real {
		return true
	}
	b := w.cache.heartbeats.Load()
	b.mu.Lock()
	defer b.mu.Unlock()
	return elapsed(b.sent, time.Now()) < b.ttl
}

// early returns how much sooner than its delay a request may be seen by a clock that is right only if the machine is
// not busy.
func (p *plan) early() time.Duration {
	if !p.real {
		return 0
	}
	return max(p.delay/5, 250*time.Millisecond)
}

func (w *plannedWeb) CheckStatus(code uint64, _ []uint64) bool { return code < 400 }

func (w *plannedWeb) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	if err := w.ask(ctx, ctx.Request.Url); err != nil {
		ctx.DownloadResult = &tegenaria.RequestResult{Error: tegenaria.NewError(ctx.CtxId, err, tegenaria.ErrorWithRequest(ctx.Request))}
	} else {
		ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, 200, nil, nil)}
	}
	result <- ctx
}

// ask notes a download and waits for its answer.
func (w *plannedWeb) ask(ctx context.Context, url string) error {
	if w.link.isDead() { // the process is gone, and what still runs of it is seen by nobody
		return errors.New("killed")
	}
	now := time.Now()
	page, inline := pageOf(url), strings.Contains(url, fetched)
	session, host := w.cache.session, w.hostOf(page)
	if inline {
		host = (page + 1) % w.hosts
	}
	server, partition := w.cache.locate(fmt.Sprintf("h%d.example", host))
	saw := w.see(start{session, server, partition, url, inline})
	if w.holds() && !w.link.isDead() {
		if !saw.alive {
			w.Errorf("the session %d begins a download after its burial: %s", session, url)
		}
		if saw.owner != session {
			w.Errorf("the session %d asks for %s, which the session %d owns", session, url, saw.owner)
		}
		if saw.settled {
			w.Errorf("%s is asked for after it was settled", url)
		}
	}
	w.mu.Lock()
	// The owner of a slot reckons the start of a fetch from when it has granted it: with several requests at a time the
	// next may begin sooner after it.
	exact := w.perHost == 1 || !inline && !w.lastInline[host]
	w.lastInline[host] = inline
	if before, ok := w.last[host]; ok && exact && now.Sub(before) < w.delay-w.early() {
		w.Errorf("%s is asked for %v after the request before, the delay is %v", url, now.Sub(before), w.delay)
	}
	w.last[host] = now
	flying := 1
	for other, n := range w.inFlight[host] {
		if !other.link.isDead() && other.holds() {
			flying += n
		}
	}
	if flying > w.perHost {
		w.Errorf("%s makes %d downloads in flight at its host, %d are allowed", url, flying, w.perHost)
	}
	if w.inFlight[host] == nil {
		w.inFlight[host] = make(map[*plannedWeb]int)
	}
	w.inFlight[host][w]++
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.inFlight[host][w]--
	}()
	slowest := 300 * time.Millisecond / w.faster
	if inline {
		slowest = w.slowest
		w.fetches++
	} else {
		w.asks = append(w.asks, asked{page: page, session: session, at: now})
	}
	pause := 10*time.Millisecond/w.faster + time.Duration(w.random.Int64N(int64(slowest)))
	w.mu.Unlock()
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		w.mu.Lock()
		if !inline {
			w.answers++
		}
		w.mu.Unlock()
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// check compares what was asked and what is stored with what there was to do: each page that can be reached has one
// outcome, nothing else was asked for twice but what was in flight or not settled when something went wrong, no depth
// is larger than that of a link that was followed, nothing is left, and the counts of all workers are those of the job.
func (p *plan) check() {
	reachable := p.reachable()
	m := p.read()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range m.violations {
		p.Error(v)
	}
	if p.most > 0 {
		p.checkLimit(m)
		return
	}
	pages := make(map[int]int)
	for _, o := range m.outcomes {
		if o.outcome == tegenaria.Fetched {
			pages[pageOf(o.url)]++
		}
	}
	for page := range p.links {
		depth, ok := reachable[page]
		switch n := pages[page]; {
		case n > 1:
			p.Errorf("page %d has %d outcomes", page, n)
		case n == 1 && !ok:
			p.Errorf("page %d cannot be reached, and was fetched", page)
		case n == 0 && ok && p.depth == 0:
			p.Errorf("page %d was not fetched", page)
		case n == 0 && ok && depth <= p.depth:
			p.faults["missed for its depth"]++ // its parent was in flight with a larger depth
		}
	}
	for seq, o := range m.outcomes {
		if o.outcome != tegenaria.Fetched {
			continue
		}
		for _, link := range p.links[pageOf(o.url)] {
			if p.depth > 0 && o.depth+1 > p.depth {
				continue
			}
			found := false
			for _, s := range m.requests {
				if e, ok := m.outcomes[s.seq]; ok && pageOf(e.url) == link {
					found = true
					if s.depth > o.depth+1 {
						p.Errorf("page %d has the depth %d, a page that links to it (%d) %d", link, s.depth, seq, o.depth)
					}
				}
			}
			if !found {
				p.Errorf("page %d was not taken in, to which page %s links", link, o.url)
			}
		}
	}
	if !m.started || m.finished == "" || m.waiting+m.messages+m.outgoing > 0 {
		p.Errorf("started %v, finished %q, %d requests wait, %d messages, %d for other servers", m.started, m.finished, m.waiting, m.messages, m.outgoing)
	}
	if n := m.fetched - int64(len(pages)); n < 0 || n > int64(p.fetches) {
		p.Errorf("%d more pages are counted than %d, there were %d fetches", n, len(pages), p.fetches)
	}
	sessions := make(map[int64]bool)
	for _, a := range p.asks {
		sessions[a.session] = true
	}
	extra := len(p.asks) - len(pages)
	for page := range pages {
		if page%10 == 7 {
			extra--
		}
	}
	most := 8 * (p.faults["death"] + p.faults["fenced"] + p.faults["cut off"] + p.faults["asked to stop"] + p.faults["drained"] + p.faults["away"])
	if extra > 4*most {
		p.Errorf("%d requests too many, after %v", extra, p.faults)
	}
	p.Logf("%d fetches, %d pages, %d asked, %d sessions, faults %v", p.fetches, len(pages), len(p.asks), len(sessions), p.faults)
}

// checkLimit compares how many pages were read with the limit: not more, and not less unless there are no more, a
// worker has died with some, or a server has no use for its part.
func (p *plan) checkLimit(m *tally) {
	if p.answers > p.most*(1+m.resumed) {
		p.Errorf("%d responses, the limit is %d", p.answers, p.most)
	}
	if m.finished == "" && len(p.faults) == 0 && p.servers == 1 && p.answers+p.fetches < p.most {
		p.Errorf("stopped after %d responses, the limit is %d", p.answers, p.most)
	}
	if m.finished == "" && m.stopped != pagesReached {
		p.Errorf("stopped %q, finished %q", m.stopped, m.finished)
	}
	p.Logf("%d of %d pages, faults %v", p.answers, p.most, p.faults)
}

// reachable returns the pages that can be reached, with their smallest depth.
func (p *plan) reachable() map[int]int {
	depths := make(map[int]int)
	next := slices.Clone(p.seeds)
	for _, page := range next {
		depths[page] = 0
	}
	for len(next) > 0 {
		page := next[0]
		next = next[1:]
		for _, link := range p.links[page] {
			if _, ok := depths[link]; !ok && (p.depth == 0 || depths[page] < p.depth) {
				depths[link] = depths[page] + 1
				next = append(next, link)
			}
		}
	}
	return depths
}
