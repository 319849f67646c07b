package cluster

import (
	"hash/fnv"
	"net"
	"slices"

	"golang.org/x/net/publicsuffix"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// suffixes are a list of public suffixes, by which slots are divided.
type suffixes struct {
	version string
	domain  func(host string) string // the registrable domain of a host
}

// builtIn is the list of this program.
var builtIn = suffixes{publicsuffix.List.String(), urlx.RegistrableDomain}

// partitionOf returns the partition of a slot: all slots of one registrable domain have the same.
func (s suffixes) partitionOf(slot string, partitions int) int {
	host, _, err := net.SplitHostPort(slot)
	if err != nil {
		host = slot
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(s.domain(host)))
	return int(h.Sum64() % uint64(partitions))
}

// location says which server of a job a worker works on. Of the partitions of the job, number n lies on server n mod
// servers; there it has the number n div servers, by which all but this file know it.
type location struct {
	suffixes
	ownServer  int // the server on which all partitions of the worker lie
	servers    int
	partitions int // of all servers
}

// locate returns the server of a slot, and the number of its partition there.
func (p location) locate(slot string) (server, partition int) {
	n := p.partitionOf(slot, p.partitions)
	return n % p.servers, n / p.servers
}

// partitionsHere returns how many partitions lie on the worker's server.
func (p location) partitionsHere() int {
	return (p.partitions - p.ownServer + p.servers - 1) / p.servers
}

// assign returns which session shall have each partition. They are divided evenly, and as few as possible go from one
// session to another: wanted says who was to have each before. All who know the same sessions come to the same result.
func assign(wanted, sessions []int64) []int64 {
	slices.Sort(sessions)
	least, more := len(wanted)/len(sessions), len(wanted)%len(sessions) // so many sessions have one more than the least
	has := make(map[int64]int, len(sessions))
	keeps := func(session int64) bool {
		switch {
		case has[session] < least:
		case has[session] == least && more > 0:
			more--
		default:
			return false
		}
		has[session]++
		return true
	}
	result := make([]int64, len(wanted))
	for p, session := range wanted {
		if slices.Contains(sessions, session) && keeps(session) {
			result[p] = session
		}
	}
	for p := range result {
		for _, session := range sessions {
			if result[p] == 0 && keeps(session) {
				result[p] = session
			}
		}
	}
	return result
}

// parts says which partitions a cache has. The mutex of the cache guards it.
type parts struct {
	location
	owned   []bool
	leaving []bool                  // those of them that another worker is to have: no request of theirs is handed out
	foreign map[string]slotLocation // of slots that were asked for and are others'
}

// slotLocation is the server of a slot, and its partition there.
type slotLocation struct{ server, partition int }

func newParts(p location) parts {
	return parts{location: p, owned: make([]bool, p.partitionsHere()), leaving: make([]bool, p.partitionsHere())}
}

// mostForeign is how many names of slots of others are remembered with their partitions.
const mostForeign = 1 << 16

// isForeign reports whether a slot that the cache does not have is another worker's, and returns where it lies.
func (p *parts) isForeign(name string) (at slotLocation, foreign bool) {
	at, ok := p.foreign[name]
	if !ok {
		at.server, at.partition = p.locate(name)
		if len(p.foreign) >= mostForeign {
			clear(p.foreign)
		}
		p.foreign[name] = at
	}
	return at, at.server != p.ownServer || !p.owned[at.partition]
}

// ownedNumbers returns the partitions that the cache has.
func (p *parts) ownedNumbers() (numbers []int) {
	for i, owned := range p.owned {
		if owned {
			numbers = append(numbers, i)
		}
	}
	return numbers
}
