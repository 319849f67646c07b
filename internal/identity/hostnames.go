package identity

import (
	"hash/maphash"
	"sync/atomic"
)

// HostNames keeps the names of the hosts that were linked to lately: the next link to one needs no string of its own. It
// may be used concurrently.
type HostNames struct {
	seed  maphash.Seed
	names [1 << 11]atomic.Pointer[string]
}

// NewHostNames returns an empty list.
func NewHostNames() *HostNames { return &HostNames{seed: maphash.MakeSeed()} }

// longestHostName is how many characters a name has at most, RFC 1035 §3.1. URLs may have longer ones, which are not kept.
const longestHostName = 253

// Of returns a name as a string. A name that was asked for a moment ago takes no allocation.
func (n *HostNames) Of(host []byte) string {
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
