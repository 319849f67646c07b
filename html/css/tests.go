package css

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"sort"
	"strings"

	"github.com/tegenaria/tegenaria/html"
)

// isTest is :is, :where and :not.
type isTest struct {
	list []chain
	not  bool
}

func (t isTest) match(m *matcher, k int32) bool { return m.anyOf(t.list, k) != t.not }

// never is what depends on a user.
type never struct{}

func (never) match(*matcher, int32) bool { return false }

// nthTest is :nth-child and its kin (Selectors Level 4, section 14.3).
type nthTest struct {
	a, b         int
	last, ofType bool
	of           []chain
	table        int // the number among the siblings that count, no+number; no for those that do not
}

func (t nthTest) match(m *matcher, k int32) bool {
	number := m.kin(k).Order
	switch {
	case t.ofType || t.of != nil:
		number = t.number(m, k)
	case t.last:
		number = m.kin(m.el[k].Parent).Count - number + 1
	}
	return number > 0 && t.selects(int(number))
}

// selects reports whether the number, from 1, is one of an+b.
func (t nthTest) selects(number int) bool {
	i := number - t.b
	if t.a == 0 {
		return i == 0
	}
	return i%t.a == 0 && i/t.a >= 0
}

// few is a number of siblings up to which counting them is faster than remembering the counts.
const few = 24

// number counts the siblings up to an element, from the front or the back, that are of its type or
// match the list; 0 if the element itself does not count.
func (t nthTest) number(m *matcher, k int32) int32 {
	e := &m.el[k]
	siblings := m.kin(e.Parent).Count
	if t.of == nil && siblings <= few {
		return t.countFew(m, k)
	}
	table := m.table(t.table)
	if known := m.get(table, k); known != unknown {
		return known - no
	}
	if m.counts == nil {
		m.counts = make(map[uint64]int32)
	}
	clear(m.counts)
	at := e.Parent + 1
	if t.last {
		at = m.kin(e.Parent).Last
	}
	for range siblings {
		m.work++
		s := &m.el[at]
		number := int32(0)
		if t.of == nil || m.anyOf(t.of, at) {
			kind := uint64(0)
			if t.of == nil {
				kind = uint64(s.Name)<<8 | uint64(s.Namespace)
			}
			number = m.counts[kind] + 1
			m.counts[kind] = number
		}
		m.put(table, at, no+number)
		if t.last {
			at = m.kin(at).Prev
		} else {
			at = s.End
		}
	}
	return m.get(table, k) - no
}

func (t nthTest) countFew(m *matcher, k int32) int32 {
	e := &m.el[k]
	number := int32(1)
	sameType := func(s *html.Element) bool { return s.Name == e.Name && s.Namespace == e.Namespace }
	if t.last {
		for at := e.End; at < m.el[e.Parent].End; at = m.el[at].End {
			m.work++
			if sameType(&m.el[at]) {
				number++
			}
		}
		return number
	}
	for at := m.kin(k).Prev; at != 0; at = m.kin(at).Prev {
		m.work++
		if sameType(&m.el[at]) {
			number++
		}
	}
	return number
}

// langTest is :lang (Selectors Level 4, section 7.2), with the language of an element as the HTML
// standard has it, section 3.2.6.2, except for a language that only a server's header or a pragma names.
type langTest struct {
	ranges [][]string // the subtags of each range in lower case
	table  int        // 1 + index into matcher.langs
}

// mostSubtags is how many parts of a language tag are looked at. Real tags have nine at most.
const mostSubtags = 100

func (t langTest) match(m *matcher, k int32) bool {
	number := m.inherited(m.table(t.table), k, func(k int32) int32 {
		n := m.index.Node(k)
		a := n.FindAttr(html.AtomXmlLang)
		if a.IsZero() && !m.xml {
			a = n.FindAttr(html.AtomLang)
		}
		if a.IsZero() {
			return unknown
		}
		m.langs = append(m.langs, strings.SplitN(lowerASCII(a.Value()), "-", mostSubtags))
		return int32(len(m.langs))
	})
	if number == nothing {
		return false
	}
	tag := m.langs[number-1]
	return slices.ContainsFunc(t.ranges, func(r []string) bool { return matchesRange(tag, r) })
}

// matchesRange implements extended filtering (RFC 4647, section 3.3.2). The empty range matches the
// empty tag alone.
func matchesRange(tag, want []string) bool {
	if want[0] != "*" && want[0] != tag[0] || tag[0] == "" && want[0] == "*" {
		return false
	}
	tag, want = tag[1:], want[1:]
	for len(want) > 0 {
		switch {
		case want[0] == "*":
			want = want[1:]
		case len(tag) == 0:
			return false
		case tag[0] == want[0]:
			tag, want = tag[1:], want[1:]
		case len(tag[0]) == 1: // what follows belongs to an extension
			return false
		default:
			tag = tag[1:]
		}
	}
	return true
}

// inherited returns what own says of an element or, where that is unknown, of its nearest ancestor
// that has something to say, nothing if there is none. It remembers the answers for all on the way.
func (m *matcher) inherited(t *table, k int32, own func(int32) int32) int32 {
	at, answer := k, nothing
	for ; at != 0; at = m.el[at].Parent {
		m.work++
		if answer = m.get(t, at); answer != unknown {
			break
		}
		if answer = own(at); answer != unknown {
			m.put(t, at, answer)
			break
		}
		answer = nothing
	}
	for ; k != at; k = m.el[k].Parent {
		m.put(t, k, answer)
	}
	return answer
}

// containsTest is :contains, an extension that jQuery and cascadia have: the text of an element, that
// of its descendants included, contains a string, whatever the case of letters.
type containsTest struct {
	needle string // in lower case
	table  int
}

func (t containsTest) match(m *matcher, k int32) bool {
	text := m.index.LowerText()
	start, end := text.Bounds(k)
	if k < m.lo || k >= m.hi {
		m.work += end - start
		return strings.Contains(text.All()[start:end], t.needle)
	}
	finds := t.finds(m, text)
	i := sort.Search(len(finds), func(i int) bool { return int(finds[i]) >= start })
	if t.needle == "" {
		return true
	}
	return i < len(finds) && int(finds[i])+len(t.needle) <= end
}

// finds returns where the string starts in the text that is searched, so that elements inside each
// other cost no search each: of the places between the starts of two elements the first.
func (t containsTest) finds(m *matcher, text *html.Text) []int32 {
	if len(m.finds) < m.sel.tables {
		m.finds = make([][]int32, m.sel.tables)
	}
	if m.finds[t.table] != nil || t.needle == "" {
		return m.finds[t.table]
	}
	from, end := 0, len(text.All())
	if m.root != 0 {
		from, end = text.Bounds(m.root)
	}
	m.work += end - from
	finds, at := []int32{}, -1
	for k := m.lo; k < m.hi; k++ {
		start, _ := text.Bounds(k)
		if start <= at {
			continue
		}
		i := strings.Index(text.All()[start:end], t.needle)
		if i < 0 {
			break
		}
		at = start + i
		finds = append(finds, int32(at))
	}
	m.finds[t.table] = finds
	return finds
}

// containsOwnTest is :containsOwn: the same for the text that is not inside of child elements.
type containsOwnTest struct{ needle string }

func (t containsOwnTest) match(m *matcher, k int32) bool {
	return strings.Contains(strings.ToLower(string(m.ownText(k))), t.needle)
}

// ownText joins the text nodes that are children of an element.
func (m *matcher) ownText(k int32) []byte {
	m.scratch = m.scratch[:0]
	for n := m.index.Node(k).FirstChild(); !n.IsZero(); n = n.NextSibling() {
		m.work++
		if n.Kind() == html.TextNode {
			m.scratch = append(m.scratch, n.Data()...)
		}
	}
	own := m.scratch
	m.scratch = own[:0]
	return own
}

// matchesTest is :matches and :matchesOwn, extensions of cascadia: a regular expression is found in
// the text of an element, or in that outside of its child elements.
type matchesTest struct {
	re    *regexp.Regexp
	own   bool
	local bool // what it finds in a part of a text it finds in the whole: it asks nothing of what is around
	table int
}

// spans are parts of the text: one that a regular expression matches, and one that has no match. They
// answer for most of the elements inside each other.
type spans struct{ match, none struct{ start, end int } }

func (t matchesTest) match(m *matcher, k int32) bool {
	if t.own {
		return t.re.Match(m.ownText(k))
	}
	text := m.index.Text()
	start, end := text.Bounds(k)
	if len(m.spans) < m.sel.tables {
		m.spans = make([]spans, m.sel.tables)
	}
	known := &m.spans[t.table]
	if t.local {
		switch {
		case start <= known.match.start && known.match.end <= end && known.match.end > 0:
			return true
		case known.none.start <= start && end <= known.none.end && known.none.end > 0:
			return false
		}
	}
	found := t.re.FindStringIndex(text.All()[start:end])
	if found == nil {
		m.work += end - start
		known.none.start, known.none.end = start, end
		return false
	}
	m.work += found[1]
	known.match.start, known.match.end = start+found[0], start+found[1]
	return true
}

// newMatchesTest makes a test that prefers short matches, which lie in more elements: whether there is a match
// does not depend on that.
func newMatchesTest(re *regexp.Regexp, table int) matchesTest {
	t := matchesTest{re: re, table: table}
	if parsed, err := syntax.Parse(re.String(), syntax.Perl); err == nil && isLocal(parsed) {
		if short, err := regexp.Compile(parsed.String()); err == nil {
			t.re, t.local = short, true
		}
	}
	return t
}

// isLocal reports whether a regular expression asks nothing of what is around its matches, as ^ and \b do. It
// makes its repetitions short ones.
func isLocal(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return false
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		re.Flags |= syntax.NonGreedy
	}
	return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !isLocal(sub) })
}
