package middleware

import (
	"hash/maphash"
)

// Suspicion is what the trap guard sees in a URL.
type Suspicion struct {
	Repeats, Dated, Session bool
	Date, Page, Pattern     uint64
}

var testSeed = maphash.MakeSeed()

// Suspect is suspect, for paths that stand there three times.
func Suspect(url string) Suspicion {
	s := suspect(testSeed, url, 3, true)
	return Suspicion{s.repeats, s.dated, s.session, s.date, s.page, s.pattern}
}

// BodyKey is bodyKey.
func BodyKey(body, path string) uint64 { return bodyKey(testSeed, []byte(body), path) }

// Heavy counts keys as the trap guard does.
type Heavy struct{ heavy }

// Add counts a key.
func (h *Heavy) Add(key uint64) int { return h.add(key) }

// Retained counts the pages whose findings are kept.
func (m *RobotsTags) Retained() int {
	m.pages.mu.Lock()
	defer m.pages.mu.Unlock()
	return len(m.pages.pages)
}
