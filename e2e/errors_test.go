package e2e_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/report"
)

// exportedErrors returns the exported errors of the packages that users can import, types and variables, by the name that a
// user writes for them, such as "disk.InUseError". Those of the root package have no qualifier.
func exportedErrors(t *testing.T) []string {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Name,Export", "./...")
	list.Dir, list.Stderr = "..", os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	const root = "github.com/tegenaria/tegenaria"
	exports, ours := make(map[string]string), []string{}
	for in := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct{ ImportPath, Name, Export string }
		if err := in.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		below, isOurs := strings.CutPrefix(p.ImportPath, root)
		if isOurs && p.Name != "main" && !strings.Contains(below, "/internal/") && !strings.HasPrefix(below, "/examples/") {
			ours = append(ours, p.ImportPath)
		}
	}
	from := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	isError := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	var names []string
	for _, path := range ours {
		p, err := from.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range p.Scope().Names() {
			object := p.Scope().Lookup(name)
			_, isVariable := object.(*types.Var)
			_, isType := object.(*types.TypeName)
			implements := types.Implements(object.Type(), isError)
			if isType && !types.IsInterface(object.Type()) {
				implements = implements || types.Implements(types.NewPointer(object.Type()), isError)
			}
			if !object.Exported() || !implements || !isVariable && !isType {
				continue
			}
			if path != root {
				name = p.Name() + "." + name
			}
			names = append(names, name)
		}
	}
	return names
}

// errorRow is a row of a table of errors: its first cell names one or several.
var errorRow = regexp.MustCompile("(?m)^\\| ((?:`(?:\\w+\\.)?(?:\\w*Error|Err[A-Z]\\w*)`(?:, )?)+) \\|")

// code is what stands between backquotes.
var code = regexp.MustCompile("`([^`]+)`")

// TestErrorsOfDocs fails if an exported error has no row in docs/errors.md, or a row names one that no package has.
func TestErrorsOfDocs(t *testing.T) {
	names := exportedErrors(t)
	if len(names) < 100 {
		t.Fatalf("only %d errors", len(names))
	}
	rows := make(map[string]int)
	for _, row := range errorRow.FindAllStringSubmatch(readFile(t, "../docs/errors.md"), -1) {
		for _, name := range code.FindAllStringSubmatch(row[1], -1) {
			rows[name[1]]++
		}
	}
	for _, name := range names {
		if rows[name] != 1 {
			t.Errorf("docs/errors.md has %d rows of %s, not one", rows[name], name)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/errors.md has %s, which no package exports", name)
	}
}

// TestOutcomesOfDocs fails if an outcome has no row in docs/errors.md, or a row names another one.
func TestOutcomesOfDocs(t *testing.T) {
	_, text, _ := strings.Cut(readFile(t, "../docs/errors.md"), "\n## Outcomes of requests\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var documented, names []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		documented = append(documented, row[1])
	}
	for o := tegenaria.Fetched; o.String() != "unknown"; o++ {
		names = append(names, o.String())
	}
	if !slices.Equal(names, documented) {
		t.Errorf("docs/errors.md has the outcomes %q, not %q", documented, names)
	}
}

// TestCausesOfDocs fails if the log can name a cause of failures that docs/errors.md does not have: those that the code
// returns as a text of its own.
func TestCausesOfDocs(t *testing.T) {
	page := readFile(t, "../docs/errors.md")
	found := 0
	for file, funcs := range map[string][]string{
		"../internal/fetch/cause.go": {"Cause"}, "../report.go": {"causeOf", "pageLimit"},
	} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !slices.Contains(funcs, f.Name.Name) {
				continue
			}
			for _, cause := range textsMade(f) {
				found++
				if words := report.CauseInWords(cause); !strings.Contains(page, "`"+words) {
					t.Errorf("docs/errors.md does not have %q, which %s of %s returns", words, f.Name.Name, file)
				}
			}
		}
	}
	for _, cause := range []string{report.OverNodes, report.OverAttributes} {
		if !strings.Contains(page, "`"+cause+"`") {
			t.Errorf("docs/errors.md does not have %q", cause)
		}
	}
	if found < 20 {
		t.Errorf("only %d causes", found)
	}
}

// textsMade returns the texts that a func returns, or puts into a value that it makes.
func textsMade(f *ast.FuncDecl) (texts []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		var made []ast.Expr
		switch n := n.(type) {
		case *ast.ReturnStmt:
			made = n.Results
		case *ast.CompositeLit:
			made = n.Elts
		}
		for _, e := range made {
			if sum, ok := e.(*ast.BinaryExpr); ok {
				e = sum.X
			}
			if literal, ok := e.(*ast.BasicLit); ok && literal.Value != `""` {
				text, err := strconv.Unquote(literal.Value)
				if err != nil {
					panic(err) // the parser has read it
				}
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts
}
