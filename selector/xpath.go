package selector

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/antchfx/xpath"
	"golang.org/x/net/html"
)

// xpathQuery holds compiled copies of one expression, because evaluating one changes it.
type xpathQuery struct {
	copies sync.Pool // of *xpath.Expr
}

func parseXPath(expr string) (matcher, error) {
	first, err := compileXPath(expr)
	if err != nil {
		return nil, err
	}
	q := &xpathQuery{}
	q.copies.New = func() any {
		again, err := compileXPath(expr)
		if err != nil {
			panic(err) // cannot be: it compiled before
		}
		return again
	}
	q.copies.Put(first)
	return q, nil
}

// compileXPath returns the library's errors and its panics as errors.
func compileXPath(expr string) (e *xpath.Expr, err error) {
	defer recoverAs(&err)
	if !balanced(expr) {
		return nil, errors.New("a bracket, a parenthesis or a string is not closed or not opened")
	}
	e, err = xpath.Compile(expr)
	if err != nil {
		return nil, err
	}
	// The library stops reading where an expression may end and ignores what follows; in
	// parentheses what follows is an error.
	if _, err := xpath.Compile("(" + expr + ")"); err != nil {
		return nil, fmt.Errorf("text after the end of the expression: %w", err)
	}
	return e, nil
}

// balanced reports whether parentheses and brackets outside strings come in pairs.
func balanced(expr string) bool {
	var open []byte
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; c {
		case '"', '\'':
			n := strings.IndexByte(expr[i+1:], c)
			if n < 0 {
				return false
			}
			i += n + 1
		case '(':
			open = append(open, ')')
		case '[':
			open = append(open, ']')
		case ')', ']':
			if len(open) == 0 || open[len(open)-1] != c {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0
}

func recoverAs(err *error) {
	switch p := recover().(type) {
	case nil:
	case error:
		*err = p
	default:
		*err = fmt.Errorf("%v", p)
	}
}

// match fails where the library notices only in use that an expression is wrong, such as a
// function that is given the wrong kind of argument.
func (q *xpathQuery) match(doc *Document, contexts []item) (found []item, err error) {
	expr := q.copies.Get().(*xpath.Expr)
	defer recoverAs(&err)
	for _, c := range contexts {
		if c.node == nil {
			continue
		}
		found = evaluate(found, expr, doc.root, c)
	}
	q.copies.Put(expr)
	return inOrder(found, doc), nil
}

// evaluate appends the value of expr in one context.
func evaluate(found []item, expr *xpath.Expr, root *html.Node, context item) []item {
	at := navigator{root: root, node: context.node, attr: context.attr}
	start := at
	switch v := expr.Evaluate(&start).(type) {
	case nil:
	case *xpath.NodeIterator:
		// Evaluating may have moved the navigator that the iterator holds.
		start = at
		for nodes := expr.Select(&start); nodes.MoveNext(); {
			n, ok := nodes.Current().(*navigator)
			if !ok {
				panic(fmt.Sprintf("expression selects values of type %T", nodes.Current()))
			}
			found = append(found, item{node: n.node, attr: n.attr})
		}
	case string:
		found = append(found, item{value: v, attr: noAttr})
	case float64:
		found = append(found, item{value: formatNumber(v), attr: noAttr})
	default: // bool, and the integers of the library's own functions
		found = append(found, item{value: fmt.Sprint(v), attr: noAttr})
	}
	return found
}

// formatNumber writes a number as XPath's string function does (XPath 1.0, section 4.2).
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

// inOrder sorts nodes in document order and drops repetitions. Values stay as they came.
func inOrder(found []item, doc *Document) []item {
	if len(found) < 2 || found[0].node == nil {
		return found
	}
	numbers := doc.number()
	compare := func(a, b item) int {
		if a.node == b.node {
			return cmp.Compare(a.attr, b.attr)
		}
		return cmp.Compare(numbers[a.node], numbers[b.node])
	}
	if !slices.IsSortedFunc(found, compare) {
		slices.SortFunc(found, compare)
	}
	return slices.Compact(found)
}
