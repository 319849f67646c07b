package killtest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// MemoryGroup is a control group of Linux: its processes together may take so much memory, and are killed when they need more.
type MemoryGroup struct{ folder, limit, usage, counter string }

// NewMemoryGroup makes a control group, of version 2 or 1, whichever there is, with a limit in bytes; 0: none. The error says why none
// can be made.
func NewMemoryGroup(limit int64) (*MemoryGroup, error) {
	var errs []error
	for _, version := range []struct{ parent, limit, usage, counter string }{
		{"/sys/fs/cgroup", "memory.max", "memory.current", "memory.events"},
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "memory.oom_control"},
	} {
		folder, err := os.MkdirTemp(version.parent, "killtest-")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		g := &MemoryGroup{folder, filepath.Join(folder, version.limit), filepath.Join(folder, version.usage), filepath.Join(folder, version.counter)}
		if _, err = os.Stat(g.usage); err == nil && limit > 0 {
			err = g.Limit(limit)
		}
		if err == nil {
			return g, nil
		}
		errs = append(errs, err, os.Remove(folder))
	}
	return nil, errors.Join(errs...)
}

// Command is a command that runs in the group.
func (g *MemoryGroup) Command(argv []string) []string {
	return append([]string{"sh", "-c", fmt.Sprintf(`echo $$ > %s/cgroup.procs; exec "$@"`, g.folder), "sh"}, argv...)
}

// Limit changes the limit, in bytes; 0: none. If the processes cannot make do with it, the first that needs more is killed.
func (g *MemoryGroup) Limit(bytes int64) error {
	text := strconv.FormatInt(bytes, 10)
	if bytes == 0 {
		text = "-1"
		if filepath.Base(g.limit) == "memory.max" {
			text = "max"
		}
	}
	return os.WriteFile(g.limit, []byte(text), 0)
}

// Usage is how many bytes the processes take.
func (g *MemoryGroup) Usage() (int64, error) {
	text, err := os.ReadFile(g.usage)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// Kills is how many processes were killed because the group was full.
func (g *MemoryGroup) Kills() (n int64, err error) {
	text, err := os.ReadFile(g.counter)
	for line := range strings.Lines(string(text)) {
		if count, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, err = strconv.ParseInt(strings.TrimSpace(count), 10, 64)
		}
	}
	return n, err
}

// Close removes the group, whose processes have ended.
func (g *MemoryGroup) Close() error { return WhileBusy(func() error { return os.Remove(g.folder) }) }

// WhileBusy tries something again while the system says that it is busy, for five seconds: a program that was killed may not be quite
// gone.
func WhileBusy(try func() error) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if err := try(); !errors.Is(err, syscall.EBUSY) {
			return err
		}
		<-tick.C
	}
	return try()
}
