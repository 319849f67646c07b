package cookiejar

import (
	"hash/fnv"
	"slices"
)

// Parts is into how many parts the cookies of a store are divided, so that a change costs the writing of one part. The cookies of a
// domain in a jar are in one part.
const Parts = 1 << 12

// part holds the groups that are written together.
type part struct {
	groups  []*group
	version uint64 // of the store, when a cookie of the part changed last; 0: never
}

// partOf returns the part of a domain in a jar. It is the same in each process.
func partOf(jar, domain string) int {
	h := fnv.New32a()
	h.Write([]byte(jar))
	h.Write([]byte{0})
	h.Write([]byte(domain))
	return int(h.Sum32() % Parts)
}

// join adds a new group to its part. The caller holds mu.
func (s *Store) join(g *group) {
	g.part = partOf(g.jar.name, g.domain)
	if s.parts == nil {
		s.parts = make(map[int]*part)
	}
	if s.parts[g.part] == nil {
		s.parts[g.part] = new(part)
	}
	s.parts[g.part].groups = append(s.parts[g.part].groups, g)
}

// leave takes a group out of its part. The caller holds mu.
func (s *Store) leave(g *group) {
	p := s.parts[g.part]
	p.groups = slices.DeleteFunc(p.groups, func(other *group) bool { return other == g })
	s.changed(g)
}

// changed notes that cookies of a group came, went or changed. The caller holds mu.
func (s *Store) changed(g *group) {
	s.version++
	s.parts[g.part].version = s.version
}

// Changed returns the parts whose cookies have changed since a version of the store, by number, each with the cookies of its jars by
// the jar's name, in order of creation, and the version that the store has now. Version 0 is that of an empty store.
func (s *Store) Changed(since uint64) (parts map[int]map[string][]Cookie, version uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version == since {
		return nil, since
	}
	parts = make(map[int]map[string][]Cookie)
	for n, p := range s.parts {
		if p.version <= since {
			continue
		}
		jars := make(map[string][]Cookie)
		for _, g := range p.groups {
			for _, c := range g.cookies {
				jars[g.jar.name] = append(jars[g.jar.name], c.Cookie)
			}
		}
		parts[n] = jars
	}
	return parts, s.version
}
