package enginetest

import (
	"fmt"
	"slices"
)

// harnessModel walks a plan's web without an engine: one page after the other, no time, no goroutines. It
// knows the rules of identity, retries and redirects from the design alone, and says how often each page is
// downloaded by a crawl that finishes.
type harnessModel struct {
	p     *Plan
	hits  map[int]int
	known map[string]bool
	queue []harnessVisit
}

// harnessVisit is one accepted request.
type harnessVisit struct {
	page, attempt int
	record        string // its identity
	chain         []int  // the pages that redirected here
	filtered      bool   // the target of a redirect is deduplicated
}

// harnessRun is one attempt at a visit, with the counts that each attempt has for itself.
type harnessRun struct {
	harnessVisit
	sent map[int]int // unfiltered emissions by page
}

func newHarnessModel(p *Plan) *harnessModel {
	m := &harnessModel{p: p, hits: make(map[int]int), known: make(map[string]bool)}
	start := &harnessRun{harnessVisit: harnessVisit{page: -1}, sent: make(map[int]int)}
	for _, l := range p.seeds {
		m.emit(start, l, false)
	}
	for len(m.queue) > 0 {
		v := m.queue[0]
		m.queue = m.queue[1:]
		m.visit(v)
	}
	return m
}

// emit is a link that a parser or the start sends.
func (m *harnessModel) emit(from *harnessRun, l harnessLink, output bool) {
	if l.to < 0 {
		if m.p.asksHandler(l, output) {
			m.refused(from, -1, 0)
		}
		return
	}
	m.accept(from, harnessVisit{page: l.to}, l.unfiltered, -1)
}

// asksHandler reports whether a reference that leads nowhere reaches the ErrorHandler.
func (p *Plan) asksHandler(l harnessLink, output bool) bool {
	bad := len(l.ref) < 100 && !l.offsite
	if !l.follow {
		return bad
	}
	return bad && !output && l.ref != "" && l.ref != "http://" // what Follow itself refuses is never sent
}

// accept takes a request in unless it is filtered or known. nested counts the refusals that led to it, −1
// for none.
func (m *harnessModel) accept(from *harnessRun, v harnessVisit, unfiltered bool, nested int) {
	if m.p.middle {
		switch m.p.fault("filter", v.page, 0) {
		case faultError, faultIgnore:
			return
		case faultPanic:
			m.refused(from, v.page, nested+1)
			return
		}
	}
	v.record = fmt.Sprint("page ", v.page)
	if unfiltered || !m.p.unique {
		v.record = fmt.Sprint(from.record, " > ", v.page, " #", from.sent[v.page])
		from.sent[v.page]++
	}
	if m.known[v.record] {
		return
	}
	m.known[v.record] = true
	if len(v.chain) == 0 {
		v.filtered = m.p.unique && !unfiltered
	}
	m.queue = append(m.queue, v)
}

// refused is an emission that fails before it is accepted: the ErrorHandler is asked, unless a chain of such
// refusals is longer than Limits.Attempts.
func (m *harnessModel) refused(from *harnessRun, page, nested int) {
	if nested >= m.p.attempts() {
		return
	}
	if leaf, ok := m.p.handlerSends("accept", page, 0); ok {
		m.accept(from, harnessVisit{page: leaf}, false, nested)
	}
}

// harnessStep is how one attempt ends.
type harnessStep struct {
	stage string       // where it failed; "" if it did not
	fault harnessFault // how
}

// visit runs a request until it does not ask to run again.
func (m *harnessModel) visit(v harnessVisit) {
	for {
		run := &harnessRun{harnessVisit: v, sent: make(map[int]int)}
		step := m.try(run)
		if step.stage == "" || !m.failed(run, step) {
			return
		}
		v.attempt++
	}
}

// failed does what follows an error, and reports whether the request runs again.
func (m *harnessModel) failed(run *harnessRun, step harnessStep) (again bool) {
	p := m.p
	if p.middle && step.stage != "redirect" {
		switch p.fault("error", run.page, run.attempt) {
		case faultIgnore:
			return false // swallowed
		case faultRetry:
			step.fault = faultRetry
		case faultPanic:
			step = harnessStep{"error", faultError}
		}
	}
	switch step.fault {
	case faultIgnore, faultClose:
		return false
	case faultRetry:
		if run.attempt+1 < p.attempts() {
			return true
		}
	}
	m.handle(run, step.stage)
	return false
}

// handle is the ErrorHandler.
func (m *harnessModel) handle(run *harnessRun, stage string) {
	if m.p.handlerRetries(stage, run.page, run.attempt) {
		m.retry(run)
	}
	switch leaf, ok := m.p.handlerSends(stage, run.page, run.attempt); {
	case ok && leaf == run.page:
		m.retry(run) // whoever sends an equal request sends the failed one again
	case ok:
		m.accept(run, harnessVisit{page: leaf}, false, run.attempt)
	}
}

// retry is a failed request that is sent again.
func (m *harnessModel) retry(run *harnessRun) {
	if run.attempt+1 < m.p.attempts() {
		again := run.harnessVisit
		again.attempt++
		m.accept(run, again, true, run.attempt)
	}
}

// handlerRetries reports whether the ErrorHandler sends a failed request again. Requests that redirect are
// not retried: whether their targets are deduplicated would depend on which way led to them first.
func (p *Plan) handlerRetries(stage string, page, attempt int) bool {
	return stage != "accept" && stage != "redirect" && page >= 0 && p.pages[page].kind != pageMoved &&
		(stage != "pipeline" || attempt == 0) && p.draw("handler"+stage, page, attempt).IntN(3) == 0
}

// handlerSends tells what else the ErrorHandler sends.
func (p *Plan) handlerSends(stage string, page, attempt int) (leaf int, ok bool) {
	r := p.draw("more"+stage, page, attempt)
	return p.leaf(r.IntN(harnessLeaves)), r.IntN(3) == 0 && !p.endless(page)
}

func (p *Plan) leaf(i int) int {
	return slices.IndexFunc(p.pages, func(page harnessPage) bool { return page.leaf }) + i
}

// robotsStep is what robots.txt makes of a page: done says that it has its end.
func (p *Plan) robotsStep(page int) (step harnessStep, done bool) {
	if !p.obey {
		return step, false
	}
	switch p.robots[p.pages[page].host] {
	case robotsNone:
		return step, false
	case robotsDown:
		return step, true
	case robotsBroken:
		return harnessStep{"robots", faultError}, true
	}
	return step, p.pages[page].forbidden
}

// requestStep is what ProcessRequest makes of a page.
func (p *Plan) requestStep(page, attempt int) (f harnessFault) {
	if p.middle {
		f = p.fault("request", page, attempt)
	}
	return f
}

// responseStep is what ProcessResponse makes of a page.
func (p *Plan) responseStep(page, attempt int) (f harnessFault) {
	if p.middle {
		f = p.fault("response", page, attempt)
	}
	if f == faultAnswer {
		f = faultNone
	}
	return f
}

// kindAt is what the server answers at an attempt.
func (p *Plan) kindAt(page, attempt int) harnessKind {
	kind := p.pages[page].kind
	if kind == pageFlaky {
		kind = pageStatus
		if attempt >= p.pages[page].good && p.knowsAttempt() {
			kind = pageFine
		}
	}
	return kind
}

// knowsAttempt reports whether the server can see the number of an attempt.
func (p *Plan) knowsAttempt() bool { return !p.overHTTP || p.middle }

// try is one attempt, from robots.txt to the parser.
func (m *harnessModel) try(run *harnessRun) harnessStep {
	p := m.p
	page, attempt := run.page, run.attempt
	if step, done := p.robotsStep(page); done {
		return step
	}
	kind := p.kindAt(page, attempt)
	switch f := p.requestStep(page, attempt); f {
	case faultNone:
		m.hits[page]++
	case faultAnswer:
		kind = pageFine
	default:
		return harnessStep{"request", f}
	}
	if kind == pageBroken || kind == pageSilent {
		return harnessStep{"download", faultError}
	}
	if p.middle {
		if leaf, ok := p.responseSends(page, attempt); ok {
			m.accept(run, harnessVisit{page: leaf}, false, -1)
		}
	}
	if f := p.responseStep(page, attempt); f != faultNone {
		return harnessStep{"response", f}
	}
	switch kind {
	case pageMoved:
		return m.redirect(run)
	case pageStatus:
		return harnessStep{"status", faultError}
	}
	return m.parse(run)
}

// responseSends tells what ProcessResponse sends.
func (p *Plan) responseSends(page, attempt int) (leaf int, ok bool) {
	r := p.draw("response sends", page, attempt)
	return p.leaf(r.IntN(harnessLeaves)), r.IntN(8) == 0 && !p.endless(page)
}

// endless reports whether a page that sends leaves would make a crawl that never ends.
func (p *Plan) endless(page int) bool { return !p.unique && page >= 0 && p.pages[page].leaf }

func (m *harnessModel) redirect(run *harnessRun) harnessStep {
	to := m.p.pages[run.page].to
	chain := append(slices.Clone(run.chain), run.page)
	asked := timesIn(chain, to)
	if asked == 2 {
		return harnessStep{"redirect", faultError}
	}
	m.accept(run, harnessVisit{page: to, chain: chain, filtered: run.filtered}, !run.filtered || asked > 0, -1)
	return harnessStep{}
}

// timesIn returns how often a chain of redirects has asked for a page.
func timesIn(chain []int, page int) (n int) {
	for _, asked := range chain {
		if asked == page {
			n++
		}
	}
	return n
}

// parserFaults are how a parser ends: before or after it has sent anything.
func (p *Plan) parserFaults(page, attempt int) (before, after harnessFault) {
	before = p.fault("parse", page, attempt)
	if before == faultAnswer {
		before = faultNone
	}
	if p.draw("parse after", page, attempt).IntN(2) == 0 {
		return faultNone, before
	}
	return before, faultNone
}

func (m *harnessModel) parse(run *harnessRun) harnessStep {
	p := m.p
	before, after := p.parserFaults(run.page, run.attempt)
	if before != faultNone {
		return harnessStep{"parse", before}
	}
	for _, l := range p.pages[run.page].links {
		m.emit(run, l, p.output)
	}
	for i := range p.pages[run.page].items {
		switch p.itemFault(run.page, run.attempt, i) {
		case faultError, faultPanic:
			m.handle(run, "pipeline")
		}
	}
	if after != faultNone {
		return harnessStep{"parse", after}
	}
	return harnessStep{}
}

// itemFault is what the pipelines make of an item; faultIgnore drops it.
func (p *Plan) itemFault(page, attempt, i int) harnessFault {
	switch f := p.fault(fmt.Sprint("item ", i), page, attempt); f {
	case faultError, faultPanic, faultIgnore, faultClose, faultStuck:
		return f
	}
	return faultNone
}

// fetchWorks reports whether an inline request succeeds in a crawl that is not stopped.
func (p *Plan) fetchWorks(page int) bool {
	attempt := 0
	for chain := []int(nil); ; {
		if p.middle {
			switch p.fault("filter", page, 0) {
			case faultError, faultIgnore, faultPanic, faultClose:
				return false
			}
		}
		next, f := p.fetchOnce(page, attempt)
		if f != faultNone && p.middle {
			switch p.fault("error", page, attempt) {
			case faultRetry:
				f = faultRetry
			case faultIgnore, faultPanic:
				f = faultError
			}
		}
		switch {
		case f == faultRetry && attempt+1 < p.attempts():
			attempt++
		case f != faultNone:
			return false
		case next < 0:
			return true
		default:
			chain = append(chain, page)
			if timesIn(chain, next) == 2 {
				// The ErrorMiddlewares leave redirects alone.
				return false
			}
			page = next
		}
	}
}

// fetchOnce is one exchange of an inline request; next is the target of a redirect, −1 for none.
func (p *Plan) fetchOnce(page, attempt int) (next int, f harnessFault) {
	if _, done := p.robotsStep(page); done {
		return -1, faultError
	}
	kind := p.kindAt(page, attempt)
	switch f := p.requestStep(page, attempt); f {
	case faultNone:
	case faultAnswer:
		kind = pageFine
	default:
		return -1, f
	}
	if kind == pageBroken || kind == pageSilent {
		return -1, faultError
	}
	if f := p.responseStep(page, attempt); f != faultNone {
		return -1, f
	}
	switch kind {
	case pageMoved:
		return p.pages[page].to, faultNone
	case pageStatus:
		return -1, faultError
	}
	return -1, faultNone
}
