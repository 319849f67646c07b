package index

import "math"

// The constants of relevance. A title is worth so much that a word in a title of the usual length counts for more than any
// number of them in the content, whatever the page's rank.
const (
	titleWeight   = 5.0
	usualTitle    = 8.0   // words
	usualContent  = 500.0 // words
	saturation    = 1.2   // k1 of BM25: the lower, the less do repetitions count
	lengthMatters = 0.75  // b of BM25: 0 if a field's length did not matter, 1 if it counted in full
	linkedMuch    = 10.0  // how often an average page's rank has half of the effect that a rank can have
)

// occurrence says how often a word stands in a field, and how many words that field has.
type occurrence struct{ count, length int }

// rarity says how much a word tells about a document that has it in a field.
type rarity struct{ title, content float64 }

// newRarity makes one from the numbers of documents: all, and those that have the word in the title and in the content.
func newRarity(all, titles, contents int) rarity {
	of := func(n int) float64 { return math.Log1p((float64(all-n) + 0.5) / (float64(n) + 0.5)) }
	return rarity{of(titles), of(contents)}
}

// relevance is what one word of a query adds to a document's relevance: BM25 (S. Robertson and H. Zaragoza, "The
// Probabilistic Relevance Framework", 2009) of both fields, with the usual lengths in place of the average ones.
func (r rarity) relevance(title, content occurrence) float64 {
	return titleWeight*r.title*title.weight(usualTitle) + r.content*content.weight(usualContent)
}

// weight is between 0 and 1.
func (o occurrence) weight(usualLength float64) float64 {
	if o.count == 0 {
		return 0
	}
	count := float64(o.count)
	return count / (count + saturation*(1-lengthMatters+lengthMatters*float64(o.length)/usualLength))
}

// rankFactor is between 1 and 2: what a document's relevance is multiplied by for its score, which is a probability that all
// documents share.
func rankFactor(score float64, documents int) float64 {
	times := max(0, score) * float64(documents) // that of an average page
	return 1 + times/(times+linkedMuch)
}
