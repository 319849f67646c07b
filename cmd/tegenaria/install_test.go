package main

import (
	"archive/zip"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// TestInstalled installs the command as users do, from a module proxy that has a release of this checkout, and makes a project with it.
// It fails if the project needs anything that the installation has not brought.
func TestInstalled(t *testing.T) {
	if !deep.Checks() {
		t.Skip("compiles all that the command needs: with -deep")
	}
	const module, version = "github.com/tegenaria/tegenaria", "v1.99.0"
	dir := t.TempDir()
	release := filepath.Join(dir, "proxy", module, "@v")
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"list": version + "\n", version + ".info": `{"Version":"` + version + `"}`, version + ".mod": string(mod)} {
		if err := os.MkdirAll(release, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(release, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	zipModule(t, filepath.Join(release, version+".zip"), module+"@"+version, "../..")
	known, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	goRun := func(in, proxy, name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir = in
		cmd.Env = append(cmd.Environ(), "GOPROXY="+proxy, "GOSUMDB=off", "GOTOOLCHAIN=local", "GOFLAGS=-trimpath -modcacherw",
			"GOMODCACHE="+filepath.Join(dir, "mod"), "GOBIN="+filepath.Join(dir, "bin"), "XDG_CACHE_HOME="+filepath.Join(dir, "cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	proxies := "file://" + filepath.Join(dir, "proxy") + ",file://" + filepath.Join(strings.TrimSpace(string(known)), "cache", "download")
	goRun(dir, proxies, "go", "install", module+"/cmd/tegenaria@"+version)
	command := filepath.Join(dir, "bin", "tegenaria")
	goRun(dir, "off", command, "new", "shop")
	shop := filepath.Join(dir, "shop")
	goRun(shop, "off", "go", "vet", "./...")
	goRun(shop, "off", "go", "test", "./...")
	if got := goRun(shop, "off", command, "list"); !strings.HasSuffix(got, " may take a minute\nquotes\n") {
		t.Errorf("list: %q", got)
	}
}

// zipModule writes the files of a module as a proxy has them.
func zipModule(t *testing.T, path, prefix, root string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w := zip.NewWriter(file)
	tree := os.DirFS(root)
	err = fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			if _, err := fs.Stat(tree, name+"/go.mod"); name == ".git" || name != "." && err == nil { // another module
				return fs.SkipDir
			}
			return nil
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		into, err := w.Create(prefix + "/" + name)
		if err == nil {
			_, err = into.Write(text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}
