package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestCommandOf(t *testing.T) {
	for _, test := range []struct {
		args, command, config string
		helps                 bool
	}{
		{"", "", "", true},
		{"crawl quotes", "crawl", "", false},
		{"--config a/b list", "list", "a/b", false},
		{"list --config=c", "list", "c", false},
		{"-h", "", "", true},
		{"--help", "", "", true},
		{"--config a", "", "a", true},
		{"help crawl", "help", "", true},
		{"crawl quotes -h", "crawl", "", true},
		{"new -- --config x", "new", "", false},
		{"parse -- -h", "parse", "", false},
	} {
		command, config, helps := commandOf(strings.Fields(test.args))
		if command != test.command || config != test.config || helps != test.helps {
			t.Errorf("%q: %q, %q, %t", test.args, command, config, helps)
		}
	}
}

// TestForeignProject fails if the program of another user's project is built.
func TestForeignProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("whose a file is is not known here")
	}
	dir := t.TempDir()
	settings := filepath.Join(dir, "tegenaria.yaml")
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var err error
	if os.Geteuid() == 0 {
		if err = os.WriteFile(settings, nil, 0o644); err == nil {
			err = os.Chown(settings, 65534, 65534)
		}
	} else {
		err = os.Symlink("/etc/passwd", settings) // root's
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var stderr strings.Builder
	code, done := become([]string{"tegenaria", "list"}, &stderr)
	if code != 2 || !done || !strings.Contains(stderr.String(), "tegenaria.yaml belongs to another user") {
		t.Errorf("code %d, %t: %s", code, done, stderr.String())
	}
	if _, done := become([]string{"tegenaria", "new", "x"}, &stderr); done {
		t.Error("new is the command's own")
	}
}
