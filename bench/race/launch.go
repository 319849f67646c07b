//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// A contestant is not started by the judge but by a small process in between, which is this program again, as
//
//	race launch PROGRAM ARGUMENTS...
//
// What wait4 tells of a process counts as its peak of memory also what its parent had when it started it; the judge,
// with all its items, would be most of that.

// started is the first line that a launcher prints.
type started struct {
	PID int `json:"pid"`
}

// usage is the second: what wait4 said.
type usage struct {
	Exit    int     `json:"exit"` // its status; -1 if a signal ended it
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`     // seconds of user and system time
	PeakRSS int64   `json:"peakrss"` // bytes
}

// launch runs a program, and kills it when the standard input ends: then the judge is gone.
func launch(args []string) error {
	if len(args) == 0 {
		return errors.New("launch needs a program")
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	encoder := json.NewEncoder(os.Stdout)
	if err := encoder.Encode(started{cmd.Process.Pid}); err != nil {
		return errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	go func() { // ends with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = cmd.Process.Kill() // it may have ended
	}()
	var failed *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &failed) {
		return err
	}
	took := time.Since(begin)
	used, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return errors.New("the system tells nothing of the resources of a process")
	}
	return encoder.Encode(usage{
		Exit: cmd.ProcessState.ExitCode(), Seconds: took.Seconds(), CPU: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(),
		PeakRSS: int64(used.Maxrss) * maxrssUnit(),
	})
}

// maxrssUnit is the bytes of which getrusage counts.
func maxrssUnit() int64 {
	if runtime.GOOS == "darwin" {
		return 1
	}
	return 1024
}

// process is a contestant that runs.
type process struct {
	pid      int
	launcher *exec.Cmd
	stdin    io.Closer
	said     *bytes.Buffer // its standard output and error

	ended  context.Context // done when the process is; usage and err stand then
	finish context.CancelFunc
	usage  usage
	err    error
}

// start starts a program on a CPU, "" for any, with an addition to the environment. Whoever starts one waits for it.
func start(cpu string, env []string, argv ...string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := append(pinned(cpu), append([]string{self, "launch"}, argv...)...)
	p := &process{launcher: exec.Command(command[0], command[1:]...), said: new(bytes.Buffer)}
	p.launcher.Env = append(os.Environ(), env...)
	p.launcher.Stderr = p.said
	if p.stdin, err = p.launcher.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.launcher.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.launcher.Start(); err != nil {
		return nil, err
	}
	lines := json.NewDecoder(out)
	var s started
	if err := lines.Decode(&s); err != nil {
		return nil, p.end(fmt.Errorf("launching %s: %w", argv[0], err))
	}
	p.pid = s.PID
	p.ended, p.finish = context.WithCancel(context.Background())
	go func() { // wait waits for it
		p.err = lines.Decode(&p.usage)
		p.finish()
	}()
	return p, nil
}

// wait waits for the end of the process. It kills it after the limit; stopped says so.
func (p *process) wait(limit time.Duration) (u usage, stopped bool, err error) {
	timer := time.AfterFunc(limit, func() { _ = p.kill() }) // it may have ended
	<-p.ended.Done()
	stopped = !timer.Stop()
	if err = p.err; err != nil {
		err = fmt.Errorf("waiting for a contestant: %w", err)
	}
	return p.usage, stopped, p.end(err)
}

// end waits for the launcher. It adds to an error what the process has said.
func (p *process) end(err error) error {
	closed, waited := p.stdin.Close(), p.launcher.Wait()
	if err != nil {
		err = fmt.Errorf("%w%s", err, p.lastWords())
	}
	return errors.Join(err, closed, waited)
}

// kill ends the process at once.
func (p *process) kill() error { return syscall.Kill(p.pid, syscall.SIGKILL) }

// lastWords is the end of what the process has said, on lines of its own. It may be called when the launcher has ended.
func (p *process) lastWords() string {
	said := strings.TrimSpace(p.said.String())
	if said == "" {
		return ""
	}
	return "\n" + said[max(0, len(said)-2000):]
}
