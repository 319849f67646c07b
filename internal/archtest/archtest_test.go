package archtest_test

import (
	"bytes"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tegenaria/tegenaria/internal/archtest"
)

// root is the root of the module, seen from this package.
const root = "../.."

// goList runs go list in the root of the module.
func goList(t *testing.T, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = root
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, &errs)
	}
	return out.Bytes()
}

func fail(t *testing.T, problems []archtest.Problem) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

func TestHouse(t *testing.T) {
	t.Run("modules of the root", func(t *testing.T) {
		out := goList(t, "-e", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", ".")
		fail(t, archtest.RootModules(strings.Fields(string(out))))
	})
	t.Run("files", func(t *testing.T) {
		files, err := archtest.Parse(os.DirFS(root))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"internal/archtest/source.go", "e2e/docs_test.go", "examples/linksrus/main.go"} {
			if !slices.ContainsFunc(files, func(f archtest.File) bool { return f.Path == path }) {
				t.Fatalf("%s was not found", path)
			}
		}
		fail(t, archtest.Imports(archtest.Packages(files)))
		fail(t, archtest.Plan(archtest.Packages(files)))
		fail(t, archtest.Files(files))
		fail(t, archtest.Root(files))
		architecture, err := os.ReadFile(root + "/docs/architecture.md")
		if err != nil {
			t.Fatal(err)
		}
		fail(t, archtest.Story(files, string(architecture)))
	})
}

// want checks that exactly one problem was found and that it says these words, or none if there
// are no words.
func want(t *testing.T, problems []archtest.Problem, where, words string) {
	t.Helper()
	if words == "" {
		fail(t, problems)
		return
	}
	if len(problems) != 1 || problems[0].Where != where || !strings.Contains(problems[0].What, words) {
		t.Errorf("got %v, want one problem at %s that says %q", problems, where, words)
	}
}

func TestImports(t *testing.T) {
	for _, c := range []struct {
		name, from, to string
		words          string // of the problem; "" = allowed
	}{
		{"door to hall", "examples/quotes", ".", ""},
		{"door to room", "cmd/tegenaria", "cache/disk", ""},
		{"door to cellar", "examples/digest", "stage", ""},
		{"door to shared door", "examples/quotes", "examples/demosite", ""},
		{"command to its library", "cmd/tegenaria", "cli", ""},
		{"door to its own part", "examples/linksrus", "examples/linksrus/graph", ""},
		{"door to door", "examples/quotes", "examples/digest", "a door leads to rooms"},
		{"demo site to hall", "examples/demosite", ".", "the demo site is a witness"},
		{"room to hall", "feed", ".", ""},
		{"room to cellar", "cache/disk", "cache", ""},
		{"room to annex", "spiders", "links", ""},
		{"room to its own part", "cache/disk", "cache/disk/codec", ""},
		{"room to door", "feed", "cli", "must not know the doors"},
		{"room to sibling", "feed", "media", "sibling room"},
		{"room to test kit", "warc", "spidertest", "sibling room"},
		{"part of a room to sibling", "cluster/log", "cache/disk", "sibling room"},
		{"hall to cellar", ".", "internal/slots", ""},
		{"hall to annex", ".", "selector", ""},
		{"hall to room", ".", "feed", "the root imports only"},
		{"hall to room above the cellar", ".", "cache/disk", "the root imports only"},
		{"hall to door", ".", "examples/demosite", "the root imports only"},
		{"cellar to cellar", "cache", "internal/slots", ""},
		{"cellar to hall", "stage", ".", "knows nothing of crawling"},
		{"cellar to annex", "internal/httpx", "html", "knows nothing of crawling"},
		{"cellar to room", "cache", "cache/disk", "knows nothing of crawling"},
		{"annex to annex", "links", "html", ""},
		{"annex to urlx", "robots", "internal/urlx", ""},
		{"annex to hall", "selector", ".", "the annex imports only"},
		{"annex to the rest of the cellar", "sitemap", "internal/httpx", "the annex imports only"},
		{"code to helper", "links", "internal/conformance", "helper of tests"},
		{"helper to code", "internal/conformance", "links", "helper of tests"},
		{"code to rig", "feed", "internal/enginetest", "helper of tests"},
		{"rig to hall", "internal/enginetest", ".", ""},
		{"rig to helper", "feed/internal/feedtest", "internal/killtest", ""},
		{"rig to test kit", "internal/enginetest", "spidertest", ""},
		{"rig to door", "internal/enginetest", "examples/demosite", "a door leads there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			packages := []archtest.Package{
				{ImportPath: ours(c.from), Imports: []string{"fmt", "golang.org/x/net/html", ours(c.to)}},
				{ImportPath: ours(c.to)},
			}
			want(t, archtest.Imports(packages), c.from, c.words)
		})
	}
	t.Run("heavy modules", func(t *testing.T) {
		for _, c := range []struct{ from, imported, words string }{
			{"cache/disk", "github.com/cockroachdb/pebble/v2", ""},
			{"cache/disk", "github.com/cockroachdb/pebble/v2/vfs", ""},
			{"examples/linksrus/graph", "modernc.org/sqlite", ""},
			{"feed/sqlite", "modernc.org/sqlite", ""},
			{"feed", "modernc.org/sqlite", "belongs to feed/sqlite and examples/linksrus alone"},
			{"feed/sqlite", "github.com/jackc/pgx/v5/pgxpool", "belongs to feed/postgres and cluster and internal/pgretry alone"},
			{"examples/quotes", "github.com/cockroachdb/pebble/v2/vfs", "belongs to cache/disk and internal/privatefs and httpcache/internal/store and revisit alone"},
			{".", "github.com/cockroachdb/pebble/v2", "belongs to cache/disk and internal/privatefs and httpcache/internal/store and revisit alone"},
			{"feed", "modernc.org/sqlites", ""},
		} {
			want(t, archtest.Imports([]archtest.Package{{ImportPath: ours(c.from), Imports: []string{c.imported}}}), c.from, c.words)
		}
	})
	t.Run("package on no floor", func(t *testing.T) {
		for _, p := range []string{"util", "internal/other", "examples", "cachedisk"} {
			want(t, archtest.Imports([]archtest.Package{{ImportPath: ours(p)}}), p, "add it to plan in internal/archtest/tables.go")
		}
	})
	t.Run("package of another module", func(t *testing.T) {
		p := "github.com/tegenaria/tegenaria2/x"
		want(t, archtest.Imports([]archtest.Package{{ImportPath: p}}), p, "is not of module")
	})
}

// It fails if a package is left out, or an import of it, or if those of a test count.
func TestPackages(t *testing.T) {
	files, err := archtest.Parse(fstest.MapFS{
		"a.go":             {Data: []byte(file(`import "fmt"`, 0))},
		"b.go":             {Data: []byte(file("import (\n\t\"fmt\"\n\tsys \"os\"\n)", 0))},
		"feed/a_test.go":   {Data: []byte(file(`import "testing"`, 0))},
		"e2e/go.mod":       {},
		"e2e/outputs/a.go": {Data: []byte(file(`import _ "embed"`, 0))},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := archtest.Packages(files)
	want := []archtest.Package{{ours("."), []string{"fmt", "os"}}, {ours("e2e/outputs"), []string{"embed"}}, {ImportPath: ours("feed")}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// It fails if a package that does not exist may stay in the plan.
func TestPlan(t *testing.T) {
	if problems := archtest.Plan([]archtest.Package{{ImportPath: ours("cli")}}); len(problems) == 0 ||
		slices.ContainsFunc(problems, func(p archtest.Problem) bool { return p.Where == "cli" }) {
		t.Errorf("got %v, want problems, but none at cli", problems)
	}
}

func ours(rel string) string {
	const module = "github.com/tegenaria/tegenaria"
	if rel == "." {
		return module
	}
	return module + "/" + rel
}

func TestRootModules(t *testing.T) {
	own := "github.com/tegenaria/tegenaria"
	want(t, archtest.RootModules([]string{own, "golang.org/x/net", "golang.org/x/net"}), "", "")
	want(t, archtest.RootModules([]string{"github.com/cockroachdb/pebble/v2", own, "github.com/cockroachdb/pebble/v2"}),
		".", "the root now compiles module github.com/cockroachdb/pebble/v2")
}

// file makes a source file of a package clause, the given code and empty lines up to a length.
func file(code string, lines int) string {
	src := "package p\n\n" + code + "\n"
	return src + strings.Repeat("\n", max(0, lines-strings.Count(src, "\n")))
}

func TestFiles(t *testing.T) {
	for _, c := range []struct {
		name, path, src string
		line            string // ":5" when the problem is at a line
		words           string
	}{
		{"go statement of an owner", "examples/demosite/site.go", file("func f() { go f() }", 0), "", ""},
		{"go statement of a test", "stage/fifo_test.go", file("func f() { go f() }", 0), "", ""},
		{"go statement of nobody", "stage/fifo.go", file("func f() {\n\tfor {\n\t\tgo func() {}()\n\t}\n}", 0), ":5", "go statement"},

		{"func init", "feed/feed.go", file("func init() {}", 0), ":3", "func init"},
		{"func init of a test", "feed/feed_test.go", file("func init() {}", 0), ":3", "func init"},
		{"method init", "feed/feed.go", file("type T int\nfunc (T) init() {}", 0), "", ""},

		{"environment in a door", "cmd/tegenaria/main.go", file("import \"os\"\nvar x = os.Getenv(\"X\")", 0), "", ""},
		{"environment in a room", "feed/feed.go", file("import \"os\"\nvar x = os.Getenv(\"X\")", 0), ":4", "os.Getenv: no configuration"},
		{"environment in the root", "stop.go", file("import \"os\"\nvar x, _ = os.LookupEnv(\"X\")", 0), ":4", "os.LookupEnv"},
		{"environment under another name", "feed/feed.go", file("import sys \"os\"\nvar x = sys.Environ()", 0), ":4", "os.Environ"},
		{"other uses of os", "feed/feed.go", file("import \"os\"\nvar x = os.Args", 0), "", ""},
		{"exit in a door", "examples/quotes/main.go", file("import \"os\"\nfunc f() { os.Exit(1) }", 0), "", ""},
		{"exit of a test", "feed/feed_test.go", file("import \"os\"\nfunc f() { os.Exit(1) }", 0), "", ""},
		{"exit of a helper of tests", "internal/killtest/program.go", file("import \"os\"\nfunc f() { os.Exit(1) }", 0), "", ""},
		{"exit in a rig", "internal/enginetest/run.go", file("import \"os\"\nfunc f() { os.Exit(1) }", 0), ":4", "only a door may end the process"},
		{"exit in a room", "feed/feed.go", file("import \"os\"\nfunc f() { os.Exit(1) }", 0), ":4", "only a door may end the process"},
		{"fatal in the cellar", "stage/fifo.go", file("import \"log\"\nfunc f() { log.Fatalf(\"\") }", 0), ":4", "log.Fatalf"},

		{"dot import", "feed/feed.go", file("import . \"os\"\nvar x = Args", 0), ":3", "dot import of os"},

		{"sleep in an example", "examples/quotes/main.go", file("import \"time\"\nfunc f() { time.Sleep(1) }", 0), "", ""},
		{"sleep", "stage/fifo.go", file("import \"time\"\nfunc f() { time.Sleep(1) }", 0), ":4", "time.Sleep"},
		{"sleep in a test", "stage/fifo_test.go", file("import \"time\"\nfunc f() { time.Sleep(1) }", 0), ":4", "time.Sleep"},
		{"sleep as a value", "stage/fifo.go", file("import \"time\"\nvar f = time.Sleep", 0), ":4", "time.Sleep"},
		{"somebody else's Sleep", "stage/fifo.go", file("import \"x/clock\"\nfunc f() { clock.Sleep(1) }", 0), "", ""},

		{"time.After once", "stage/fifo.go", file("import \"time\"\nfunc f() { <-time.After(1) }", 0), "", ""},
		{"time.After in for", "stage/fifo.go", file("import \"time\"\nfunc f() {\n\tfor {\n\t\tselect {\n\t\tcase <-time.After(1):\n\t\t}\n\t}\n}", 0), ":7", "time.After in a loop"},
		{"time.After in range", "stage/fifo.go", file("import \"time\"\nfunc f() {\n\tfor range 3 {\n\t\t<-time.After(1)\n\t}\n}", 0), ":6", "time.After in a loop"},
		{"time.After after a loop", "stage/fifo.go", file("import \"time\"\nfunc f() {\n\tfor range 3 {\n\t}\n\t<-time.After(1)\n}", 0), "", ""},
		{"time.After in a table test", "stage/fifo_test.go", file("import \"time\"\nfunc f() {\n\tfor range 3 {\n\t\t_ = func() { <-time.After(1) }\n\t}\n}", 0), "", ""},
		{"time.After in a loop of a closure", "stage/fifo_test.go", file("import \"time\"\nvar f = func() {\n\tfor {\n\t\t<-time.After(1)\n\t}\n}", 0), ":6", "time.After in a loop"},

		{"not ours: testdata", "links/testdata/x.go", file("func init() {}", 0), "", ""},
		{"not ours: hidden", ".cache/x.go", file("func init() {}", 0), "", ""},
		{"not ours: nested module", "bench/x.go", file("func init() {}", 0), "", ""},
		{"nested module of ours", "e2e/x.go", file("func init() {}", 0), ":3", "func init"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := tidy()
			tree["bench/go.mod"], tree["e2e/go.mod"] = &fstest.MapFile{}, &fstest.MapFile{}
			tree[c.path] = &fstest.MapFile{Data: []byte(c.src)}
			files, err := archtest.Parse(tree)
			if err != nil {
				t.Fatal(err)
			}
			want(t, archtest.Files(files), c.path+c.line, c.words)
		})
	}
	t.Run("owner that starts nothing", func(t *testing.T) {
		tree := tidy()
		tree["examples/demosite/site.go"] = &fstest.MapFile{Data: []byte(file("", 0))}
		files, err := archtest.Parse(tree)
		if err != nil {
			t.Fatal(err)
		}
		want(t, archtest.Files(files), "examples/demosite/site.go", "starts no goroutine")
	})
	t.Run("source that does not parse", func(t *testing.T) {
		if _, err := archtest.Parse(fstest.MapFS{"x.go": {Data: []byte("packge p")}}); err == nil {
			t.Error("no error")
		}
	})
}

// tidy is a tree without problems: each file that the table of goroutines names starts one.
func tidy() fstest.MapFS {
	tree := fstest.MapFS{}
	for _, path := range archtest.Owners() {
		tree[path] = &fstest.MapFile{Data: []byte(file("func f() { go f() }", 0))}
	}
	return tree
}

// It fails if a rule is not looked at.
func TestRoot(t *testing.T) {
	for _, c := range []struct {
		name  string
		tree  map[string]string // sources by path
		words string            // of the one problem; "" = none
	}{
		{"the engine", map[string]string{"a.go": file("type SpiderEngine struct{ crawl *crawl }", 0)}, ""},
		{"a station that gets what it needs", map[string]string{"a.go": file("type pages struct{ stop *stop }", 0)}, ""},
		{"a station with the crawl", map[string]string{"a.go": file("type pages struct{ all *crawl }", 0)}, "pages has a field of the type crawl"},
		{"a station with the crawl in it", map[string]string{"a.go": file("type pages struct{ crawl }", 0)}, "pages has a field of the type crawl"},
		{"a station with the engine", map[string]string{"a.go": file("type pages struct{ e *SpiderEngine }", 0)}, "pages has a field of the type SpiderEngine"},
		{"the same elsewhere", map[string]string{"x/a.go": file("type pages struct{ all *crawl }", 0)}, ""},
		{"a test named for nothing", map[string]string{"x/review3_test.go": file("", 100)}, "named for no subject"},
		{"a test with a number", map[string]string{"crawl2_test.go": file("", 100)}, "named for no subject"},
		{"a test of a helper", map[string]string{"x/helper_test.go": file("", 100)}, "is named for no subject"},
		{"a test of helpers of a subject", map[string]string{"x/jobhelpers_test.go": file("", 100)}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := fstest.MapFS{}
			for path, src := range c.tree {
				tree[path] = &fstest.MapFile{Data: []byte(src)}
			}
			files, err := archtest.Parse(tree)
			if err != nil {
				t.Fatal(err)
			}
			problems := archtest.Root(files)
			if c.words == "" {
				fail(t, problems)
			} else if len(problems) != 1 || !strings.Contains(problems[0].What, c.words) {
				t.Errorf("got %v, want one problem that says %q", problems, c.words)
			}
		})
	}
}
