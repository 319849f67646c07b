package yardstick

import (
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Entry is a page of trafilatura's evaluation.
type Entry struct {
	URL, File     string
	With, Without []string // phrases that the text of the page has to have, and must not have

	dir string
}

// Evaluation reads the evaluation of a module github.com/markusmobius/go-trafilatura in dir, in the order of the files' names.
func Evaluation(dir string) (entries []Entry, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "scripts", "comparison", "data.go"), nil, 0)
	if err != nil {
		return nil, err
	}
	str := func(e ast.Expr) string { s, _ := strconv.Unquote(e.(*ast.BasicLit).Value); return s }
	ast.Inspect(file, func(n ast.Node) bool {
		kv, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		lit, ok := kv.Value.(*ast.CompositeLit)
		if !ok || lit.Type != nil {
			return true
		}
		e := Entry{URL: str(kv.Key), dir: dir}
		for _, el := range lit.Elts {
			f := el.(*ast.KeyValueExpr)
			list := func() (l []string) {
				for _, x := range f.Value.(*ast.CompositeLit).Elts {
					l = append(l, str(x))
				}
				return l
			}
			switch f.Key.(*ast.Ident).Name {
			case "File":
				e.File = str(f.Value)
			case "With":
				e.With = list()
			case "Without":
				e.Without = list()
			}
		}
		entries = append(entries, e)
		return false
	})
	slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.File, b.File) })
	return entries, nil
}

// heldSeed chooses the halves. It changes when rules are developed anew, before they are.
const heldSeed = "2026-11-28 "

// Held reports whether a page is in the half that decides, by its name: the rules of package content were tuned on the other half.
func Held(name string) bool {
	h := fnv.New32a()
	io.WriteString(h, heldSeed)
	io.WriteString(h, name)
	return h.Sum32()>>8%2 != 0
}

// Body returns the page.
func (e *Entry) Body() ([]byte, error) {
	body, err := os.ReadFile(filepath.Join(e.dir, "test-files", "comparison", e.File))
	if err != nil {
		return os.ReadFile(filepath.Join(e.dir, "test-files", "mock", e.File))
	}
	return body, nil
}

// Score counts phrases: those that were wanted and found, those that were found and not wanted, and those that were not found.
type Score struct{ Right, Wrong, Missing int }

// Add counts the phrases of a page in its text. It returns those that were wrong, with a plus, and those that were missing, with a minus.
func (s *Score) Add(e *Entry, text string) (bad []string) {
	for _, phrase := range e.With {
		if strings.Contains(text, phrase) {
			s.Right++
		} else {
			s.Missing++
			bad = append(bad, "-"+phrase)
		}
	}
	for _, phrase := range e.Without {
		if text != "" && strings.Contains(text, phrase) {
			s.Wrong++
			bad = append(bad, "+"+phrase)
		}
	}
	return bad
}

// F returns the F-score.
func (s *Score) F() float64 { return 2 * float64(s.Right) / float64(2*s.Right+s.Wrong+s.Missing) }
