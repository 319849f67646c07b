package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/module"
)

// TestOptionsOfDocs fails if an option of the engine or of requests, or a field of Limits and Politeness, is not in docs/options.md.
func TestOptionsOfDocs(t *testing.T) {
	table := readFile(t, "../docs/options.md")
	var names []string
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && !strings.HasSuffix(name, "_test.go") &&
				(strings.HasPrefix(f.Name.Name, "EngineWith") || strings.HasPrefix(f.Name.Name, "RequestWith")) {
				names = append(names, f.Name.Name)
			}
		}
	}
	for _, of := range []any{tegenaria.Limits{}, tegenaria.Politeness{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			names = append(names, field.Name)
		}
	}
	if len(names) < 80 {
		t.Fatalf("only %d options", len(names))
	}
	for _, name := range names {
		short := strings.TrimPrefix(name, "RequestWith") // `RequestWithBody`, `…BodyReader`
		if !regexp.MustCompile("`(" + name + "|…" + short + `)\b`).MatchString(table) {
			t.Errorf("docs/options.md does not have %s", name)
		}
	}
}

// TestSummaryOfDocs fails if Summary has a field in its JSON that the guide to events and statistics does not name.
func TestSummaryOfDocs(t *testing.T) {
	text := readFile(t, "../docs/guides/events.md")
	var names []string
	for _, of := range []any{tegenaria.Summary{}, tegenaria.RequestArgs{}, tegenaria.ModuleArgs{}, tegenaria.PoolSummary{}, tegenaria.FeedStats{},
		tegenaria.Stats{}, module.SummaryStruct{}} {
		for _, field := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if names = append(names, name); !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/guides/events.md does not have %q of %T", name, of)
			}
		}
	}
	if len(names) < 50 {
		t.Errorf("only %d fields", len(names))
	}
}
