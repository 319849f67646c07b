package content

import (
	"strings"
	"unicode/utf8"

)

// Chunk is a piece of an article for an index or a language model.
type Chunk struct {
	// Headings are the headings that the piece is below, the outermost first; its own is the last one. They are plain text, of at most
	// 300 characters each.
	Headings []string
	Text     string // Markdown; the first piece below a heading begins with the heading
	Tokens   int    // that Text has
	// Start and End are where in the page it comes from, in bytes of the page as UTF-8 (see [html.Document.Source]): what lies between
	// them holds the text of the piece, with its tags. Browsers put some elements in other places than where their tags are; there the
	// piece of the page holds more.
	Start, End int
}

// Tokens estimates how many tokens a text has: one for four bytes, but at least three for four words, and one for each character of
// China, Japan and Korea. The tokenizers of language models differ; their numbers are within a third of this for prose. [CountTokens]
// takes another count.
func Tokens(text string) int {
	bytes, words, wide := 0, 0, 0
	space := true
	for _, r := range text {
		switch {
		case r <= ' ':
			space = true
			continue
		case r >= 0x2e80 && r < 0xfb00 || r >= 0x20000:
			wide++
			continue
		}
		bytes += utf8.RuneLen(r)
		if space {
			words++
		}
		space = false
	}
	return wide + max((bytes+words+3)/4, (words*3+3)/4)
}

// Chunks cuts the article into pieces of at most so many tokens: at its headings, then between its blocks, and inside of a block only if
// that has more tokens than a piece may have. A piece never goes on over a heading. Less than 16 tokens are taken for 16. The options are
// those of [Article.Markdown], and [CountTokens].
func (a *Article) Chunks(tokens int, opts ...Option) []Chunk {
	o := newOptions(opts)
	w := a.x.clone().write(a.Node, o, true)
	c := &chunker{w: w, out: string(w.out), most: max(tokens, 16), count: o.count}
	for i := 0; i < len(w.marks); {
		j := i + 1
		for j < len(w.marks) && w.marks[j].heading == 0 {
			j++
		}
		c.section(w.marks[i:j])
		i = j
	}
	return c.chunks
}

type chunker struct {
	w      *writer
	out    string
	most   int
	count  func(string) int
	path   []string
	levels []int
	chunks []Chunk
}

// section cuts what follows a heading.
func (c *chunker) section(marks []mark) {
	if level := marks[0].heading; level > 0 {
		for len(c.levels) > 0 && c.levels[len(c.levels)-1] >= level {
			c.levels, c.path = c.levels[:len(c.levels)-1], c.path[:len(c.path)-1]
		}
		c.levels, c.path = append(c.levels, level), append(c.path[:len(c.path):len(c.path)], c.w.x.line(c.w.x.doc.Node(marks[0].header)))
	}
	for len(marks) > 0 {
		n, total := 0, 0
		for n < len(marks) {
			more := c.count(c.text(marks[n : n+1]))
			if n > 0 && total+more > c.most {
				break
			}
			total += more
			n++
		}
		for n > 1 && c.count(c.text(marks[:n])) > c.most { // what a count says of the parts is not what it says of the whole
			n--
		}
		if n == 1 && total > c.most {
			c.long(marks[0])
		} else {
			c.add(c.text(marks[:n]), marks[:n])
		}
		marks = marks[n:]
	}
}

// text returns the blocks as they stand in the output.
func (c *chunker) text(marks []mark) string {
	return c.out[min(marks[0].out, len(c.out)):min(marks[len(marks)-1].outEnd, len(c.out))]
}

func (c *chunker) add(text string, marks []mark) {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return
	}
	from, to := marks[0].from, marks[0].to
	for _, m := range marks[1:] {
		from, to = min(from, m.from), max(to, m.to)
	}
	c.chunks = append(c.chunks, Chunk{Headings: c.path, Text: text, Tokens: c.count(text), Start: from, End: to})
}

// long cuts one block: at the ends of sentences, else of words, else anywhere.
func (c *chunker) long(m mark) {
	text := strings.TrimRight(c.text([]mark{m}), "\n")
	for text != "" {
		n := c.fits(text)
		if n < len(text) {
			n = cutAt(text, n)
		}
		c.add(text[:n], []mark{m})
		text = strings.TrimLeft(text[n:], " \n")
	}
}

// fits returns how much of a text has not too many tokens: at least one character.
func (c *chunker) fits(text string) int {
	low, high := 1, 0
	for next := c.most; ; next *= 2 {
		if next = min(next, len(text)); c.count(text[:next]) > c.most {
			high = next
			break
		}
		if low = next; next == len(text) {
			return next
		}
	}
	for low < high {
		middle := (low + high + 1) / 2
		if c.count(text[:middle]) <= c.most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	at := low
	for at > 0 && at < len(text) && low-at < utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	switch {
	case at == len(text) || !utf8.RuneStart(text[at]): // what is not UTF-8 is cut anywhere
		return low
	case at == 0:
		_, at = utf8.DecodeRuneInString(text)
	}
	return at
}

func cutAt(text string, n int) int {
	for _, ends := range [...]string{"\n", ".!?。！？", ",;:、，", " "} {
		for i := n; i > n/2; {
			r, size := utf8.DecodeLastRuneInString(text[:i])
			if strings.ContainsRune(ends, r) && (i == len(text) || r >= utf8.RuneSelf || r <= ' ' || text[i] == ' ' || text[i] == '\n') {
				return i
			}
			i -= size
		}
	}
	return n
}
