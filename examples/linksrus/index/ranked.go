package index

import (
	"context"
	"errors"
	"math"

	"github.com/blevesearch/bleve/v2/mapping"
	"github.com/blevesearch/bleve/v2/search"
	"github.com/blevesearch/bleve/v2/search/query"
	"github.com/blevesearch/bleve/v2/search/searcher"
	bleveindex "github.com/blevesearch/bleve_index_api"
)

// rankedQuery finds what another query finds, with our measure of relevance in place of bleve's, so that both indexes give the
// same order.
type rankedQuery struct {
	query.Query
	words []string
}

// Searcher implements query.Query.
func (q *rankedQuery) Searcher(ctx context.Context, r bleveindex.IndexReader, m mapping.IndexMapping, o search.SearcherOptions) (search.Searcher, error) {
	documents, err := r.DocCount()
	if err != nil {
		return nil, err
	}
	scores, err := r.DocValueReader([]string{fieldScore})
	if err != nil {
		return nil, err
	}
	s := &rankedSearcher{documents: int(documents)}
	for _, word := range q.words {
		w := &rankedWord{}
		s.words = append(s.words, w)
		err := errors.Join(w.title.open(ctx, r, word, fieldTitleWords), w.content.open(ctx, r, word, fieldContentWords))
		if err != nil {
			return nil, errors.Join(err, s.closeWords())
		}
		w.rarity = newRarity(s.documents, int(w.title.reader.Count()), int(w.content.reader.Count()))
	}
	found, err := q.Query.Searcher(ctx, r, m, o)
	if err != nil {
		return nil, errors.Join(err, s.closeWords())
	}
	types := map[string]string{fieldScore: "number"}
	s.CustomScoreSearcher = searcher.NewCustomScoreSearcher(ctx, found, s.relevance, scores, r, types, o.Explain)
	return s, nil
}

// rankedSearcher gives what is found its relevance.
type rankedSearcher struct {
	*searcher.CustomScoreSearcher
	documents int
	words     []*rankedWord
}

// rankedWord is a word of the query with the places where it is looked up.
type rankedWord struct {
	rarity
	title, content lookup
}

// relevance is called with one document after another, in the order of their internal IDs.
func (s *rankedSearcher) relevance(_ context.Context, d *search.DocumentMatch) (float64, error) {
	sum := 0.0
	for _, w := range s.words {
		title, badTitle := w.title.in(d.IndexInternalID)
		content, badContent := w.content.in(d.IndexInternalID)
		if err := errors.Join(badTitle, badContent); err != nil {
			return 0, err
		}
		sum += w.relevance(title, content)
	}
	score, _ := d.Fields[fieldScore].(float64)
	return sum * rankFactor(score, s.documents), nil
}

// Close implements search.Searcher.
func (s *rankedSearcher) Close() error {
	return errors.Join(s.CustomScoreSearcher.Close(), s.closeWords())
}

func (s *rankedSearcher) closeWords() error {
	var errs []error
	for _, w := range s.words {
		errs = append(errs, w.title.close(), w.content.close())
	}
	return errors.Join(errs...)
}

// lookup says how often documents have a word in a field.
type lookup struct {
	reader bleveindex.TermFieldReader
	at     *bleveindex.TermFieldDoc // the last that was read; nil: none, or all were
	begun  bool
}

func (l *lookup) open(ctx context.Context, r bleveindex.IndexReader, word, field string) (err error) {
	l.reader, err = r.TermFieldReader(ctx, []byte(word), field, true, true, false)
	return err
}

// in reads on to a document: the reader would begin anew to go back.
func (l *lookup) in(id bleveindex.IndexInternalID) (occurrence, error) {
	if !l.begun || l.at != nil && l.at.ID.Compare(id) < 0 {
		var err error
		if l.at, err = l.reader.Advance(id, nil); err != nil {
			return occurrence{}, err
		}
		l.begun = true
	}
	if l.at == nil || !l.at.ID.Equals(id) {
		return occurrence{}, nil
	}
	// bleve keeps one divided by the root of the number of words.
	return occurrence{int(l.at.Freq), int(math.Round(1 / (l.at.Norm * l.at.Norm)))}, nil
}

func (l *lookup) close() error {
	if l.reader == nil {
		return nil
	}
	return l.reader.Close()
}
