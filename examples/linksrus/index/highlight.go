package index

import (
	"slices"
	"strings"
)

// Fragment is a piece of a text: of one that a query looks for (Marked), or of what stands around.
type Fragment struct {
	Text   string
	Marked bool
}

// Highlight cuts a text so that the words of a query are fragments of their own; all fragments together
// are the text. Of a phrase only its words side by side are marked, as one fragment.
func Highlight(text string, q Query) []Fragment {
	words := spans(text)
	return fragments(text, 0, len(text), words, marks(text, words, q))
}

// Excerpt is Highlight for the part of a text, of at most so many words, that shows most of the query's
// words; of equal parts the first. An ellipsis stands where text was left out.
func Excerpt(text string, q Query, most int) []Fragment {
	words := spans(text)
	if len(words) <= most {
		return Highlight(text, q)
	}
	marked := marks(text, words, q)
	first := bestWindow(marked, most)
	start, end := words[first].start, words[first+most-1].end
	if first == 0 {
		start = 0
	}
	if first+most == len(words) {
		end = len(text)
	}
	found := fragments(text, start, end, words[first:first+most], marked[first:first+most])
	if start > 0 {
		found = append([]Fragment{{Text: "… "}}, found...)
	}
	if end < len(text) {
		found = append(found, Fragment{Text: " …"})
	}
	return found
}

// bestWindow returns where the window of that size begins that has the most marks. If they all are in a part of
// it, the window begins a few words earlier, so that they are read with what stands before them.
func bestWindow(marked []bool, size int) int {
	count := func(part []bool) (n int) {
		for _, m := range part {
			if m {
				n++
			}
		}
		return n
	}
	now := count(marked[:size])
	best, most := 0, now
	for first := 1; first+size <= len(marked); first++ {
		if marked[first-1] {
			now--
		}
		if marked[first+size-1] {
			now++
		}
		if now > most {
			best, most = first, now
		}
	}
	if most == 0 {
		return best
	}
	// The first best window ends with a mark, or is the first of all.
	lead := slices.Index(marked[best:], true)
	return min(best+max(0, lead-size/4), len(marked)-size)
}

// marks tells which of the words of a text a query looks for.
func marks(text string, words []span, q Query) []bool {
	marked := make([]bool, len(words))
	wanted := Terms(q.Expression)
	if len(wanted) == 0 {
		return marked
	}
	lower := make([]string, len(words))
	for i, w := range words {
		lower[i] = term(text[w.start:w.end])
	}
	for i := range lower {
		if q.Type == Match {
			marked[i] = slices.Contains(wanted, lower[i])
		} else if len(lower)-i >= len(wanted) && slices.Equal(lower[i:i+len(wanted)], wanted) {
			for j := range wanted {
				marked[i+j] = true
			}
		}
	}
	return marked
}

// fragments cuts text[start:end] before and after the marked words. Marked words with nothing but white space
// between them become one fragment.
func fragments(text string, start, end int, words []span, marked []bool) []Fragment {
	var found []Fragment
	add := func(from, to int, mark bool) {
		if from == to {
			return
		}
		found = append(found, Fragment{text[from:to], mark})
	}
	at := start
	for i := 0; i < len(words); i++ {
		if !marked[i] {
			continue
		}
		add(at, words[i].start, false)
		last := i
		for last+1 < len(words) && marked[last+1] && strings.TrimSpace(text[words[last].end:words[last+1].start]) == "" {
			last++
		}
		add(words[i].start, words[last].end, true)
		at, i = words[last].end, last
	}
	add(at, end, false)
	return found
}
