package xpath

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"github.com/tegenaria/tegenaria/html"
)

// expr is a part of an expression.
type expr interface {
	kind() Kind
	eval(ev *evaluator, f focus) value
}

// focus is the context of an evaluation: XPath 1.0, section 1.
type focus struct {
	ref
	pos, size int
}

// ref is a node, or an attribute of it, of the document that the evaluator is for. Numbers follow
// document order.
type ref struct{ node, attr uint32 }

func (r ref) compare(other ref) int {
	if c := cmp.Compare(r.node, other.node); c != 0 {
		return c
	}
	return cmp.Compare(r.attr, other.attr)
}

// value is a value of the kind. Sets are in document order, each node once; they belong to whoever
// gets them, until evaluator.put takes them back.
type value struct {
	kind    Kind
	boolean bool
	num     float64
	str     string
	set     []ref
}

func stringOf(s string) value     { return value{kind: String, str: s} }
func numberValue(f float64) value { return value{kind: Number, num: f} }
func boolValue(b bool) value      { return value{kind: Boolean, boolean: b} }

// evaluator is one evaluation of an expression.
type evaluator struct {
	expr  *Expr
	doc   *html.Document
	index *html.Index
	xml   bool
	top   ref // where absolute paths begin

	work, limit int
	names       []uint32 // by nameTest.number: its name in Index.Name, for HTML an atom too
	free        [][]ref
}

var evaluators = sync.Pool{New: func() any { return new(evaluator) }}

// What an evaluation may take, see [WorkError]. What is read counts as one step for so many bytes of
// text or attributes, in which time a node is visited.
const (
	baseSteps      = 10_000_000
	stepsPerNode   = 1000
	manyNodes      = 200_000 // beyond that:
	stepsPerOther  = 10
	textPerStep    = 32
	newTextPerStep = 8 // of text that is cut into words or that other text is made from
	attrsPerStep   = 16
	mostRefs       = 1 << 21 // of a set, beside four for each node
	mostText       = 1 << 26 // bytes of a text that is made, beside the size of the page
)

func workLimit(nodes int) int {
	return baseSteps + stepsPerNode*min(nodes, manyNodes) + stepsPerOther*max(0, nodes-manyNodes)
}

func newEvaluator(e *Expr, doc *html.Document) *evaluator {
	ev := evaluators.Get().(*evaluator)
	ev.expr, ev.doc, ev.index, ev.xml = e, doc, doc.Index(), doc.IsXML()
	ev.work, ev.limit, ev.top = 0, workLimit(doc.Len()), ref{node: 1}
	ev.names = ev.names[:0]
	for _, t := range e.tests {
		name := t.local
		if !ev.xml {
			name = t.name
		}
		ev.names = append(ev.names, uint32(doc.LookupAtom(name)))
		if ev.xml {
			ev.names[len(ev.names)-1] = ev.index.Name(name)
		}
	}
	return ev
}

// release gives the evaluator back, with the memory of a few small sets.
func (ev *evaluator) release() {
	ev.free = slices.DeleteFunc(ev.free, func(s []ref) bool { return cap(s) > 1<<13 })
	ev.expr, ev.doc, ev.index = nil, nil, nil
	evaluators.Put(ev)
}

// take returns an empty set with some memory.
func (ev *evaluator) take() []ref {
	if n := len(ev.free); n > 0 {
		s := ev.free[n-1]
		ev.free = ev.free[:n-1]
		return s
	}
	return make([]ref, 0, 16)
}

// put gives the memory of a set back.
func (ev *evaluator) put(s []ref) {
	if cap(s) > 0 && len(ev.free) < 16 {
		ev.free = append(ev.free, s[:0])
	}
}

// room returns a set with room for n nodes more. One that is far larger than the document ends the evaluation.
func (ev *evaluator) room(s []ref, n int) []ref {
	if len(s)+n > mostRefs+4*ev.doc.Len() {
		ev.work = ev.limit + 1
	}
	return slices.Grow(s, n)
}

// fits reports whether a text of so many bytes may be made. One that may not ends the evaluation.
func (ev *evaluator) fits(bytes int) bool {
	if bytes > mostText+len(ev.doc.Source()) {
		ev.work = ev.limit + 1
	}
	return !ev.exhausted()
}

// spend counts steps. It reports whether the evaluation may go on.
func (ev *evaluator) spend(steps int) bool {
	ev.work += steps
	return !ev.exhausted()
}

func (ev *evaluator) exhausted() bool { return ev.work > ev.limit }

// The conversions of XPath 1.0, sections 4.2 to 4.4. They give sets back.

func (ev *evaluator) toString(v value) string {
	switch v.kind {
	case NodeSet:
		s := ""
		if len(v.set) > 0 {
			s = ev.stringValue(v.set[0])
		}
		ev.put(v.set)
		return s
	case Number:
		return formatNumber(v.num)
	case Boolean:
		return strconv.FormatBool(v.boolean)
	}
	return v.str
}

func (ev *evaluator) toNumber(v value) float64 {
	switch v.kind {
	case Number:
		return v.num
	case Boolean:
		return numberOf(v.boolean)
	}
	return parseNumber(ev.toString(v))
}

func (ev *evaluator) toBool(v value) bool {
	ev.put(v.set)
	return truthOf(v)
}

func truthOf(v value) bool {
	switch v.kind {
	case NodeSet:
		return len(v.set) > 0
	case Number:
		return v.num != 0 && !math.IsNaN(v.num)
	case Boolean:
		return v.boolean
	}
	return v.str != ""
}

// truth evaluates an expression for its truth value alone. For a path it looks for the first node
// only.
func (ev *evaluator) truth(e expr, f focus) bool {
	if p, ok := e.(*path); ok {
		set := p.nodes(ev, f, 1)
		ev.put(set)
		return len(set) > 0
	}
	return ev.toBool(e.eval(ev, f))
}

func numberOf(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

const space = " \t\r\n" // of XML

// parseNumber implements the function number for strings: white space, a minus sign and digits with
// a point; all else is not a number.
func parseNumber(s string) float64 {
	s = strings.Trim(s, space)
	rest := strings.TrimPrefix(s, "-")
	n := digits(rest)
	if n < len(rest) && rest[n] == '.' {
		fraction := digits(rest[n+1:])
		if n+fraction == 0 {
			return math.NaN()
		}
		n += 1 + fraction
	}
	if n == 0 || n < len(rest) {
		return math.NaN()
	}
	f, _ := strconv.ParseFloat(s, 64) // too large is infinite
	return f
}

// formatNumber implements the function string for numbers: no exponents.
func formatNumber(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	case f == 0:
		return "0" // negative zero too
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// stringValue returns the string-value of a node: XPath 1.0, section 5. It is a view of the document
// where that is possible. It counts the text, for whoever asks for it reads it.
func (ev *evaluator) stringValue(r ref) string {
	if ev.exhausted() {
		return ""
	}
	s := stringValue(ev.doc, r)
	ev.work += 1 + len(s)/textPerStep
	return s
}

// read counts a name that was copied.
func (ev *evaluator) read(name string) string {
	ev.work += len(name) / newTextPerStep
	return name
}

// isName reports whether an atom is that of a name.
func (ev *evaluator) isName(a html.Atom, name string) bool {
	if own := ev.doc.AtomBytes(a); own != nil {
		return string(own) == name
	}
	return a.String() == name
}

// findAttr is html.Node.FindAttr, counted.
func (ev *evaluator) findAttr(n html.Node, name html.Atom) html.Attr {
	passed, a := 0, n.FirstAttr()
	for ; !a.IsZero() && a.Atom() != name; a = a.Next() {
		passed++
	}
	ev.work += passed / attrsPerStep
	return a
}

func stringValue(doc *html.Document, r ref) string {
	if r.attr != 0 {
		return view(doc.Ref(r.node, r.attr).Attr().Bytes())
	}
	n := doc.Node(r.node)
	switch n.Kind() {
	case html.DocumentNode:
		return doc.Index().Text().All()
	case html.ElementNode:
		text := n.FirstChild()
		if text.IsZero() {
			return ""
		}
		if text.Kind() == html.TextNode && text.NextSibling().IsZero() {
			return view(text.Data())
		}
		return doc.Index().Text().Of(doc.Index().Position(n))
	}
	return view(n.Data())
}

// view makes a string of bytes that do not change as long as the document is in use.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
