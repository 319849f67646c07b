package cluster

import (
	"hash/fnv"
	"net"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// partitionOf returns the partition of a slot: all slots of one registrable domain have the same.
func partitionOf(slot string, partitions int) int {
	host, _, err := net.SplitHostPort(slot)
	if err != nil {
		host = slot
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(urlx.RegistrableDomain(host)))
	return int(h.Sum64() % uint64(partitions))
}
