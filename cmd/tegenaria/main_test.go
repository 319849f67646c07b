package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// TestMain lets the scripts run this test binary as the command.
func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"tegenaria": main}) }

// TestProjects makes projects and runs them, without a network but for the demo site on loopback. The scripts in testdata/deep are long.
func TestProjects(t *testing.T) {
	site := demosite.MustStart()
	t.Cleanup(func() {
		if err := site.Close(); err != nil {
			t.Error(err)
		}
	})
	env := []string{"GOPROXY=off", "GOTOOLCHAIN=local", "SITE=" + site.URL()}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "GOFLAGS"} { // what is compiled already is not compiled again
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimSpace(string(value))
		if name == "GOFLAGS" {
			text = strings.TrimSpace(text + " -ldflags=-w") // links faster
		}
		env = append(env, name+"="+text)
	}
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	env = append(env, "REPO="+repo)
	dirs := []string{"testdata/script"}
	if deep.Checks() {
		dirs = append(dirs, "testdata/deep")
	}
	for _, dir := range dirs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			testscript.Run(t, testscript.Params{
				Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true,
				Setup: func(e *testscript.Env) error {
					bin := filepath.SplitList(e.Getenv("PATH"))[0]
					e.Vars = append(e.Vars, env...)
					e.Vars = append(e.Vars, "HOME="+e.WorkDir, "XDG_CACHE_HOME="+filepath.Join(e.WorkDir, "cache"), "TEGENARIA="+filepath.Join(bin, "tegenaria"))
					return nil
				},
				Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "edit": edit},
			})
		})
	}
}

// exits CODE COMMAND…: the command ends with this exit code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARGUMENTS...")
	}
	got, err := "0", ts.Exec(args[1], args[2:]...)
	if exit := (interface{ ExitCode() int })(nil); errors.As(err, &exit) {
		got = string(rune('0' + exit.ExitCode()))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != args[0] {
		ts.Fatalf("exit code %s, not %s\nstdout:\n%s\nstderr:\n%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// edit FILE OLD NEW: puts a text in the place of another one.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if !bytes.Contains(text, []byte(args[1])) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, bytes.ReplaceAll(text, []byte(args[1]), []byte(args[2])), 0o644))
}
