package project

import (
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
)

// Spider is a spider that is to be added to a project.
type Spider struct {
	Name string // as the commands call it
	Func string // that makes it
	dir  string
	file string // its Go file, without the ending
	main *call  // where spiders are given to package cli; nil if that is not plain
}

// call is a call of cli.Main or cli.New.
type call struct {
	path   string
	offset int    // of the place for one more argument
	before string // what stands between it and the argument before
}

// NewSpider looks whether a spider can be added to the project in a folder: whether the name is good, and nothing there has it.
func NewSpider(dir, name string) (*Spider, error) {
	id, err := identifier(name)
	if err != nil {
		return nil, err
	}
	// Without - and _ no name is that of a test or of one system.
	file := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name))
	s := &Spider{Name: name, Func: "new" + id, dir: dir, file: filepath.Join(dir, file)}
	for _, path := range []string{s.file + ".go", s.file + "_test.go", s.Fixture()} {
		if _, err := os.Lstat(path); err == nil {
			return nil, fmt.Errorf("%s is there already", path)
		}
	}
	return s, s.readProgram(s.replacer("").Replace("newExample parseExample exampleItem TestExample"))
}

// identifier makes a name such as book-shop a part of Go names, BookShop.
func identifier(name string) (string, error) {
	var b strings.Builder
	upper := true
	for i, r := range name {
		switch letter := r < unicode.MaxASCII && unicode.IsLetter(r); {
		case letter && upper:
			b.WriteRune(unicode.ToUpper(r))
			upper = false
		case letter, i > 0 && '0' <= r && r <= '9':
			b.WriteRune(r)
		case i > 0 && (r == '-' || r == '_'):
			upper = true
		default:
			return "", fmt.Errorf("%q is no good name of a spider: use letters, digits, - and _, and begin with a letter", name)
		}
	}
	if b.Len() == 0 {
		return "", errors.New("the name of the spider is empty")
	}
	return b.String(), nil
}

// readProgram looks for package cli in the program, and for declarations that are in the way.
func (s *Spider) readProgram(names string) error {
	paths, err := filepath.Glob(filepath.Join(s.dir, "*.go"))
	if err != nil {
		return err
	}
	taken := make(map[string]bool)
	for name := range strings.FieldsSeq(names) {
		taken[name] = true
	}
	var calls []*call
	files := token.NewFileSet()
	for _, path := range paths {
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return fmt.Errorf("the program of the project: %w", err)
		}
		if name := file.Name.Name; name != "main" {
			return fmt.Errorf("%s is of package %s: a spider is added to a package main", path, name)
		}
		for _, decl := range file.Decls {
			if name := declared(decl, taken); name != "" {
				return fmt.Errorf("%s declares %s already: choose another name", path, name)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if found := callOf(n); found != nil {
				place := &call{path: path, offset: files.Position(found.Lparen).Offset + 1}
				if len(found.Args) > 0 {
					place.offset, place.before = files.Position(found.Args[len(found.Args)-1].End()).Offset, ", "
				}
				calls = append(calls, place)
			}
			return true
		})
	}
	if len(paths) == 0 {
		return fmt.Errorf("%s has no Go files: tegenaria new DIR makes a project", s.dir)
	}
	if len(calls) == 1 {
		s.main = calls[0]
	}
	return nil
}

// declared returns one of the names if a declaration has it.
func declared(decl ast.Decl, names map[string]bool) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && names[d.Name.Name] {
			return d.Name.Name
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			var ids []*ast.Ident
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				ids = []*ast.Ident{spec.Name}
			case *ast.ValueSpec:
				ids = spec.Names
			}
			for _, id := range ids {
				if names[id.Name] {
					return id.Name
				}
			}
		}
	}
	return ""
}

// callOf returns a node that is a call of cli.Main or cli.New with single arguments, or nil.
func callOf(n ast.Node) *ast.CallExpr {
	found, ok := n.(*ast.CallExpr)
	if !ok || found.Ellipsis.IsValid() {
		return nil
	}
	if f, ok := found.Fun.(*ast.SelectorExpr); ok && (f.Sel.Name == "Main" || f.Sel.Name == "New") {
		if of, ok := f.X.(*ast.Ident); ok && of.Name == "cli" {
			return found
		}
	}
	return nil
}

// Fixture is the folder for the spider's saved page.
func (s *Spider) Fixture() string { return filepath.Join(s.dir, "testdata", s.Name) }

// replacer turns the text of the spider example into that of this spider.
func (s *Spider) replacer(url string) *strings.Replacer {
	id := strings.TrimPrefix(s.Func, "new")
	item := []rune(id + "Item")
	item[0] = unicode.ToLower(item[0])
	return strings.NewReplacer(`"https://example.com/"`, strconv.Quote(url), `"example"`, strconv.Quote(s.Name),
		"exampleItem", string(item), "Example", id)
}

// Write writes the spider and its test, and gives it to package cli in the program; added is false if that is left to the user.
func (s *Spider) Write(url string) (added bool, err error) {
	replace := s.replacer(url)
	for from, to := range map[string]string{"example.go": s.file + ".go", "example_test.go": s.file + "_test.go"} {
		text, err := templates.ReadFile("single/" + from)
		if err != nil {
			return false, err
		}
		if text, err = format.Source([]byte(replace.Replace(string(text)))); err != nil {
			return false, err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return false, err
		}
	}
	if s.main == nil {
		return false, nil
	}
	text, err := os.ReadFile(s.main.path)
	if err != nil {
		return false, err
	}
	at := s.main.offset
	text = append(append(text[:at:at], s.main.before+s.Func+"()"...), text[at:]...)
	return true, os.WriteFile(s.main.path, text, 0o644)
}
