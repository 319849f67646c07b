package e2e_test

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/killtest"
)

var bombsFlag = flag.String("bombs", "", "kinds of bombs that TestBombs tries: all, or a `regular expression`")

// bombStep is a number of bombs that are asked for at once, together with good pages.
type bombStep struct {
	name  string
	kinds []bombKind
}

// bombRun is a crawl of bombs, one step after the other, by a process that is measured.
type bombRun struct {
	crawl  bool                  // by tegenaria crawl, a process for each step; else by the child, one process for all
	env    []string              // of the process
	limits string                // of the child, as JSON
	group  *killtest.MemoryGroup // that the process belongs to
}

// bombReport is how a step went.
type bombReport struct {
	step string
	peak int64
	took time.Duration
	ends map[string]int // how the bombs ended
	lost []string       // mistakes
}

const (
	goodPages = 50
	bombTime  = 2 * time.Minute // longest step
)

func (r *bombReport) lose(format string, args ...any) {
	r.lost = append(r.lost, fmt.Sprintf(format, args...))
}

// run makes the crawl. A child that dies is replaced for the steps that are left.
func (b bombRun) run(t *testing.T, steps []bombStep, each func(*bombReport)) {
	t.Helper()
	server := serveBombs(t, steps)
	left := server.steps
	for len(left) > 0 {
		if b.crawl {
			each(b.command(t, server, left[0]))
			left = left[1:]
			continue
		}
		left = left[b.child(t, server, left, each):]
	}
}

// command has tegenaria crawl a step.
func (b bombRun) command(t *testing.T, server *bombServer, step hostedStep) *bombReport {
	r := &bombReport{step: step.name, ends: make(map[string]int)}
	dir := t.TempDir()
	out, counts := filepath.Join(dir, "pages.jsonl"), filepath.Join(dir, "result.json")
	args := append([]string{"crawl", "--log-level", "error", "--depth", "0", "--allow-private", "--timeout", "60s", "-O", out, "--result", counts},
		append(step.bombs(), step.goods...)...)
	for _, kind := range step.kinds {
		kind.packed()
	}
	begin := time.Now()
	p := startMeasured(t, b.group, b.env, false, command(t), args...)
	code, says := p.wait(bombTime)
	r.took = time.Since(begin)
	r.peak, _ = p.memory()
	server.check(step, out, r)
	if code != 0 {
		r.lose("exit code %d: %s", code, says)
		return r
	}
	for outcome, n := range summary(t, counts).Stats.Outcomes {
		if outcome != "filtered" { // the links of the pages: there is no depth
			r.ends[outcome] += int(n)
		}
	}
	r.ends["fetched"] -= goodPages
	return r
}

// child has the child crawl the steps, between calm pages. It returns how many were made.
func (b bombRun) child(t *testing.T, server *bombServer, steps []hostedStep, each func(*bombReport)) (made int) {
	out := filepath.Join(t.TempDir(), "items.jsonl")
	server.begin()
	p := startMeasured(t, b.group, b.env, true, os.Args[0], "-bombs-child", server.base.URL+"/calm/0", "-bombs-feed", out, "-bombs-limits", b.limits)
	warm := server.goods("warm")
	server.link("ask", warm...)
	err := p.until(bombTime, warm)
	for _, step := range steps {
		r := &bombReport{step: step.name, ends: make(map[string]int)}
		made++
		p.forget()
		server.linkStep(step)
		begin := time.Now()
		if err == nil {
			err = p.until(bombTime, append(step.bombs(), step.goods...))
		}
		r.took = time.Since(begin)
		r.judge(p, step.bombs())
		if r.peak, _ = p.memory(); err != nil {
			r.lose("%v", err)
		}
		if err != nil || made == len(steps) {
			b.end(p, server, r, err == nil)
		}
		server.check(step, out, r)
		if each(r); err != nil {
			break
		}
	}
	return made
}

// end ends the child, which is killed unless it is well.
func (b bombRun) end(p *measured, server *bombServer, r *bombReport, well bool) {
	server.end()
	limit := bombTime
	if !well {
		limit = time.Second
	}
	if code, says := p.wait(limit); code != 0 {
		r.lose("exit code %d: %s", code, says)
	}
}

// check asks the two witnesses: the log of the server and the feed.
func (s *bombServer) check(step hostedStep, feed string, r *bombReport) {
	text, err := os.ReadFile(feed)
	if err != nil {
		r.lose("feed: %v", err)
	}
	goods := 0
	for _, url := range step.goods {
		if s.times(url) == 1 && strings.Count(string(text), `"`+url+`"`) > 0 {
			goods++
		}
	}
	if goods != goodPages {
		r.lose("%d of %d good pages are in the feed", goods, goodPages)
	}
	for _, url := range step.bombs() {
		if s.times(url) == 0 {
			r.lose("%s was not asked for", url)
		}
	}
}

// The errors in which a bomb may end. Each names the limit that it met.
var bombErrors = []string{
	"*selector.ParseError", "*html.LimitError", "*fetch.RatioError", "*fetch.BodyTooLargeError", "*fetch.HeaderTooLargeError",
	"*selector.SizeError", "*xpath.WorkError", "*sitemap.LimitError", "*sitemap.FormatError", "*json.SyntaxError", "*httpx.HeaderError",
}

// judge says how the bombs ended.
func (r *bombReport) judge(p *measured, bombs []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, url := range bombs {
		line, ok := p.settled[url]
		if !ok {
			continue
		}
		end := line.Outcome
		if line.Outcome != tegenaria.Fetched.String() && line.Outcome != tegenaria.Redirected.String() { // by a meta refresh
			why := "for no reason that was told"
			for _, failure := range p.failed[url] {
				if why = "untyped: " + failure.Error; slices.ContainsFunc(failure.Types, isBombError) {
					why = strings.TrimPrefix(failure.Types[slices.IndexFunc(failure.Types, isBombError)], "*")
					break
				}
			}
			if end = fmt.Sprintf("%s (%s) %s", end, line.Reason, why); !isBombError("*" + why) {
				r.lose("%s: %s", url, end)
			}
		}
		r.ends[end]++
	}
}

func isBombError(name string) bool { return slices.Contains(bombErrors, name) }

// bar checks what must hold of every step.
func (r *bombReport) bar(t *testing.T, most int64) {
	if r.peak == 0 || r.peak > most {
		r.lose("the peak is %d MiB, above %d", r.peak/mib, most/mib)
	}
	if len(r.lost) > 0 {
		t.Errorf("%s", r)
	}
}

// String is a line of the table.
func (r *bombReport) String() string {
	var ends []string
	for end, n := range r.ends {
		if n != 0 {
			ends = append(ends, fmt.Sprintf("%d %s", n, end))
		}
	}
	slices.Sort(ends)
	line := fmt.Sprintf("%-26s peak %5d MiB %5.1f s", r.step, r.peak/mib, r.took.Seconds())
	line += "; " + strings.Join(ends, ", ")
	if len(r.lost) > 0 {
		line += "; LOST: " + strings.Join(r.lost, "; ")
	}
	return line
}

// chosenBombs returns the kinds that a flag names.
func chosenBombs(t *testing.T, flag string) (kinds []bombKind) {
	t.Helper()
	if flag == "all" {
		flag = "."
	}
	pattern, err := regexp.Compile(flag)
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range bombKinds() {
		if pattern.MatchString(kind.name) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// pages returns the kinds that tegenaria crawl reads: it reads pages alone.
func onlyPages(kinds []bombKind) (left []bombKind) {
	for _, kind := range kinds {
		if strings.HasPrefix(kind.media, "text/html") && !kind.query {
			left = append(left, kind)
		}
	}
	return left
}

// eachTimes makes a step of n bombs of each kind.
func eachTimes(kinds []bombKind, n int) (steps []bombStep) {
	for _, kind := range kinds {
		steps = append(steps, bombStep{fmt.Sprintf("%s ×%d", kind.name, n), slices.Repeat([]bombKind{kind}, n)})
	}
	return steps
}

// sixes makes steps of six different kinds.
func sixes(kinds []bombKind) (steps []bombStep) {
	for six := range slices.Chunk(kinds, 6) {
		steps = append(steps, bombStep{six[0].name + " … " + six[len(six)-1].name, six})
	}
	return steps
}

// TestBombsShort is the short form: a few bombs at once. It fails if a bomb ends in
// another way than at its limit. A deep check measures too: it fails if the tree of a page is not bounded, or if no memory is
// reserved for it. The race detector takes several times the memory: there only the ends of the requests are checked.
func TestBombsShort(t *testing.T) {
	var few []bombKind
	for _, kind := range bombKinds() {
		if kind.few {
			few = append(few, kind)
		}
	}
	most := int64(math.MaxInt64)
	if deep.Checks() && !israce.Enabled {
		most = mostOfSix
	}
	bombRun{}.run(t, []bombStep{{"a few at once", few}}, func(r *bombReport) {
		t.Log(r)
		r.bar(t, most)
	})
}

// What a process with default limits may take, with one bomb and with six at once.
const (
	mostMemory = 256 * mib
	mostOfSix  = 384 * mib
)

// TestBombs is the whole table, which it logs: each kind alone; six of each that made a process
// take most before there were bounds; and all kinds by sixes, by the child and by tegenaria crawl. It fails if something that
// is made of a page has no bound, or if large pages do not wait for each other.
func TestBombs(t *testing.T) {
	if *bombsFlag == "" {
		t.Skip("-bombs names no kinds")
	}
	kinds := chosenBombs(t, *bombsFlag)
	bar := func(most int64) func(r *bombReport) {
		return func(r *bombReport) {
			t.Log(r)
			r.bar(t, most)
		}
	}
	t.Run("alone", func(t *testing.T) {
		for _, step := range eachTimes(kinds, 1) { // a process for each
			bombRun{}.run(t, []bombStep{step}, bar(mostMemory))
		}
	})
	pages, queried := split(worst(kinds))
	t.Run("six of one kind", func(t *testing.T) { bombRun{}.run(t, eachTimes(pages, 6), bar(mostOfSix)) })
	// In a process of their own: the trap guard knows more than 1,500 good pages that are so alike for a trap.
	t.Run("six queries of one kind", func(t *testing.T) { bombRun{}.run(t, eachTimes(queried, 6), bar(mostOfSix)) })
	t.Run("six kinds", func(t *testing.T) { bombRun{}.run(t, sixes(kinds), bar(mostOfSix)) })
	t.Run("command", func(t *testing.T) { bombRun{crawl: true}.run(t, sixes(onlyPages(kinds)), bar(mostOfSix)) })
}

// split parts the kinds that are read from those that are queried.
func split(kinds []bombKind) (pages, queried []bombKind) {
	for _, kind := range kinds {
		if kind.query {
			queried = append(queried, kind)
		} else {
			pages = append(pages, kind)
		}
	}
	return pages, queried
}

// worst returns the kinds of which six are tried at once.
func worst(kinds []bombKind) (left []bombKind) {
	for _, kind := range kinds {
		if kind.worst {
			left = append(left, kind)
		}
	}
	return left
}

// containers are the sizes of containers of which docs/guides/memory.md says how to set them up, and that of the issue.
var containers = []struct {
	size    int64
	limits  string // of the engine, as JSON
	goLimit string
}{
	{256 * mib, "", "GOMEMLIMIT=128MiB"},
	{512 * mib, `{"bodies_in_flight": 100663296}`, "GOMEMLIMIT=384MiB"},
}

// TestBombsInContainer has the worst bombs, by sixes, crawled in control groups of the sizes that the guide names:
// nothing is killed. Where no control group can be made, VmHWM stands for it. It fails as TestBombs does.
func TestBombsInContainer(t *testing.T) {
	if *bombsFlag == "" {
		t.Skip("-bombs names no kinds")
	}
	for _, c := range containers {
		t.Run(fmt.Sprint(c.size/mib), func(t *testing.T) {
			group, err := killtest.NewMemoryGroup(c.size)
			if err != nil {
				t.Logf("no control group can be made here (%v): VmHWM is all that is looked at", err)
			} else {
				t.Cleanup(func() { group.Close() }) // its processes are killed before
			}
			run := bombRun{group: group, env: []string{c.goLimit}, limits: c.limits}
			run.run(t, sixes(worst(chosenBombs(t, *bombsFlag))), func(r *bombReport) {
				t.Log(r)
				if group != nil {
					if kills, err := group.Kills(); kills > 0 || err != nil {
						r.lose("the control group was full: %d processes were killed, %v", kills, err)
					}
				}
				r.bar(t, c.size)
			})
		})
	}
}
