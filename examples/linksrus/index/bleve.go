package index

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/analyzer/custom"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/whitespace"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/google/uuid"
)

// The fields of a document in the index. Title and content are there twice: as they are, and as the words that
// [Terms] finds in them, which are what is searched.
const (
	fieldURL          = "url"
	fieldTitle        = "title"
	fieldContent      = "content"
	fieldIndexedAt    = "indexed_at"
	fieldScore        = "score"
	fieldTitleWords   = "title_words"
	fieldContentWords = "content_words"
)

var storedFields = []string{fieldURL, fieldTitle, fieldContent, fieldIndexedAt, fieldScore}

// Bleve is an Index in a directory, of github.com/blevesearch/bleve. One process may have the directory open
// at a time.
type Bleve struct {
	index bleve.Index
	// update makes one of reading a document and writing it back. It is held meanwhile, as nothing else can
	// keep two updates of a document apart.
	update sync.Mutex
}

var _ Index = (*Bleve)(nil)

// OpenBleve opens the index in a directory, which it makes if there is none. The caller closes it.
//
// A write is visible at once. It is on the disk a moment later, and when Close has returned: after a crash the
// last ones may be missing, never half of one.
func OpenBleve(dir string) (*Bleve, error) {
	index, err := open(dir)
	if err != nil {
		return nil, fmt.Errorf("index: opening %s: %w", dir, err)
	}
	return &Bleve{index: index}, nil
}

func open(dir string) (bleve.Index, error) {
	switch entries, err := os.ReadDir(dir); {
	case errors.Is(err, os.ErrNotExist), err == nil && len(entries) == 0:
		m, err := newMapping()
		if err != nil {
			return nil, err
		}
		return bleve.NewUsing(dir, m, scorch.Name, scorch.Name, map[string]any{
			"unsafe_batch": true, // a write does not wait for the disk
			// Documents that come one by one are gathered for a moment: fewer files to merge.
			"scorchPersisterOptions": map[string]any{"PersisterNapTimeMSec": 250},
		})
	case err != nil:
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(dir, "index_meta.json")); err != nil {
		return nil, fmt.Errorf("not empty and no index: %w", err)
	}
	// Another process that has it open is an error at once, not a wait.
	return bleve.OpenUsing(dir, map[string]any{"bolt_timeout": "1s"})
}

// newMapping says how documents are indexed: words by what is between their spaces, with their places; the score so
// that it can be read for each document that is found.
func newMapping() (mapping.IndexMapping, error) {
	const asTheyAre = "as they are"
	m := bleve.NewIndexMapping()
	if err := m.AddCustomAnalyzer(asTheyAre, map[string]any{"type": custom.Name, "tokenizer": whitespace.Name}); err != nil {
		return nil, err
	}
	words := bleve.NewTextFieldMapping()
	words.Analyzer, words.Store, words.IncludeInAll, words.DocValues = asTheyAre, false, false, false
	kept := bleve.NewKeywordFieldMapping()
	kept.Index, kept.IncludeInAll, kept.DocValues = false, false, false
	number := bleve.NewNumericFieldMapping()
	number.IncludeInAll = false // and with its values by document, which numbers have unless told otherwise

	m.DefaultMapping = bleve.NewDocumentStaticMapping()
	m.DefaultMapping.AddFieldMappingsAt(fieldTitleWords, words)
	m.DefaultMapping.AddFieldMappingsAt(fieldContentWords, words)
	m.DefaultMapping.AddFieldMappingsAt(fieldTitle, kept)
	m.DefaultMapping.AddFieldMappingsAt(fieldContent, kept)
	m.DefaultMapping.AddFieldMappingsAt(fieldURL, kept)
	m.DefaultMapping.AddFieldMappingsAt(fieldIndexedAt, kept)
	m.DefaultMapping.AddFieldMappingsAt(fieldScore, number)
	return m, m.Validate()
}

// Index implements Index.
func (b *Bleve) Index(ctx context.Context, doc *Document) error {
	if doc.LinkID == uuid.Nil {
		return fmt.Errorf("%w: %s", ErrNoLinkID, doc.URL)
	}
	b.update.Lock()
	defer b.update.Unlock()
	score := 0.0
	switch old, err := b.FindByID(ctx, doc.LinkID); {
	case err == nil:
		score = old.Score
	case !errors.Is(err, ErrNotFound):
		return err
	}
	return b.put(doc, score)
}

// UpdateScore implements Index. It writes the document anew, unless it has that score.
func (b *Bleve) UpdateScore(ctx context.Context, linkID uuid.UUID, score float64) error {
	b.update.Lock()
	defer b.update.Unlock()
	doc, err := b.FindByID(ctx, linkID)
	if err != nil || doc.Score == score {
		return err
	}
	return b.put(doc, score)
}

// batchSize is the number of documents that are written at once: each write makes a segment, which has to be merged
// with others later.
const batchSize = 64

// UpdateScores implements Index. It writes the documents anew whose score is another one.
func (b *Bleve) UpdateScores(ctx context.Context, scores iter.Seq2[uuid.UUID, float64]) error {
	b.update.Lock()
	defer b.update.Unlock()
	batch := b.index.NewBatch()
	for id, score := range scores {
		switch doc, err := b.FindByID(ctx, id); {
		case errors.Is(err, ErrNotFound):
			continue
		case err != nil:
			return err
		case doc.Score == score:
			continue
		default:
			if err := batch.Index(id.String(), stored(doc, score)); err != nil {
				return fmt.Errorf("index: indexing %s: %w", doc.URL, err)
			}
		}
		if batch.Size() < batchSize {
			continue
		}
		if err := b.index.Batch(batch); err != nil {
			return fmt.Errorf("index: updating scores: %w", err)
		}
		batch.Reset()
	}
	if err := b.index.Batch(batch); err != nil {
		return fmt.Errorf("index: updating scores: %w", err)
	}
	return nil
}

func (b *Bleve) put(doc *Document, score float64) error {
	if err := b.index.Index(doc.LinkID.String(), stored(doc, score)); err != nil {
		return fmt.Errorf("index: indexing %s: %w", doc.URL, err)
	}
	return nil
}

// stored is a document as bleve takes it.
func stored(doc *Document, score float64) map[string]any {
	return map[string]any{
		fieldURL: doc.URL, fieldTitle: doc.Title, fieldContent: doc.Content,
		fieldIndexedAt: doc.IndexedAt.UTC().Format(time.RFC3339Nano), fieldScore: score,
		fieldTitleWords: strings.Join(Terms(doc.Title), " "), fieldContentWords: strings.Join(Terms(doc.Content), " "),
	}
}

// FindByID implements Index.
func (b *Bleve) FindByID(ctx context.Context, linkID uuid.UUID) (*Document, error) {
	result, err := b.search(ctx, query.NewDocIDQuery([]string{linkID.String()}), 0, 1)
	if err != nil {
		return nil, err
	}
	if len(result.Documents) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, linkID)
	}
	return result.Documents[0], nil
}

// Search implements Index.
func (b *Bleve) Search(ctx context.Context, q Query) (*Result, error) {
	words, err := q.check()
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return new(Result), ctx.Err()
	}
	return b.search(ctx, &rankedQuery{bleveQuery(words, q.Type), words}, q.Offset, q.Limit)
}

// bleveQuery says what to look for in both fields.
func bleveQuery(words []string, how QueryType) query.Query {
	if how == Phrase {
		return query.NewDisjunctionQuery([]query.Query{
			query.NewPhraseQuery(words, fieldTitleWords), query.NewPhraseQuery(words, fieldContentWords)})
	}
	all := make([]query.Query, len(words))
	for i, word := range words {
		title, content := query.NewTermQuery(word), query.NewTermQuery(word)
		title.SetField(fieldTitleWords)
		content.SetField(fieldContentWords)
		all[i] = query.NewDisjunctionQuery([]query.Query{title, content})
	}
	return query.NewConjunctionQuery(all)
}

func (b *Bleve) search(ctx context.Context, q query.Query, offset, limit int) (*Result, error) {
	request := bleve.NewSearchRequestOptions(q, limit, offset, false)
	request.Fields = storedFields
	request.SortByCustom(search.SortOrder{&search.SortScore{Desc: true}, &search.SortDocID{}})
	found, err := b.index.SearchInContext(ctx, request)
	if err != nil {
		return nil, fmt.Errorf("index: searching: %w", err)
	}
	result := &Result{Total: int(found.Total)}
	for _, h := range found.Hits {
		doc, err := document(h)
		if err != nil {
			return nil, err
		}
		result.Documents = append(result.Documents, doc)
	}
	return result, nil
}

// document reads what stored has made.
func document(h *search.DocumentMatch) (*Document, error) {
	text := func(field string) string { s, _ := h.Fields[field].(string); return s }
	doc := &Document{URL: text(fieldURL), Title: text(fieldTitle), Content: text(fieldContent)}
	doc.Score, _ = h.Fields[fieldScore].(float64)
	var badID, badTime error
	doc.LinkID, badID = uuid.Parse(h.ID)
	doc.IndexedAt, badTime = time.Parse(time.RFC3339Nano, text(fieldIndexedAt))
	if err := errors.Join(badID, badTime); err != nil {
		return nil, fmt.Errorf("index: reading %s: %w", h.ID, err)
	}
	return doc, nil
}

// Close implements Index: it waits until everything is on the disk.
func (b *Bleve) Close() error {
	b.update.Lock()
	defer b.update.Unlock()
	written := make(chan error, 1)
	last := b.index.NewBatch()
	last.SetInternal([]byte("closed"), []byte(time.Now().UTC().Format(time.RFC3339Nano)))
	last.SetPersistedCallback(func(err error) { written <- err })
	err := b.index.Batch(last)
	if err == nil {
		err = <-written
	}
	if err = errors.Join(err, b.index.Close()); err != nil {
		return fmt.Errorf("index: closing: %w", err)
	}
	return nil
}
