package archtest

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

// Uses tells for each file of the root, without its tests, which other ones declare what it uses: types, funcs, methods and fields.
// exports has the files with the compiled packages that the root imports, by import path.
func Uses(files []File, exports map[string]string) (map[string][]string, error) {
	set := token.NewFileSet()
	var trees []*ast.File
	for _, f := range files {
		if path.Dir(f.Path) == "." && !f.isTest() {
			tree, err := f.parseInto(set)
			if err != nil {
				return nil, err
			}
			trees = append(trees, tree)
		}
	}
	open := func(imported string) (io.ReadCloser, error) { return os.Open(exports[imported]) }
	config := types.Config{Importer: importer.ForCompiler(set, "gc", open)}
	info := types.Info{Uses: make(map[*ast.Ident]types.Object), Selections: make(map[*ast.SelectorExpr]*types.Selection)}
	root, err := config.Check(module, set, trees, &info)
	if err != nil {
		return nil, fmt.Errorf("archtest: %w", err)
	}
	uses := make(map[string][]string)
	for _, tree := range trees {
		uses[set.Position(tree.Package).Filename] = nil
	}
	for id, object := range info.Uses {
		if object.Pkg() != root {
			continue
		}
		from, to := set.Position(id.Pos()).Filename, set.Position(object.Pos()).Filename
		if from != to && !slices.Contains(uses[from], to) {
			uses[from] = append(uses[from], to)
		}
	}
	return uses, nil
}

// Knots complains of a knot that is too large.
func Knots(uses map[string][]string) []Problem {
	if knot := Knot(uses); len(knot) > maxKnot {
		return []Problem{problemf(".", "%d files of the root lead to each other by what they use, at most %d: %s; give a station what it needs by its constructor, an interface or a func",
			len(knot), maxKnot, strings.Join(knot, ", "))}
	}
	return nil
}

// Knot returns the largest set of files each of which leads to all others of the set by what it uses.
func Knot(uses map[string][]string) (largest []string) {
	reached := make(map[string]map[string]bool)
	for from := range uses {
		reached[from] = make(map[string]bool)
		reach(uses, from, reached[from])
	}
	for from := range uses {
		var knot []string
		for to := range reached[from] {
			if reached[to][from] {
				knot = append(knot, to)
			}
		}
		if slices.Sort(knot); len(knot) > len(largest) || len(knot) == len(largest) && slices.Compare(knot, largest) < 0 {
			largest = knot
		}
	}
	return largest
}

func reach(uses map[string][]string, from string, reached map[string]bool) {
	for _, to := range uses[from] {
		if !reached[to] {
			reached[to] = true
			reach(uses, to, reached)
		}
	}
}
