package middleware

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/tegenaria/tegenaria"
)

// DurableCookies are [Cookies] that are stored with a durable job: opened again, it has the jars that it had when the
// last page was settled, session cookies too. Each batch of settled pages that changed a cookie writes all jars,
// so they are for logins and sessions rather than for the cookies of a million hosts.
//
// It is a type of its own because whatever is stored has its price: also where the cache is in memory, pages then
// are settled in batches.
type DurableCookies struct {
	*Cookies

	mu     sync.Mutex // guards the fields below
	stored []byte     // the checkpoint as of
	as     uint64     // that many changes
}

var (
	_ tegenaria.Committer       = (*DurableCookies)(nil)
	_ tegenaria.ErrorMiddleware = (*DurableCookies)(nil)
)

// NewDurableCookies makes jars that are stored with the job.
func NewDurableCookies(o CookieOptions) *DurableCookies {
	return &DurableCookies{Cookies: NewCookies(o)}
}

// CommitKey names the checkpoint.
func (m *DurableCookies) CommitKey() string { return "middleware.cookies" }

// Restore fills the jars from a checkpoint. Jars that were filled before keep what is not in it.
func (m *DurableCookies) Restore(_ context.Context, checkpoint []byte) error {
	if len(checkpoint) == 0 {
		return nil
	}
	var jars map[string][]Cookie
	if err := json.Unmarshal(checkpoint, &jars); err != nil {
		return fmt.Errorf("middleware: the stored cookies cannot be read: %w", err)
	}
	for name, cookies := range jars {
		if err := m.Add(name, cookies...); err != nil {
			return err
		}
	}
	return nil
}

// Prepare returns all jars as the checkpoint.
func (m *DurableCookies) Prepare(context.Context, []string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	changes := m.changes.Load()
	if m.stored != nil && changes == m.as {
		return m.stored, nil
	}
	jars := make(map[string][]Cookie)
	for _, name := range m.Jars() {
		if cookies := m.All(name); len(cookies) > 0 {
			jars[name] = cookies
		}
	}
	checkpoint, err := json.Marshal(jars)
	if err != nil {
		return nil, fmt.Errorf("middleware: the cookies cannot be stored: %w", err)
	}
	m.stored, m.as = checkpoint, changes
	return checkpoint, nil
}

// Discard has nothing to do: a cookie stays, whatever becomes of the page that brought it.
func (m *DurableCookies) Discard(string) {}
