package content

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
)

// Chunk is a piece of an article for an index or a language model.
type Chunk struct {
	// Headings are the headings that the piece is below, the outermost first; its own is the last one. A term of a definition list that has an
	// id is one of them. They are plain text, of at most 300 characters each.
	Headings []string
	// Anchor is the fragment of a URL that leads to the piece, or to the nearest place above it that has one, without "#";
	// "" if there is none.
	Anchor string
	// ID is the same at the next crawl if the URL of the page, Headings and the piece's own text are the same, whatever else has changed. Of
	// pieces of a page that are equal in all of these, the first one, the second one and so on have IDs of their own.
	ID   string
	Text string // Markdown; the first piece below a heading begins with the heading, a piece of a table with its header
	// Overlap is how many bytes at the beginning of Text are repeated: the header of a table that was cut, or the end of
	// the piece before it (see the option [Overlap]).
	Overlap int
	Tokens  int // that Text has
	// Start and End are where in the page the piece's own text comes from, in bytes of the page as UTF-8 (see [html.Document.Source]): what
	// lies between them holds the text of the piece, with its tags. Browsers put some elements in other places than where their tags are;
	// there the piece of the page holds more.
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

// Chunks cuts the article into pieces of at most so many tokens: at its headings and at the terms of its definition lists that have an id,
// then between its blocks, and inside of a block only if that has more tokens than a piece may have. A piece never goes on over a heading.
// Terms that stand side by side and have less than a quarter of the tokens each, with all that is below them, share pieces; these have the
// headings of the list, and the anchor of their first term. Less than 16 tokens are taken for 16. The options are those of
// [Article.Markdown], [CountTokens] and [Overlap].
func (a *Article) Chunks(tokens int, opts ...Option) []Chunk {
	return a.x.clone().chunks(a.Node, tokens, newOptions(opts))
}

// Chunks cuts any element of an HTML document, with all that [Markdown] has of it, as [Article.Chunks] does. docURL is where the document
// came from. It returns nil where [Extract] would fail.
func Chunks(n html.Node, docURL string, tokens int, opts ...Option) []Chunk {
	o := newOptions(opts)
	x, err := newExtractor(n.Document(), docURL, o, n)
	if err != nil {
		return nil
	}
	return x.chunks(n, tokens, o)
}

func (x *extractor) chunks(n html.Node, tokens int, o *options) []Chunk {
	w := x.write(n, o, true)
	most := max(tokens, 16)
	overlap := min(max(o.overlap, 0), most/2)
	page, _, _ := strings.Cut(x.docURL, "#")
	c := &chunker{out: string(w.out), page: page, sections: w.outline.sections, most: most - overlap, overlap: overlap, limit: most, count: o.count, seen: map[[sha256.Size]byte]int{}}
	for i := 0; i < len(w.marks); {
		j := i + 1
		for j < len(w.marks) && w.marks[j].section == w.marks[i].section {
			j++
		}
		c.runs = append(c.runs, run{marks: w.marks[i:j], tokens: -1})
		i = j
	}
	for i := 0; i < len(c.runs); {
		if n := c.shared(i); n > 0 {
			i += n
			continue
		}
		c.cut(c.runs[i].marks)
		i++
	}
	return c.list
}

// run is blocks of one section, one behind the other.
type run struct {
	marks  []mark
	tokens int // that they have, -1 if they are not counted yet
}

type chunker struct {
	out      string
	page     string // its URL, without a fragment
	sections []section
	runs     []run
	most     int // tokens of a piece's own text
	overlap  int // tokens of the piece before it
	limit    int // both
	count    func(string) int
	seen     map[[sha256.Size]byte]int // how many pieces were equal
	list     []Chunk

	section section // that is cut, with the headings and the anchor that its pieces have
	before  string  // what the next piece begins with
}

// shared adds a piece of small terms that begin at a run, and returns how many runs they have; 0 for less than two terms.
func (c *chunker) shared(first int) int {
	parent, terms, total, end := 0, 0, 0, first
	for end < len(c.runs) {
		at := c.runs[end].marks[0].section
		s := c.sections[at]
		if !s.term || terms > 0 && s.parent != parent {
			break
		}
		n, tokens := c.below(end, at)
		if tokens > c.most/4 || total+tokens > c.most {
			break
		}
		// A place that depends on its own name alone: behind an edit the pieces are soon the same again.
		if name := crc32.ChecksumIEEE([]byte(s.path[len(s.path)-1])); total > c.most/2 && name%4 == 0 {
			break
		}
		parent, terms, total, end = s.parent, terms+1, total+tokens, end+n
	}
	if terms < 2 {
		return 0
	}
	var marks []mark
	for _, r := range c.runs[first:end] {
		marks = append(marks, r.marks...)
	}
	if c.count(c.text(marks)) > c.most { // what a count says of the parts is not what it says of the whole
		return 0
	}
	c.section, c.before = c.sections[parent], ""
	c.section.anchor = c.sections[c.runs[first].marks[0].section].anchor
	c.add(c.text(marks), marks)
	return end - first
}

// below returns how many runs from one on are of a section and those below it, and how many tokens they have: when they are too many to be
// small, those that were counted.
func (c *chunker) below(first, section int) (n, tokens int) {
	for _, r := range c.runs[first:] {
		at := r.marks[0].section
		for at > section {
			at = c.sections[at].parent
		}
		if at != section || tokens > c.most/4 {
			break
		}
		tokens += c.tokens(first + n)
		n++
	}
	return n, tokens
}

func (c *chunker) tokens(i int) int {
	r := &c.runs[i]
	if r.tokens < 0 {
		r.tokens = max(c.count(c.text(r.marks)), 0)
	}
	return r.tokens
}

// cut cuts blocks of one section.
func (c *chunker) cut(marks []mark) {
	c.section, c.before = c.sections[marks[0].section], ""
	for len(marks) > 0 {
		n, total := 0, 0
		header := c.header(marks[0])
		if header != "" {
			c.before, total = header, c.count(header)
		}
		for n < len(marks) {
			more := c.count(c.text(marks[n : n+1]))
			if n > 0 && total+more > c.most {
				break
			}
			total += more
			n++
		}
		for n > 1 && c.count(header+c.text(marks[:n])) > c.most { // what a count says of the parts is not what it says of the whole
			n--
		}
		if n == 1 && c.count(c.text(marks[:n])) > c.most {
			c.long(marks[0])
		} else {
			c.add(c.text(marks[:n]), marks[:n])
			tail := n
			for tail > 0 && marks[tail-1].prose {
				tail--
			}
			c.before = ""
			if tail < n {
				c.before = c.lastSentences(c.text(marks[tail:n]), "\n\n")
			}
		}
		marks = marks[n:]
	}
}

// header returns the header of the table that a block goes on with, if it leaves at least half of a piece for the rows.
func (c *chunker) header(m mark) string {
	if m.headerEnd == 0 || m.headerEnd > len(c.out) {
		return ""
	}
	if header := c.out[m.header:m.headerEnd]; 2*c.count(header) <= c.most {
		return outdent(header)
	}
	return ""
}

// outdent takes away the spaces that all lines begin with: those of the list items around a piece.
func outdent(text string) string {
	if text == "" || text[0] != ' ' {
		return text
	}
	width := len(text)
	for line := range strings.Lines(text) {
		if line != "\n" {
			width = min(width, len(line)-len(strings.TrimLeft(line, " ")))
		}
	}
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(line[min(width, len(strings.TrimRight(line, "\n"))):])
	}
	return out.String()
}

// text returns the blocks as they stand in the output.
func (c *chunker) text(marks []mark) string {
	return c.out[min(marks[0].out, len(c.out)):min(marks[len(marks)-1].outEnd, len(c.out))]
}

func (c *chunker) add(text string, marks []mark) {
	text = outdent(strings.Trim(text, "\n"))
	if strings.TrimSpace(text) == "" {
		return
	}
	from, to := marks[0].from, marks[0].to
	for _, m := range marks[1:] {
		from, to = min(from, m.from), max(to, m.to)
	}
	whole := c.before + text
	if c.count(whole) > c.limit {
		c.before, whole = "", text
	}
	c.list = append(c.list, Chunk{Headings: c.section.path, Anchor: c.section.anchor, ID: c.id(text), Text: whole, Overlap: len(c.before), Tokens: c.count(whole), Start: from, End: to})
}

// footnoteLabel is what a footnote has as its name. It is its number in the page, which footnotes of other sections change.
var footnoteLabel = regexp.MustCompile(`\[\^[0-9]+\]`)

// id returns the ID of a piece with that text of its own.
func (c *chunker) id(text string) string {
	var b []byte
	for _, s := range append([]string{c.page, footnoteLabel.ReplaceAllLiteralString(text, "[^]")}, c.section.path...) {
		b = append(binary.AppendUvarint(b, uint64(len(s))), s...)
	}
	sum := sha256.Sum256(b)
	number := c.seen[sum]
	c.seen[sum]++
	if number > 0 {
		sum = sha256.Sum256(binary.AppendUvarint(sum[:], uint64(number)))
	}
	return hex.EncodeToString(sum[:16])
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
		piece := text[:n]
		text = strings.TrimLeft(text[n:], " \n")
		c.before = ""
		switch {
		case !m.prose:
		case text == "":
			c.before = c.lastSentences(piece, "\n\n")
		default:
			c.before = c.lastSentences(piece, " ")
		}
	}
}

// lastSentences returns as many of the last sentences of a text as a piece may repeat, with what stands between them and the piece.
func (c *chunker) lastSentences(text, between string) string {
	if c.overlap == 0 {
		return ""
	}
	text = strings.TrimRight(text, " \n")
	start, total := len(text), 0
	for i := len(text); i > 0; {
		_, size := utf8.DecodeLastRuneInString(text[:i])
		i -= size
		if r, _ := utf8.DecodeLastRuneInString(text[:i]); i > 0 && r != '\n' && !(strings.ContainsRune(sentenceEnds, r) && isEnd(r, text[i:])) {
			continue
		}
		if total += c.count(text[i:start]); total > c.overlap {
			break
		}
		start = i
	}
	if text = strings.TrimLeft(text[start:], " \n"); text == "" {
		return ""
	}
	return text + between
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
	for _, ends := range [...]string{"\n", sentenceEnds, ",;:、，", " "} {
		for i := n; i > n/2; {
			r, size := utf8.DecodeLastRuneInString(text[:i])
			if strings.ContainsRune(ends, r) && isEnd(r, text[i:]) {
				return i
			}
			i -= size
		}
	}
	return n
}

const sentenceEnds = ".!?。！？"

// isEnd reports whether a sign with that behind it ends what it may end: those of East Asia need no space.
func isEnd(r rune, rest string) bool {
	return rest == "" || r >= utf8.RuneSelf || r <= ' ' || rest[0] == ' ' || rest[0] == '\n'
}
