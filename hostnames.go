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

// of is the string of a name.
func (n *hostNames) of(host []byte) string {
	kept := &n.names[maphash.Bytes(n.seed, host)%uint64(len(n.names))]
	if name := kept.Load(); name != nil && *name == string(host) {
		return *name
	}
	name := string(host)
	kept.Store(&name)
	return name
}
