package tegenaria

import (
	"hash/maphash"
	"sync/atomic"
)

// hostNames keeps the names of hosts that were linked to lately: the next link to one needs no string of its own. It may
// be used concurrently.
type hostNames struct {
	seed  maphash.Seed
	names [1 << 11]atomic.Pointer[string]
}

func newHostNames() *hostNames { return &hostNames{seed: maphash.MakeSeed()} }

// longestHostName is how many characters a name has at most, RFC 1035 §3.1. URLs may have longer ones, which are not kept.
const longestHostName = 253

// of is the string of a name.
func (n *hostNames) of(host []byte) string {
	if len(host) > longestHostName {
		return string(host)
	}
	kept := &n.names[maphash.Bytes(n.seed, host)%uint64(len(n.names))]
	if name := kept.Load(); name != nil && *name == string(host) {
		return *name
	}
	name := string(host)
	kept.Store(&name)
	return name
}
