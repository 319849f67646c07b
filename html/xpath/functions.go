package xpath

import (
	"math"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
)

// function is a function that expressions can call.
type function struct {
	result   Kind
	min, max int // number of arguments; max < 0 is any number
	wantsSet bool
	// eval gets the arguments as they are written.
	eval func(ev *evaluator, f focus, args []expr) value
	// search is eval of a function with a regular expression.
	search func(ev *evaluator, f focus, c *callExpr) value
	// check says what is wrong with arguments that only some values suit, "" for nothing.
	check func(c *callExpr) string
}

// callExpr is a call of a function.
type callExpr struct {
	function *function
	args     []expr
	re       *regexp.Regexp // of matches and its kin
	all      bool           // the flag g: all matches are meant
}

func (c *callExpr) kind() Kind { return c.function.result }

func (c *callExpr) eval(ev *evaluator, f focus) value {
	if c.re != nil {
		return c.function.search(ev, f, c)
	}
	return c.function.eval(ev, f, c.args)
}

// functions are the core library of XPath 1.0, section 4, then some of XPath 2.0, EXSLT and Scrapy's
// parsel.
var functions = map[string]*function{
	"last":     {result: Number, eval: func(_ *evaluator, f focus, _ []expr) value { return numberValue(float64(f.size)) }},
	"position": {result: Number, eval: func(_ *evaluator, f focus, _ []expr) value { return numberValue(float64(f.pos)) }},
	"count": {result: Number, min: 1, max: 1, wantsSet: true, eval: func(ev *evaluator, f focus, args []expr) value {
		set := args[0].eval(ev, f).set
		ev.put(set)
		return numberValue(float64(len(set)))
	}},
	"id":            {result: NodeSet, min: 1, max: 1, eval: byID},
	"local-name":    {result: String, max: 1, wantsSet: true, eval: naming(html.Node.LocalName, html.Attr.LocalName)},
	"name":          {result: String, max: 1, wantsSet: true, eval: naming(html.Node.Name, html.Attr.Name)},
	"namespace-uri": {result: String, max: 1, wantsSet: true, eval: naming(html.Node.NamespaceURI, html.Attr.NamespaceURI)},

	"string": {result: String, max: 1, eval: func(ev *evaluator, f focus, args []expr) value { return stringOf(ev.text(f, args)) }},
	"concat": {result: String, min: 2, max: -1, eval: func(ev *evaluator, f focus, args []expr) value {
		var b strings.Builder
		for _, arg := range args {
			text := ev.toString(arg.eval(ev, f))
			if !ev.fits(b.Len() + len(text)) {
				return stringOf("")
			}
			b.WriteString(text)
		}
		return stringOf(b.String())
	}},
	"starts-with": {result: Boolean, min: 2, max: 2, eval: ofTwo(strings.HasPrefix)},
	"ends-with":   {result: Boolean, min: 2, max: 2, eval: ofTwo(strings.HasSuffix)}, // XPath 2.0
	"contains":    {result: Boolean, min: 2, max: 2, eval: ofTwo(strings.Contains)},
	"substring-before": {result: String, min: 2, max: 2, eval: splitting(func(before, _ string) string {
		return before
	})},
	"substring-after": {result: String, min: 2, max: 2, eval: splitting(func(_, after string) string {
		return after
	})},
	"substring": {result: String, min: 2, max: 3, eval: substring},
	"string-length": {result: Number, max: 1, eval: func(ev *evaluator, f focus, args []expr) value {
		return numberValue(float64(utf8.RuneCountInString(ev.text(f, args))))
	}},
	"normalize-space": {result: String, max: 1, eval: ofText(normalizeSpace)},
	"lower-case":      {result: String, max: 1, eval: ofText(strings.ToLower)}, // XPath 2.0
	"upper-case":      {result: String, max: 1, eval: ofText(strings.ToUpper)}, // XPath 2.0
	"translate":       {result: String, min: 3, max: 3, eval: translate},
	"string-join":     {result: String, min: 2, max: 2, wantsSet: false, eval: stringJoin, check: firstIsSet}, // XPath 2.0

	"boolean": {result: Boolean, min: 1, max: 1, eval: func(ev *evaluator, f focus, args []expr) value {
		return boolValue(ev.truth(args[0], f))
	}},
	"not": {result: Boolean, min: 1, max: 1, eval: func(ev *evaluator, f focus, args []expr) value {
		return boolValue(!ev.truth(args[0], f))
	}},
	"true":  {result: Boolean, eval: func(*evaluator, focus, []expr) value { return boolValue(true) }},
	"false": {result: Boolean, eval: func(*evaluator, focus, []expr) value { return boolValue(false) }},
	"lang":  {result: Boolean, min: 1, max: 1, eval: lang},

	"number": {result: Number, max: 1, eval: func(ev *evaluator, f focus, args []expr) value {
		if len(args) == 0 {
			return numberValue(parseNumber(ev.stringValue(f.ref)))
		}
		return numberValue(ev.toNumber(args[0].eval(ev, f)))
	}},
	"sum": {result: Number, min: 1, max: 1, wantsSet: true, eval: func(ev *evaluator, f focus, args []expr) value {
		sum, set := 0.0, args[0].eval(ev, f).set
		for _, r := range set {
			sum += parseNumber(ev.stringValue(r))
		}
		ev.put(set)
		return numberValue(sum)
	}},
	"floor":   {result: Number, min: 1, max: 1, eval: ofNumber(math.Floor)},
	"ceiling": {result: Number, min: 1, max: 1, eval: ofNumber(math.Ceil)},
	"round":   {result: Number, min: 1, max: 1, eval: ofNumber(round)},

	"has-class": {result: Boolean, min: 1, max: -1, eval: hasClass},                          // parsel
	"matches":   {result: Boolean, min: 2, max: 2, search: testPattern, check: pattern},      // XPath 2.0
	"replace":   {result: String, min: 3, max: 3, search: replacePattern(2), check: pattern}, // XPath 2.0

	// EXSLT
	"re:test":           {result: Boolean, min: 2, max: 3, search: testPattern, check: flagged(2)},
	"re:match":          {result: String, min: 2, max: 3, search: matchPattern, check: flagged(2)},
	"re:replace":        {result: String, min: 4, max: 4, search: replacePattern(3), check: flagged(2)},
	"set:difference":    {result: NodeSet, min: 2, max: 2, wantsSet: true, eval: difference},
	"set:intersection":  {result: NodeSet, min: 2, max: 2, wantsSet: true, eval: intersection},
	"set:distinct":      {result: NodeSet, min: 1, max: 1, wantsSet: true, eval: distinct},
	"set:has-same-node": {result: Boolean, min: 2, max: 2, wantsSet: true, eval: hasSameNode},
	"set:leading":       {result: NodeSet, min: 2, max: 2, wantsSet: true, eval: leading},
	"set:trailing":      {result: NodeSet, min: 2, max: 2, wantsSet: true, eval: trailing},
}

// text returns the argument as a string, or that of the context node if there is none.
func (ev *evaluator) text(f focus, args []expr) string {
	if len(args) == 0 {
		return ev.stringValue(f.ref)
	}
	return ev.toString(args[0].eval(ev, f))
}

type evalFunc = func(ev *evaluator, f focus, args []expr) value

func ofText(change func(string) string) evalFunc {
	return func(ev *evaluator, f focus, args []expr) value {
		text := ev.text(f, args)
		if !ev.spend(len(text) / newTextPerStep) {
			return stringOf("")
		}
		return stringOf(change(text))
	}
}

func ofNumber(change func(float64) float64) evalFunc {
	return func(ev *evaluator, f focus, args []expr) value {
		return numberValue(change(ev.toNumber(args[0].eval(ev, f))))
	}
}

func ofTwo(compare func(a, b string) bool) evalFunc {
	return func(ev *evaluator, f focus, args []expr) value {
		a := ev.toString(args[0].eval(ev, f))
		return boolValue(compare(a, ev.toString(args[1].eval(ev, f))))
	}
}

func splitting(take func(before, after string) string) evalFunc {
	return func(ev *evaluator, f focus, args []expr) value {
		text := ev.toString(args[0].eval(ev, f))
		before, after, found := strings.Cut(text, ev.toString(args[1].eval(ev, f)))
		if !found {
			return stringOf("")
		}
		return stringOf(take(before, after))
	}
}

// naming returns a name of the first node of the argument or of the context node.
func naming(ofNode func(html.Node) string, ofAttr func(html.Attr) string) evalFunc {
	return func(ev *evaluator, f focus, args []expr) value {
		r := f.ref
		if len(args) == 1 {
			set := args[0].eval(ev, f).set
			defer ev.put(set)
			if len(set) == 0 {
				return stringOf("")
			}
			r = set[0]
		}
		if r.attr != 0 {
			return stringOf(ev.read(ofAttr(ev.doc.Ref(r.node, r.attr).Attr())))
		}
		return stringOf(ev.read(ofNode(ev.doc.Node(r.node))))
	}
}

// byID finds elements by the attribute id, without the document type that XML could name another in.
func byID(ev *evaluator, f focus, args []expr) value {
	v := args[0].eval(ev, f)
	set := ev.take()
	words := ev.index.Words()
	find := func(text string) {
		for id := range strings.FieldsSeq(text) {
			for _, k := range words.ByID(words.Lookup(id)) {
				ev.work++
				if n := ev.index.Node(k); ev.findAttr(n, html.AtomId).Value() == id {
					set = append(ev.room(set, 1), ref{node: n.ID()})
					break
				}
			}
		}
	}
	if v.kind == NodeSet {
		for _, r := range v.set {
			find(ev.stringValue(r))
		}
		ev.put(v.set)
	} else {
		find(ev.toString(v))
	}
	return value{kind: NodeSet, set: inOrder(set)}
}

// substring implements section 4.2: characters whose position is at least the second argument and,
// with a third, less than the sum of the two, both rounded.
func substring(ev *evaluator, f focus, args []expr) value {
	text := ev.toString(args[0].eval(ev, f))
	first := round(ev.toNumber(args[1].eval(ev, f)))
	end := math.Inf(1)
	if len(args) == 3 {
		end = first + round(ev.toNumber(args[2].eval(ev, f)))
	}
	start, stop, position := len(text), len(text), 1.0
	for i := range text {
		if position >= first && position < end && start == len(text) {
			start = i
		}
		if position >= end {
			stop = i
			break
		}
		position++
	}
	if start >= stop || math.IsNaN(first) || math.IsNaN(end) {
		return stringOf("")
	}
	return stringOf(text[start:stop])
}

// round implements section 4.4: halves go up, and what rounds to zero from below stays negative.
func round(f float64) float64 {
	if f < 0 && f >= -0.5 {
		return math.Copysign(0, -1)
	}
	if math.Abs(f) >= 1<<52 { // has no fraction
		return f
	}
	return math.Floor(f + 0.5)
}

// normalizeSpace implements section 4.2. Text without anything to change is returned as it is.
func normalizeSpace(s string) string {
	s = strings.Trim(s, space)
	normal := 0
	for normal < len(s) && (!isSpace(s[normal]) || s[normal] == ' ' && !isSpace(s[normal+1])) {
		normal++
	}
	if normal == len(s) {
		return s
	}
	b := make([]byte, 0, len(s))
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool { return r < utf8.RuneSelf && isSpace(byte(r)) }) {
		if len(b) > 0 {
			b = append(b, ' ')
		}
		b = append(b, word...)
	}
	return view(b)
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func translate(ev *evaluator, f focus, args []expr) value {
	text := ev.toString(args[0].eval(ev, f))
	from, to := []rune(ev.toString(args[1].eval(ev, f))), []rune(ev.toString(args[2].eval(ev, f)))
	if !ev.spend(len(text) / newTextPerStep) {
		return stringOf("")
	}
	table := make(map[rune]rune, len(from))
	for i, r := range from {
		if _, again := table[r]; again {
			continue
		}
		table[r] = -1
		if i < len(to) {
			table[r] = to[i]
		}
	}
	return stringOf(strings.Map(func(r rune) rune {
		if other, found := table[r]; found {
			return other
		}
		return r
	}, text))
}

func firstIsSet(c *callExpr) string {
	if c.args[0].kind() != NodeSet {
		return "string-join wants a node-set, not a " + c.args[0].kind().String()
	}
	return ""
}

func stringJoin(ev *evaluator, f focus, args []expr) value {
	set := args[0].eval(ev, f).set
	between := ev.toString(args[1].eval(ev, f))
	size := 0
	for _, r := range set {
		// What lies one inside the other comes again and again: the result can be far longer than the page.
		n := len(ev.stringValue(r)) + len(between)
		if !ev.spend(n) {
			return stringOf("")
		}
		size += n
	}
	if !ev.fits(size) {
		return stringOf("")
	}
	var b strings.Builder
	b.Grow(size)
	for i, r := range set {
		if i > 0 {
			b.WriteString(between)
		}
		b.WriteString(ev.stringValue(r))
	}
	ev.put(set)
	return stringOf(b.String())
}

// lang implements section 4.3, with HTML's attribute lang where there is no xml:lang.
func lang(ev *evaluator, f focus, args []expr) value {
	want := ev.toString(args[0].eval(ev, f))
	for n := ev.doc.Node(f.node); !n.IsZero(); n = n.Parent() {
		ev.work++
		a := ev.findAttr(n, html.AtomXmlLang)
		if a.IsZero() && !ev.xml {
			a = ev.findAttr(n, html.AtomLang)
		}
		if a.IsZero() {
			continue
		}
		tag := a.Value()
		return boolValue(len(tag) >= len(want) && strings.EqualFold(tag[:len(want)], want) &&
			(len(tag) == len(want) || tag[len(want)] == '-'))
	}
	return boolValue(false)
}

// hasClass reports whether the context node has all the classes.
func hasClass(ev *evaluator, f focus, args []expr) value {
	a := ev.findAttr(ev.doc.Node(f.node), html.AtomClass)
	if f.attr != 0 || a.IsZero() {
		return boolValue(false)
	}
	classes := view(a.Bytes())
	for _, arg := range args {
		want, found := ev.toString(arg.eval(ev, f)), false
		if !ev.spend(len(classes) / newTextPerStep) {
			break
		}
		for class := range strings.FieldsSeq(classes) {
			if found = class == want; found {
				break
			}
		}
		if !found {
			return boolValue(false)
		}
	}
	return boolValue(true)
}
