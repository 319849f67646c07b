package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/killtest"
)

const (
	mib = 1 << 20
	// guard is the address space that a measured process may take: a bomb that has no bound shall not take the machine.
	guard = 7 << 30
	// sampling is how often the memory of a process is looked at.
	sampling = 4 * time.Millisecond
)

// measured is a process whose memory is watched.
type measured struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	group  *killtest.MemoryGroup // nil: none
	ended  chan struct{}
	err    error // of Wait; after ended

	mu      sync.Mutex // guards the fields below
	peak    int64      // VmHWM, bytes
	rss     int64
	settled map[string]told   // lines with an outcome, by URL
	failed  map[string][]told // the other ones
	more    chan struct{}     // closed and replaced when there are more
}

// startMeasured starts a process on two cores that the test ends if it does not end by itself. lines says whether its
// stdout has lines of told.
func startMeasured(t *testing.T, group *killtest.MemoryGroup, env []string, lines bool, name string, args ...string) *measured {
	t.Helper()
	argv := append([]string{"sh", "-c", fmt.Sprintf(`ulimit -v %d; exec "$@"`, guard>>10), "sh", name}, args...)
	if group != nil {
		argv = group.Command(append([]string{name}, args...))
	}
	p := &measured{group: group, ended: make(chan struct{}), more: make(chan struct{}),
		settled: make(map[string]told), failed: make(map[string][]told)}
	p.cmd = exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	p.cmd.Env = append(append(os.Environ(), "GOMAXPROCS=2"), env...)
	p.cmd.Stderr = &p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { p.read(stdout, lines) })
	running.Go(func() { p.watch() })
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		running.Wait()
	})
	return p
}

// read reads stdout to its end, then waits for the process.
func (p *measured) read(stdout io.Reader, lines bool) {
	in := bufio.NewReader(stdout)
	for lines {
		text, err := in.ReadBytes('\n')
		if err != nil {
			break
		}
		var line told
		if json.Unmarshal(text, &line) == nil {
			p.mu.Lock()
			if line.Outcome == "" {
				p.failed[line.URL] = append(p.failed[line.URL], line)
			} else {
				p.settled[line.URL] = line
			}
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
	}
	_, _ = io.Copy(io.Discard, in)
	p.err = p.cmd.Wait()
	close(p.ended)
}

// watch looks at the memory of the process until it ends.
func (p *measured) watch() {
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	path := fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid)
	for {
		select {
		case <-p.ended:
			return
		case <-tick.C:
		}
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		p.mu.Lock()
		if peak, rss := field(text, "VmHWM:"), field(text, "VmRSS:"); rss > 0 {
			p.peak, p.rss = max(p.peak, peak), rss
		}
		p.mu.Unlock()
	}
}

// field reads a number of kB from /proc/PID/status, in bytes.
func field(status []byte, name string) int64 {
	_, rest, ok := bytes.Cut(status, []byte(name))
	if !ok {
		return 0
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, _ := strconv.ParseInt(strings.Fields(string(line))[0], 10, 64)
	return n << 10
}

// memory returns the largest and the present resident set.
func (p *measured) memory() (peak, rss int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.peak, p.rss
}

// errProcessEnded says that a process ended before what was waited for.
var errProcessEnded = errors.New("the process ended")

// forget makes the present memory the peak. Where the system cannot, the peak stays: it is one of the whole process then.
func (p *measured) forget() {
	if os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", p.cmd.Process.Pid), []byte("5"), 0) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak = 0
}

// until waits until the requests for all URLs have settled.
func (p *measured) until(limit time.Duration, urls []string) error {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		p.mu.Lock()
		for len(urls) > 0 && p.settled[urls[0]].Outcome != "" {
			urls = urls[1:]
		}
		more := p.more
		p.mu.Unlock()
		if len(urls) == 0 {
			return nil
		}
		select {
		case <-more:
		case <-p.ended:
			return errProcessEnded
		case <-late.C:
			return fmt.Errorf("%s and perhaps others have not settled within %s", urls[0], limit)
		}
	}
}

// wait waits until the process ends, and kills it if that takes too long.
func (p *measured) wait(limit time.Duration) (code int, says string) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-p.ended:
	case <-late.C:
		_ = p.cmd.Process.Kill()
		<-p.ended
		return -1, fmt.Sprintf("did not end within %s", limit)
	}
	says = p.stderr.String()
	if first, _, ok := strings.Cut(says, "\n"); ok {
		says = first
	}
	if p.cmd.ProcessState.ExitCode() < 0 {
		says = p.cmd.ProcessState.String() + " " + says
	}
	return p.cmd.ProcessState.ExitCode(), says
}
