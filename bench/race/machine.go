//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// The CPUs of the race: one for the server, one for the contestants. Without taskset, or with one CPU, nothing is pinned.
const (
	serverCPU  = "0"
	crawlerCPU = "1"
	bothCPUs   = "0,1"
)

// canPin reports whether processes can be kept to a CPU.
func canPin() bool {
	_, err := exec.LookPath("taskset")
	return err == nil && runtime.NumCPU() > 1
}

// pinned is the start of a command that is kept to a CPU.
func pinned(cpu string) []string {
	if cpu == "" || !canPin() {
		return nil
	}
	return []string{"taskset", "-c", cpu}
}

// tick is the unit of the times in /proc: USER_HZ, which is 100 on all that Go runs on.
const tick = time.Second / 100

// machineTime is the CPU time that the machine has spent so far on all that ran, without waiting. It is 0 where the
// system does not tell.
func machineTime() time.Duration {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	var sum int64
	for i, name := range []string{"cpu", "user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal"} {
		if i >= len(fields) || name == "cpu" || name == "idle" || name == "iowait" {
			continue
		}
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0
		}
		sum += n
	}
	return time.Duration(sum) * tick
}

// load is the number of processes that want a CPU, averaged over the last minute; "" if the system does not tell.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}

// processor is the name of the CPU.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
				return strings.TrimSpace(value)
			}
		}
	}
	return runtime.GOARCH
}

// kernel is the name and version of the system.
func kernel() string {
	out, err := exec.Command("uname", "-sr").Output()
	if err != nil {
		return runtime.GOOS
	}
	return strings.TrimSpace(string(out))
}

// residentSet is the memory that a process has now.
func residentSet(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, fmt.Errorf("measuring memory needs Linux: %w", err)
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm of process %d is %q", pid, text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// awaitQuiet waits until no thread of a process has run for half a second, at most for the limit.
func awaitQuiet(pid int, limit time.Duration) error {
	const step, enough = 50 * time.Millisecond, 10
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	deadline := time.Now().Add(limit)
	last, same := "", 0
	for same < enough && time.Now().Before(deadline) {
		<-ticker.C
		now, running, err := threads(pid)
		if err != nil {
			return err
		}
		if running || now != last {
			same = 0
		} else {
			same++
		}
		last = now
	}
	return nil
}

// threads tells how much CPU time the threads of a process have had, as text to compare, and whether one wants more.
func threads(pid int) (times string, running bool, err error) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	if err != nil {
		return "", false, err
	}
	if len(names) == 0 {
		return "", false, fmt.Errorf("process %d is gone", pid)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // this thread has ended since
		}
		_, rest, _ := bytes.Cut(text, []byte(") ")) // the name before it may hold anything
		fields := strings.Fields(string(rest))
		if len(fields) < 13 {
			return "", false, fmt.Errorf("%s is %q", name, text)
		}
		running = running || fields[0] == "R" || fields[0] == "D"
		fmt.Fprintln(&all, filepath.Base(filepath.Dir(name)), fields[11], fields[12])
	}
	return all.String(), running, nil
}
