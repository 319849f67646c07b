package killtest

import (
	"bytes"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Fault is a signal that a running program is sent, and the moment of it: when Count or Line says so, or else when the
// program has started; and After later. The zero Fault kills the program at once.
type Fault struct {
	Signal syscall.Signal // 0 is SIGKILL
	Count  int            // the moment is when [Process.Count] is called for the Count-th time, before it returns
	Line   string         // the moment is when the program has written a line that contains Line
	After  time.Duration
}

// Process is a program that was started. Its methods may be called by several goroutines.
type Process struct {
	cmd    *exec.Cmd
	began  time.Time
	faults []Fault

	mu      sync.Mutex // guards the fields below
	count   int
	output  []byte
	scanned int    // bytes of output that have been looked through for lines
	come    []bool // by fault: its moment has come
	timers  []*time.Timer
	struck  bool
}

// Exit is how a program ended.
type Exit struct {
	Start  int            // which start of a [Loop] it was, from 0
	Err    error          // of [exec.Cmd.Wait]: nil if the program has ended with the exit code 0
	Signal syscall.Signal // that ended it; 0: it ended by itself
	Struck bool           // it was sent a signal: by a fault, by Signal, or because of [Loop.Limit]
	Hung   bool           // it was killed because of [Loop.Limit]
	Took   time.Duration
	Output string // its standard output and error, each unless the command has a place of its own for it
}

// Killed reports whether SIGKILL has ended the program. It may have sent that to itself.
func (e Exit) Killed() bool { return e.Signal == syscall.SIGKILL }

// writer is the output of a process.
type writer struct{ *Process }

// Start starts a program, which faults befall. Whoever starts one calls Wait.
func Start(cmd *exec.Cmd, faults ...Fault) (*Process, error) {
	p := &Process{cmd: cmd, faults: faults, come: make([]bool, len(faults)), began: time.Now()}
	if cmd.Stdout == nil {
		cmd.Stdout = writer{p}
	}
	if cmd.Stderr == nil {
		cmd.Stderr = writer{p}
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = 10 * time.Second // for programs that it has started itself, which hold its output open
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	for i, f := range faults {
		if f.Count == 0 && f.Line == "" {
			p.arm(i)
		}
	}
	return p, nil
}

// Count counts something that the program has done, for example a request that a server has received. It reports whether
// that was the moment of a fault.
func (p *Process) Count() (moment bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	for i, f := range p.faults {
		if f.Count == p.count {
			p.arm(i)
			moment = true
		}
	}
	return moment
}

// Write looks for the lines that faults wait for.
func (w writer) Write(b []byte) (int, error) {
	p := w.Process
	p.mu.Lock()
	defer p.mu.Unlock()
	p.output = append(p.output, b...)
	for {
		line, _, whole := bytes.Cut(p.output[p.scanned:], []byte("\n"))
		if !whole {
			return len(b), nil
		}
		p.scanned += len(line) + 1
		for i, f := range p.faults {
			if f.Line != "" && bytes.Contains(line, []byte(f.Line)) {
				p.arm(i)
			}
		}
	}
}

// arm has a fault come, whose moment it is, once. It is called with mu held.
func (p *Process) arm(i int) {
	if p.come[i] {
		return
	}
	p.come[i] = true
	signal := p.faults[i].Signal
	if signal == 0 {
		signal = syscall.SIGKILL
	}
	if p.faults[i].After > 0 {
		p.timers = append(p.timers, time.AfterFunc(p.faults[i].After, func() { p.Signal(signal) }))
		return
	}
	p.send(signal)
}

// Signal sends the program a signal. It does nothing if the program has ended.
func (p *Process) Signal(signal syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(signal)
}

// send is called with mu held.
func (p *Process) send(signal syscall.Signal) {
	if p.cmd.Process.Signal(signal) == nil {
		p.struck = true
	}
}

// Wait waits until the program has ended.
func (p *Process) Wait() Exit {
	err := p.cmd.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, timer := range p.timers {
		timer.Stop()
	}
	e := Exit{Err: err, Struck: p.struck, Took: time.Since(p.began), Output: string(p.output)}
	if status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = status.Signal()
	}
	return e
}
