package archtest

import (
	"go/ast"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Root checks that the root stays a place that a stranger can read: how many files it has and how long they are together, that
// no file is a sliver, that the methods of a type lie together, and that no type is a bag for everything. It also checks
// the names of all tests.
func Root(files []File) []Problem {
	var problems []Problem
	sum := rootSum{methods: make(map[string]map[string]bool), fields: make(map[string]int), where: make(map[string]string)}
	for _, f := range files {
		if f.isTest() && vagueTest.MatchString(path.Base(f.Path)) {
			problems = append(problems, problemf(f.Path, "is named for no subject: split it by what it tests"))
		}
		if path.Dir(f.Path) == "." {
			sum.add(f)
		}
	}
	return append(problems, sum.problems()...)
}

// vagueTest matches names of tests that say nothing of their subject.
var vagueTest = regexp.MustCompile(`(^|_)(review|regression|helpers?|misc)\d*_test\.go$|\d_test\.go$`)

// rootSum is what the root has.
type rootSum struct {
	files, tests, lines int
	slivers             []string
	methods             map[string]map[string]bool // files by type
	fields              map[string]int             // by struct
	where               map[string]string          // file of a struct
}

func (s *rootSum) add(f File) {
	if f.isTest() {
		s.tests++
		return
	}
	s.files++
	s.lines += f.Lines
	if f.Lines < minRootLines && path.Base(f.Path) != "doc.go" {
		s.slivers = append(s.slivers, f.Path)
	}
	for _, decl := range f.tree.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if name := receiver(d); name != "" {
				if s.methods[name] == nil {
					s.methods[name] = make(map[string]bool)
				}
				s.methods[name][f.Path] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if t, ok := spec.(*ast.TypeSpec); ok {
					if body, ok := t.Type.(*ast.StructType); ok {
						s.fields[t.Name.Name], s.where[t.Name.Name] = countNames(body), f.Path
					}
				}
			}
		}
	}
}

// receiver returns the name of the type that a method belongs to, "" for a func.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch of := t.(type) {
		case *ast.StarExpr:
			t = of.X
		case *ast.IndexExpr:
			t = of.X
		case *ast.IndexListExpr:
			t = of.X
		case *ast.Ident:
			return of.Name
		default:
			return ""
		}
	}
}

// countNames counts the fields of a struct, an embedded one as one.
func countNames(body *ast.StructType) (n int) {
	for _, field := range body.Fields.List {
		n += max(len(field.Names), 1)
	}
	return n
}

func (s *rootSum) problems() []Problem {
	var problems []Problem
	over := func(what string, n, most int) {
		if n > most {
			problems = append(problems, problemf(".", "has %d %s, at most %d: give a machine a room below, or put a word to the file of its noun", n, what, most))
		}
	}
	over("files", s.files, maxRootFiles)
	over("test files", s.tests, maxRootTests)
	over("lines", s.lines, maxRootSum)
	if n := len(s.slivers); n > maxSlivers {
		problems = append(problems, problemf(".", "has %d files of fewer than %d lines, at most %d (%s): put each to the noun it belongs to",
			n, minRootLines, maxSlivers, strings.Join(s.slivers, ", ")))
	}
	for _, name := range slices.Sorted(maps.Keys(s.methods)) {
		in := slices.Sorted(maps.Keys(s.methods[name]))
		if len(in) > maxMethodFiles {
			problems = append(problems, problemf(in[0], "the methods of %s lie in %d files, at most %d: %s", name, len(in), maxMethodFiles, strings.Join(in, ", ")))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		if n, most := s.fields[name], max(maxFields, large[name]); n > most {
			problems = append(problems, problemf(s.where[name], "struct %s has %d fields, at most %d: it is more than one thing", name, n, most))
		}
	}
	return append(problems, s.stale()...)
}

// stale finds the exceptions that nothing needs any more.
func (s *rootSum) stale() []Problem {
	var problems []Problem
	if len(s.methods) < 10 {
		return nil // not our root
	}
	for _, name := range slices.Sorted(maps.Keys(large)) {
		if n := s.fields[name]; n < large[name] {
			problems = append(problems, problemf(".", "struct %s has %d fields: say so in large in internal/archtest/tables.go", name, n))
		}
	}
	return problems
}
