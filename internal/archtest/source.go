package archtest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// File is one parsed source file.
type File struct {
	// Path is relative to the root of the module, with slashes.
	Path string

	set  *token.FileSet
	tree *ast.File
}

// Parse reads every Go file of a tree, whatever its build constraints, but not testdata, hidden
// folders and nested modules other than ownModules.
func Parse(tree fs.FS) ([]File, error) {
	var files []File
	err := fs.WalkDir(tree, ".", func(p string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return enter(tree, p)
		}
		if path.Ext(p) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(tree, p)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, p, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, File{Path: p, set: set, tree: parsed})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("archtest: reading the sources: %w", err)
	}
	return files, nil
}

// enter returns fs.SkipDir for the folders that hold no source of ours.
func enter(tree fs.FS, dir string) error {
	if dir == "." {
		return nil
	}
	base := path.Base(dir)
	if base == "testdata" || base[0] == '.' || base[0] == '_' {
		return fs.SkipDir
	}
	if ownModules[dir] {
		return nil
	}
	switch _, err := fs.Stat(tree, path.Join(dir, "go.mod")); {
	case err == nil:
		return fs.SkipDir
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// Packages returns the packages that files make up, with what their files other than tests import.
func Packages(files []File) []Package {
	imports := make(map[string]map[string]bool)
	for _, f := range files {
		p := path.Join(module, path.Dir(f.Path))
		if imports[p] == nil {
			imports[p] = make(map[string]bool)
		}
		if f.isTest() {
			continue
		}
		for _, imp := range f.tree.Imports {
			imported, _ := strconv.Unquote(imp.Path.Value) // the parser has accepted it
			imports[p][imported] = true
		}
	}
	var packages []Package
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		packages = append(packages, Package{ImportPath: p, Imports: slices.Sorted(maps.Keys(imports[p]))})
	}
	return packages
}

// Files checks the rules that can be seen in one file, and that the table of goroutines names no
// file that starts none.
func Files(files []File) []Problem {
	var problems []Problem
	starting := map[string]bool{}
	for _, f := range files {
		found, goes := f.code()
		problems = append(problems, found...)
		starting[f.Path] = goes
	}
	for _, name := range slices.Sorted(maps.Keys(goroutines)) {
		if !starting[name] {
			problems = append(problems, problemf(name, "starts no goroutine: take it out of goroutines in internal/archtest/tables.go"))
		}
	}
	return problems
}

func (f File) isTest() bool { return strings.HasSuffix(f.Path, "_test.go") }

// floor is where the file's package stands.
func (f File) floor() floor {
	_, level := locate(path.Dir(f.Path))
	return level
}

// code walks the syntax tree. It also reports whether the file starts goroutines.
func (f File) code() (problems []Problem, goes bool) {
	report := func(n ast.Node, format string, args ...any) {
		at := f.Path + ":" + strconv.Itoa(f.set.Position(n.Pos()).Line)
		problems = append(problems, problemf(at, format, args...))
	}
	names := map[string]string{} // the name a package has in this file → its import path
	for _, imp := range f.tree.Imports {
		p, _ := strconv.Unquote(imp.Path.Value) // the parser has accepted it
		name := path.Base(p)
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name == "." {
			report(imp, "dot import of %s: name what you use", p)
		}
		names[name] = p
	}
	// loops counts the loops around a node inside its own function: a closure made in a loop is not
	// itself one, or every table test would be. Inspect calls back with nil when it leaves a node.
	var loops []int
	ast.Inspect(f.tree, func(n ast.Node) bool {
		if n == nil {
			loops = loops[:len(loops)-1]
			return true
		}
		around := 0
		if len(loops) > 0 {
			around = loops[len(loops)-1]
		}
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			around++
		case *ast.FuncLit:
			around = 0
		}
		loops = append(loops, around)
		switch n := n.(type) {
		case *ast.GoStmt:
			goes = true
			if !f.isTest() && goroutines[f.Path] == "" {
				report(n, "go statement: name the file, and the owner that waits for the goroutine, in goroutines in internal/archtest/tables.go")
			}
		case *ast.FuncDecl:
			if n.Recv == nil && n.Name.Name == "init" {
				report(n, "func init: build it in a constructor")
			}
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				f.use(names[x.Name]+"."+n.Sel.Name, around > 0, func(what string) { report(n, "%s", what) })
			}
		}
		return true
	})
	return problems, goes
}

// use checks one use of a name of another package, "time.Sleep" for example.
func (f File) use(name string, inLoop bool, report func(what string)) {
	switch name {
	case "time.Sleep":
		if !strings.HasPrefix(f.Path, "examples/") {
			report("time.Sleep: wait on a channel, a timer and the context; tests use testing/synctest")
		}
	case "time.After":
		if inLoop {
			report("time.After in a loop makes a timer for each turn: make one timer before the loop and Reset it")
		}
	case "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln":
		if floor := f.floor(); floor != door && floor != helper && !f.isTest() {
			report(name + ": only a door may end the process; return an error")
		}
	case "os.Getenv", "os.LookupEnv", "os.Environ", "os.ExpandEnv", "syscall.Getenv":
		if f.floor() != door {
			report(name + ": no configuration by environment; take an option, in tests a flag")
		}
	}
}
