package spiders

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/outfile"
	"github.com/tegenaria/tegenaria/records"
)

// maxKnown bounds how many entries of a feed are remembered.
const maxKnown = 20_000

// answer is what is known of a feed.
type answer struct {
	ETag     string    `json:"etag,omitempty"`
	Modified string    `json:"modified,omitempty"`
	Round    int       `json:"round,omitempty"`   // of the request that it was learnt from
	Entries  entryList `json:"entries,omitempty"` // that were handed over, the oldest first
	Shared   []uint64  `json:"shared,omitempty"`  // keys by which entries cannot be told apart
}

// entryID is an entry: the hash of its key, and the hash of all that it says.
type entryID struct{ Key, Contents uint64 }

// idOf returns the hashes of an entry. They have so many bits that two keys, or two contents, of one feed do not have the same.
func idOf(entry *records.Entry) entryID {
	key, contents := fnv.New64a(), fnv.New64a()
	key.Write([]byte(entry.Key()))
	fmt.Fprintf(contents, "%q %q %q %q %q %d %v", entry.ID, entry.URL, entry.Title, entry.Summary, entry.Content, entry.Published.UnixNano(), entry.Enclosures)
	return entryID{key.Sum64(), contents.Sum64()}
}

// entryList is written as bytes.
type entryList []entryID

// MarshalJSON writes sixteen bytes for each entry.
func (l entryList) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 16*len(l))
	for _, id := range l {
		b = binary.BigEndian.AppendUint64(b, id.Key)
		b = binary.BigEndian.AppendUint64(b, id.Contents)
	}
	return json.Marshal(b)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (l *entryList) UnmarshalJSON(text []byte) error {
	var b []byte
	if err := json.Unmarshal(text, &b); err != nil {
		return err
	}
	*l = make(entryList, 0, len(b)/16)
	for ; len(b) >= 16; b = b[16:] {
		*l = append(*l, entryID{binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:])})
	}
	return nil
}

// entrySet is a set of entries that are looked up by their keys, or by key and contents.
type entrySet struct {
	keys map[uint64]bool
	ids  map[entryID]bool
}

func newEntrySet(list entryList) entrySet {
	s := entrySet{make(map[uint64]bool), make(map[entryID]bool)}
	for _, id := range list {
		s.add(id)
	}
	return s
}

func (s entrySet) add(id entryID) { s.keys[id.Key], s.ids[id] = true, true }

// has reports whether the entry is in the set; whether another one has its key counts only if entries do not share keys.
func (s entrySet) has(id entryID, shared bool) bool { return s.ids[id] || !shared && s.keys[id.Key] }

// feedMemory is what a Feed knows of its feeds: what is stored with the job, and what will be when the requests settle
// that it was learnt from.
type feedMemory struct {
	mu      sync.Mutex // guards all below
	feeds   map[string]answer
	claims  map[string]claim  // the requests that read feeds and have not settled, by the URLs of the feeds
	staged  map[string]staged // by the CtxIds of requests
	stored  []byte            // feeds as it was written last; nil: it has changed since
	forgets bool              // nobody will read what is stored
}

// claim is a request that reads a feed.
type claim struct {
	round int
	id    string
}

// staged is what a request has learnt.
type staged struct {
	url string
	now answer
}

// known returns what is known of a feed.
func (m *feedMemory) known(url string) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.feeds[url]
}

// claimed says whether a request may read an answer of a feed.
type claimed uint8

const (
	isMine claimed = iota // and no other one
	isRead                // another request has read it: a crash can leave two where one was
	isBusy                // another request has not settled yet, and what it learns is not known
)

// claim returns what is known of a feed to the request that reads its next answer.
func (m *feedMemory) claim(url string, round int, id string) (known answer, state claimed) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known = m.feeds[url]
	if c, taken := m.claims[url]; taken && c.round >= round || known.Round >= round {
		return known, isRead
	} else if taken {
		return known, isBusy
	}
	if m.claims == nil {
		m.claims = make(map[string]claim)
	}
	m.claims[url] = claim{round, id}
	return known, isMine
}

// stage notes what a request has learnt. It counts when the request settles.
func (m *feedMemory) stage(id, url string, now answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.staged == nil {
		m.staged = make(map[string]staged)
	}
	m.staged[id] = staged{url, now}
}

// CommitKey names what the spider stores with a job.
func (s *Feed) CommitKey() string { return "tegenaria/spiders.Feed" }

// Restore takes up what a job has stored; a new job begins with what is in the file State.
func (s *Feed) Restore(ctx context.Context, checkpoint []byte) error {
	if s.parser == nil {
		return fmt.Errorf("spiders: NewFeed(%q): the func is nil", s.Name)
	}
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.feeds, m.claims, m.staged, m.stored = make(map[string]answer), nil, nil, nil
	m.forgets = !tegenaria.Resumable(ctx)
	isNew := len(checkpoint) == 0
	if isNew && s.State != "" {
		var err error
		if checkpoint, err = os.ReadFile(s.State); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("spiders: reading what earlier jobs have handed over: %w", err)
		}
	}
	if len(checkpoint) == 0 {
		return nil
	}
	if err := json.Unmarshal(checkpoint, &m.feeds); err != nil {
		return fmt.Errorf("spiders: what the spider %q has stored cannot be read; a new job begins with other files: %w", s.Name, err)
	}
	if isNew {
		for url, known := range m.feeds {
			known.Round = 0 // its requests are those of another job
			m.feeds[url] = known
		}
	}
	return nil
}

// Prepare takes over what settled requests have learnt.
func (s *Feed) Prepare(_ context.Context, ids []string) ([]byte, error) {
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, id := range ids {
		if learnt, ok := m.staged[id]; ok {
			delete(m.staged, id)
			delete(m.claims, learnt.url)
			m.feeds[learnt.url] = learnt.now
			m.stored = nil
		}
	}
	if m.stored != nil || m.forgets {
		return m.stored, nil
	}
	var err error
	m.stored, err = json.Marshal(m.feeds)
	return m.stored, err
}

// Discard forgets what a request has learnt: it will run again.
func (s *Feed) Discard(id string) {
	m := &s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.staged, id)
	for url, c := range m.claims {
		if c.id == id {
			delete(m.claims, url)
		}
	}
}

// Close writes the file State.
func (s *Feed) Close(context.Context, string) error {
	if s.State == "" {
		return nil
	}
	m := &s.memory
	m.mu.Lock()
	text, err := json.Marshal(m.feeds)
	m.mu.Unlock()
	if err == nil {
		err = outfile.Replace(s.State, text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("spiders: writing what the spider %q has handed over: %w", s.Name, err)
	}
	return nil
}
