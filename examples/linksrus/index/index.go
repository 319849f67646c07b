// Package index finds pages by the words in them.
//
//	err := idx.Index(ctx, &index.Document{LinkID: id, URL: url, Title: title, Content: text})
//	found, err := idx.Search(ctx, index.ParseQuery(`"all happy families"`))
//
// There are two indexes, [Memory] and [Bleve], which find the same documents; one suite tests both. All methods of both
// may be called concurrently.
//
// # Words
//
// A word is a run of letters, marks, digits and underscores, in lower case: [Terms]. There are no stop
// words and no stems: a phrase is found as it was written, whatever the language. Languages that write no
// spaces have long words this way; they would need an analyzer of their own.
//
// # Order
//
// The most relevant documents come first: those with the words of the query in the title, then those with rare words
// often in a content that is not long. The rank of a page, which is what [Index.UpdateScore] says its score is, is a
// factor of that, of 2 at most: it decides between pages that are about equally relevant, and a page that everybody
// links to does not come before the page that is about the word. Then the order of IDs decides. The measure is the
// same in both indexes, and for both types of queries.
package index

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
)

// Document is a page as it is searched.
type Document struct {
	LinkID         uuid.UUID // of the graph's link
	URL            string
	Title, Content string // plain text
	IndexedAt      time.Time
	Score          float64 // the page's rank: see UpdateScore
}

// Index is a store of documents that can be searched. Errors of the store are returned as they are.
type Index interface {
	// Index adds a document, or replaces the one with the same LinkID, whose score stays as it was, whatever
	// doc.Score says. A document without LinkID is an error that wraps ErrNoLinkID.
	Index(ctx context.Context, doc *Document) error
	// FindByID returns a document, or an error that wraps ErrNotFound.
	FindByID(ctx context.Context, linkID uuid.UUID) (*Document, error)
	// Search returns the documents that a query finds, best first. A query without words finds nothing.
	// An Offset or Limit below 0 is an error that wraps ErrBadQuery.
	Search(ctx context.Context, q Query) (*Result, error)
	// UpdateScore sets the score of a document, a probability that all documents share. Without such a document it is an error that wraps
	// ErrNotFound.
	UpdateScore(ctx context.Context, linkID uuid.UUID, score float64) error
	// UpdateScores sets many scores, which is faster than one by one; unknown documents are left out. An error may
	// leave some of them set.
	UpdateScores(ctx context.Context, scores iter.Seq2[uuid.UUID, float64]) error
	// Close ends the use of the index.
	Close() error
}

// What the errors of an Index wrap.
var (
	ErrNotFound = errors.New("index: no such document")
	ErrNoLinkID = errors.New("index: document without LinkID")
	ErrBadQuery = errors.New("index: bad query")
)

// QueryType says how the words of a query are looked for.
type QueryType uint8

// The types of queries.
const (
	Match  QueryType = iota // all words are somewhere in the document: title, content, or one here and one there
	Phrase                  // all words stand side by side, in this order, in the title or in the content
)

// String returns the type in a word.
func (t QueryType) String() string {
	if t == Phrase {
		return "phrase"
	}
	return "match"
}

// Query is what is looked for.
type Query struct {
	Type       QueryType
	Expression string // the words; punctuation only separates them
	Offset     int    // documents to skip
	Limit      int    // most documents to return; 0 means 10
}

// Result is what was found.
type Result struct {
	Total     int         // all documents that the query finds
	Documents []*Document // Limit of them, after the first Offset
}

// ParseQuery reads what people write into a search field: in quotation marks it is a phrase, otherwise a
// match.
func ParseQuery(text string) Query {
	text = strings.TrimSpace(text)
	if inner, ok := strings.CutPrefix(text, `"`); ok && strings.HasSuffix(inner, `"`) {
		return Query{Type: Phrase, Expression: strings.TrimSuffix(inner, `"`)}
	}
	return Query{Type: Match, Expression: text}
}

// MaxTerm is the number of bytes by which words are told apart: what is behind them does not count. One word of
// some megabytes in a hostile page would cost an index on a disk gigabytes of memory.
const MaxTerm = 256

// Terms returns the words of a text, in their order, in lower case and of at most [MaxTerm] bytes before that.
func Terms(text string) []string {
	var terms []string
	for _, span := range spans(text) {
		terms = append(terms, term(text[span.start:span.end]))
	}
	return terms
}

// term is what a word is looked for by.
func term(word string) string {
	if len(word) > MaxTerm {
		end := MaxTerm
		for !utf8.RuneStart(word[end]) {
			end--
		}
		word = word[:end]
	}
	return strings.ToLower(word)
}

// span is where a word stands in a text, in bytes.
type span struct{ start, end int }

func spans(text string) []span {
	var found []span
	start := -1
	for i, r := range text {
		switch in := isWord(r); {
		case in && start < 0:
			start = i
		case !in && start >= 0:
			found = append(found, span{start, i})
			start = -1
		}
	}
	if start >= 0 {
		found = append(found, span{start, len(text)})
	}
	return found
}

// isWord reports whether a character is part of a word.
func isWord(r rune) bool {
	return r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N)
}

const defaultLimit = 10

// check fills in the default and returns the words of a query.
func (q *Query) check() ([]string, error) {
	if q.Offset < 0 || q.Limit < 0 {
		return nil, errors.Join(ErrBadQuery, errors.New("offset and limit must not be negative"))
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	return Terms(q.Expression), nil
}
