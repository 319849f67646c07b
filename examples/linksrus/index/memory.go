package index

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/google/uuid"
)

// Memory is an Index in memory: for tests, and for crawls that need not be kept.
type Memory struct {
	mu    sync.RWMutex // guards the fields below and what it holds
	docs  map[uuid.UUID]*indexed
	words map[string][]posting // in the order of their documents' numbers
	last  int                  // number that was given to a document
}

// indexed is a document with its words, by which it is taken out again.
type indexed struct {
	doc            Document
	number         int
	title, content int // words
	words          map[string]*posting
}

// posting says where a word stands in a document, counted in words.
type posting struct {
	in             *indexed
	title, content []int32
}

// NewMemory returns an empty index.
func NewMemory() *Memory {
	return &Memory{docs: make(map[uuid.UUID]*indexed), words: make(map[string][]posting)}
}

var _ Index = (*Memory)(nil)

// Index implements Index.
func (m *Memory) Index(ctx context.Context, doc *Document) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if doc.LinkID == uuid.Nil {
		return fmt.Errorf("%w: %s", ErrNoLinkID, doc.URL)
	}
	d := newIndexed(doc)
	m.mu.Lock()
	defer m.mu.Unlock()
	d.doc.Score = 0
	if old := m.docs[doc.LinkID]; old != nil {
		d.doc.Score = old.doc.Score
		for word := range old.words {
			if m.words[word] = cut(m.words[word], old.number); len(m.words[word]) == 0 {
				delete(m.words, word)
			}
		}
	}
	m.docs[doc.LinkID] = d
	m.last++
	d.number = m.last
	for word, p := range d.words {
		m.words[word] = append(m.words[word], *p)
	}
	return nil
}

// place returns where the document with this number is in a list, or would be.
func place(list []posting, number int) (int, bool) {
	return slices.BinarySearchFunc(list, number, func(p posting, number int) int { return cmp.Compare(p.in.number, number) })
}

// cut returns a list without a document.
func cut(list []posting, number int) []posting {
	i, found := place(list, number)
	if !found {
		return list
	}
	return slices.Delete(list, i, i+1)
}

func newIndexed(doc *Document) *indexed {
	d := &indexed{doc: *doc, words: make(map[string]*posting)}
	at := func(word string) *posting {
		p := d.words[word]
		if p == nil {
			p = &posting{in: d}
			d.words[word] = p
		}
		return p
	}
	title, content := Terms(doc.Title), Terms(doc.Content)
	d.title, d.content = len(title), len(content)
	for i, word := range title {
		p := at(word)
		p.title = append(p.title, int32(i))
	}
	for i, word := range content {
		p := at(word)
		p.content = append(p.content, int32(i))
	}
	return d
}

// FindByID implements Index.
func (m *Memory) FindByID(ctx context.Context, linkID uuid.UUID) (*Document, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	d := m.docs[linkID]
	if d == nil {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, linkID)
	}
	doc := d.doc
	return &doc, nil
}

// UpdateScore implements Index.
func (m *Memory) UpdateScore(ctx context.Context, linkID uuid.UUID, score float64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	d := m.docs[linkID]
	if d == nil {
		return fmt.Errorf("%w: %s", ErrNotFound, linkID)
	}
	d.doc.Score = score
	return nil
}

// UpdateScores implements Index.
func (m *Memory) UpdateScores(ctx context.Context, scores iter.Seq2[uuid.UUID, float64]) error {
	for id, score := range scores {
		if err := m.UpdateScore(ctx, id, score); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// hit is a document that was found.
type hit struct {
	*indexed
	relevance float64 // with the factor of its rank
}

// Search implements Index.
func (m *Memory) Search(ctx context.Context, q Query) (*Result, error) {
	words, err := q.check()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	hits := m.find(words, q.Type)
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.relevance, a.relevance), bytes.Compare(a.doc.LinkID[:], b.doc.LinkID[:]))
	})
	result := &Result{Total: len(hits)}
	for _, h := range hits[min(q.Offset, len(hits)):min(q.Offset+q.Limit, len(hits))] {
		doc := h.doc
		result.Documents = append(result.Documents, &doc)
	}
	return result, nil
}

// find looks at the documents that have the rarest of the words, and goes through the lists of the others side
// by side with that one.
func (m *Memory) find(words []string, how QueryType) []hit {
	if len(words) == 0 {
		return nil
	}
	rarest := slices.MinFunc(words, func(a, b string) int { return cmp.Compare(len(m.words[a]), len(m.words[b])) })
	rest := make([][]posting, len(words)) // what is left of the list of each word
	rare := make([]rarity, len(words))
	for i, word := range words {
		rest[i] = m.words[word]
		rare[i] = m.rarity(rest[i])
	}
	var hits []hit
	at := make([]*posting, len(words))
	for _, p := range m.words[rarest] {
		relevance, found := 0.0, true
		for i := range rest {
			var j int
			if j, found = next(rest[i], p.in.number); !found {
				break
			}
			rest[i] = rest[i][j:]
			at[i] = &rest[i][0]
			relevance += rare[i].relevance(occurrence{len(at[i].title), p.in.title}, occurrence{len(at[i].content), p.in.content})
		}
		if found && (how == Match || hasPhrase(at)) {
			hits = append(hits, hit{p.in, relevance * rankFactor(p.in.doc.Score, len(m.docs))})
		}
	}
	return hits
}

// rarity is that of a word with this list.
func (m *Memory) rarity(list []posting) rarity {
	titles, contents := 0, 0
	for i := range list {
		if len(list[i].title) > 0 {
			titles++
		}
		if len(list[i].content) > 0 {
			contents++
		}
	}
	return newRarity(len(m.docs), titles, contents)
}

// next is place for a document that is near as a rule.
func next(list []posting, number int) (int, bool) {
	for i := range min(len(list), 8) {
		if list[i].in.number >= number {
			return i, list[i].in.number == number
		}
	}
	return place(list, number)
}

// hasPhrase reports whether words with these places stand side by side in the title or in the content.
func hasPhrase(words []*posting) bool {
	return adjacent(words, func(p *posting) []int32 { return p.title }) ||
		adjacent(words, func(p *posting) []int32 { return p.content })
}

func adjacent(words []*posting, field func(*posting) []int32) bool {
	return slices.ContainsFunc(field(words[0]), func(start int32) bool {
		for i, word := range words[1:] {
			if _, ok := slices.BinarySearch(field(word), start+1+int32(i)); !ok {
				return false
			}
		}
		return true
	})
}

// Close implements Index: it does nothing.
func (m *Memory) Close() error { return nil }
