package archtest

import (
	"go/ast"
	"path"
	"regexp"
)

// Root checks that no station of the root points at the crawl or the engine, which would give it everything whatever it needs
// (docs/design/0020). It also checks the names of all tests.
func Root(files []File) []Problem {
	var problems []Problem
	for _, f := range files {
		if f.isTest() && vagueTest.MatchString(path.Base(f.Path)) {
			problems = append(problems, problemf(f.Path, "is named for no subject: split it by what it tests"))
		}
		if path.Dir(f.Path) == "." && !f.isTest() {
			problems = append(problems, f.owners()...)
		}
	}
	return problems
}

// vagueTest matches names of tests that say nothing of their subject.
var vagueTest = regexp.MustCompile(`(^|_)(review|regression|helpers?|misc)\d*_test\.go$|\d_test\.go$`)

// owners finds the structs of a file, other than the engine, that have the crawl or the engine.
func (f File) owners() (problems []Problem) {
	ast.Inspect(f.tree, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name == "SpiderEngine" {
			return true
		}
		body, ok := spec.Type.(*ast.StructType)
		if !ok {
			return false
		}
		for _, field := range body.Fields.List {
			of := field.Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			if name, ok := of.(*ast.Ident); ok && (name.Name == "crawl" || name.Name == "SpiderEngine") {
				problems = append(problems, problemf(f.Path,
					"struct %s has a field of the type %s: give it what it needs by its constructor", spec.Name.Name, name.Name))
			}
		}
		return false
	})
	return problems
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
