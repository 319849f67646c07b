package browser

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// memoryOf returns the memory of the processes of a group. It returns none of them if it is plain that together they take at most
// enough: a close look at a process takes milliseconds.
func memoryOf(group int, enough int64) (all []memory) {
	var resident int64
	for _, pid := range membersOf(group) {
		m := memory{pid: pid}
		whole, own := pagesOf(pid)
		m.bytes = own
		resident += whole
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		m.renders = bytes.Contains(line, []byte("--type=renderer"))
		all = append(all, m)
	}
	if resident <= enough {
		return nil
	}
	for i, m := range all {
		if share, ok := shareOf(m.pid); ok {
			all[i].bytes = share
		}
	}
	return all
}

// membersOf returns the processes of a group.
func membersOf(group int) (pids []int) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil && isMember(group, pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isMember reports whether a process belongs to a group and has not ended. One that has ended stays in the list of processes until its
// parent asks for it, for good in a container whose first process asks for none.
func isMember(group, pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // the name before it may contain spaces
	return len(fields) > 2 && fields[2] == strconv.Itoa(group) && fields[0] != "Z" && fields[0] != "X"
}

// pagesOf returns the resident memory of a process, and how much of it belongs to no file and to no other process.
func pagesOf(pid int) (resident, own int64) {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0
	}
	var size, shared int64
	fmt.Sscan(string(statm), &size, &resident, &shared)
	page := int64(os.Getpagesize())
	return resident * page, (resident - shared) * page
}

// shareOf returns the proportional set size of a process. Those of a sandbox may keep it secret.
func shareOf(pid int) (int64, bool) {
	rollup, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		return 0, false
	}
	_, rest, found := strings.Cut(string(rollup), "\nPss:")
	var kilobytes int64
	fmt.Sscan(rest, &kilobytes)
	return kilobytes << 10, found
}

// killMember kills a process if it still belongs to the group.
func killMember(group, pid int) {
	p, err := os.FindProcess(pid) // a handle, which does not pass to a process that gets the same number later
	if err != nil {
		return
	}
	defer p.Release()
	if isMember(group, pid) {
		p.Kill()
	}
}
