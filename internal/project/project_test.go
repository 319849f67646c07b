package project_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/project"
)

var update = flag.Bool("update", false, "write release.mod, release.sum and needed.txt")

// TestRelease fails if the copies differ from the go.mod and go.sum of the module, of which new projects are made.
func TestRelease(t *testing.T) {
	for original, copied := range map[string]string{"../../go.mod": "release.mod", "../../go.sum": "release.sum"} {
		text, err := os.ReadFile(original)
		if err != nil {
			t.Fatal(err)
		}
		same(t, copied, text)
	}
}

func same(t *testing.T, path string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is out of date: go test ./internal/project -update writes it", path)
	}
}

// TestNeeded fails if needed.txt is not the list of modules that a project compiles, or if one of them is not needed for the command:
// then it is not there when the command has just been installed.
func TestNeeded(t *testing.T) {
	command := make(map[string]bool)
	var list []string
	for _, system := range []string{"darwin", "linux", "windows"} {
		for _, cgo := range []string{"0", "1"} {
			for _, path := range modules(t, system, cgo, "../../cmd/tegenaria") {
				command[path] = true
			}
			list = append(list, modules(t, system, cgo, "../../cli", "../../spidertest")...)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	for _, path := range list {
		if !command[path] {
			t.Errorf("a project needs module %s, and the command does not", path)
		}
	}
	same(t, "needed.txt", []byte(strings.Join(list, "\n")+"\n"))
}

// TestLinks fails if the program of a new project links what the command tegenaria alone has: it would be larger, and
// its modules would have to be installed with it.
func TestLinks(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if templates := "github.com/tegenaria/tegenaria/internal/project/list"; !slices.Contains(linked, templates) {
		t.Fatalf("%s is not among %d packages", templates, len(linked))
	}
	for _, name := range []string{"browser", "feed/parquet", "feed/sqlite"} {
		if slices.Contains(linked, "github.com/tegenaria/tegenaria/"+name) {
			t.Errorf("a project links package %s", name)
		}
	}
}

// modules returns the paths of the modules that packages are compiled of, but for our own.
func modules(t *testing.T, system, cgo string, packages ...string) []string {
	t.Helper()
	args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"}, packages...)
	cmd := exec.Command("go", args...)
	cmd.Env = append(cmd.Environ(), "GOOS="+system, "CGO_ENABLED="+cgo)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// TestSumOfMod compares the checksum of a go.mod with one that Go has made.
func TestSumOfMod(t *testing.T) {
	const path = "github.com/google/uuid"
	out, err := exec.Command("go", "list", "-m", "-f", "{{.GoMod}}\n{{.Version}}", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	file, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("release.sum")
	if err != nil {
		t.Fatal(err)
	}
	if line := path + " " + version + "/go.mod " + project.SumOfMod(string(text)) + "\n"; !strings.Contains(string(sums), line) {
		t.Errorf("go.sum does not have the line %s", line)
	}
}

func TestBuilt(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "internal", "project", "framework.go")
	const path, sum = "github.com/tegenaria/tegenaria", "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
	for _, test := range []struct {
		name string
		info debug.BuildInfo
		file string
		want project.Framework
		err  error
	}{
		{name: "installed with a version", info: debug.BuildInfo{Main: debug.Module{Path: path, Version: "v1.2.3", Sum: sum}}, file: "x.go", want: project.Framework{Version: "v1.2.3", Sum: sum}},
		{name: "of a project", info: debug.BuildInfo{Main: debug.Module{Path: "shop"}, Deps: []*debug.Module{{Path: path, Version: "v1.2.3", Sum: sum}}}, file: "x.go", want: project.Framework{Version: "v1.2.3", Sum: sum}},
		{name: "from a clone", info: debug.BuildInfo{Main: debug.Module{Path: path, Version: "(devel)"}}, file: file, want: project.Framework{Dir: root}},
		{name: "from a clone, trimmed", info: debug.BuildInfo{Main: debug.Module{Path: path, Version: "(devel)"}}, file: path + "/internal/project/framework.go", err: project.ErrNoSources},
		{name: "of a project with replace", info: debug.BuildInfo{Deps: []*debug.Module{{Path: path, Version: "v1.2.3", Replace: &debug.Module{Path: "../x"}}}}, file: file, want: project.Framework{Dir: root}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := project.BuiltAs(&test.info, test.file)
			if !errors.Is(err, test.err) || got != test.want {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, test.want, test.err)
			}
		})
	}
}

// TestModules fails if go.mod and go.sum of a project do not say where the framework comes from.
func TestModules(t *testing.T) {
	for _, test := range []struct {
		from     project.Framework
		mod, sum string
	}{
		{project.Framework{Version: "v1.2.3", Sum: "h1:x="}, "require github.com/tegenaria/tegenaria v1.2.3\n", "github.com/tegenaria/tegenaria v1.2.3 h1:x=\ngithub.com/tegenaria/tegenaria v1.2.3/go.mod h1:"},
		{project.Framework{Dir: "/a/b"}, "\nreplace github.com/tegenaria/tegenaria => /a/b\n", ""},
		{project.Framework{Dir: "/a b"}, "\nreplace github.com/tegenaria/tegenaria => \"/a b\"\n", ""},
	} {
		dir := filepath.Join(t.TempDir(), "my shop!")
		if err := project.Create(dir, project.Templates[0], test.from); err != nil {
			t.Fatal(err)
		}
		mod, modErr := os.ReadFile(filepath.Join(dir, "go.mod"))
		sum, sumErr := os.ReadFile(filepath.Join(dir, "go.sum"))
		if err := errors.Join(modErr, sumErr); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(mod), "module my-shop\n\ngo 1.") || !strings.Contains(string(mod), test.mod) {
			t.Errorf("%+v: go.mod\n%s", test.from, mod)
		}
		if !strings.HasPrefix(string(sum), test.sum) || strings.Contains(string(sum), "tegenaria") != (test.sum != "") {
			t.Errorf("%+v: go.sum\n%s", test.from, sum)
		}
	}
}
