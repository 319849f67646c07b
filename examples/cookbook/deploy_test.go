package cookbook_test

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// What is not Go: the commands of the page for Docker and cron.

// block returns the first block of a question of the page that contains the text.
func block(t *testing.T, text string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/cookbook.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(b[1], text) {
			return b[1]
		}
	}
	t.Fatalf("no block has %q", text)
	return ""
}

var dockerfile = flag.Bool("dockerfile", false, "build the program of the Dockerfile")

// The command of the Dockerfile builds the page's first program without a C compiler, and what it builds runs: it prints the quotes.
func TestDockerfile(t *testing.T) {
	if !*dockerfile {
		t.Skip("everything is compiled anew: -dockerfile asks for it")
	}
	command := regexp.MustCompile(`(?m)^RUN (CGO_ENABLED=0 .*) -o /crawler \.$`).FindStringSubmatch(block(t, "FROM scratch"))
	if command == nil {
		t.Fatal("the Dockerfile builds nothing")
	}
	dir, err := os.MkdirTemp(".", "_crawler") // in the module, and ignored by ./...
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(block(t, "package main\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "crawler")
	build := exec.Command("sh", "-c", command[1]+" -o "+binary+" .")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(binary)
	run.Dir = t.TempDir()
	out, err := run.Output()
	if n := strings.Count(string(out), "\n"); err != nil || n != 100 {
		t.Errorf("%d lines, want 100; %v", n, err)
	}
}

// The program of the Dockerfile does not run as root, nor with root's group.
func TestDockerfileUser(t *testing.T) {
	if text := block(t, "FROM scratch"); !regexp.MustCompile(`(?ms)^FROM scratch$.*^USER [1-9]\d*:[1-9]\d*$.*^ENTRYPOINT `).MatchString(text) {
		t.Errorf("no USER with numbers other than 0 before the ENTRYPOINT:\n%s", text)
	}
}

// The line for cron reports a crawl that failed. It says nothing after a good one, and while another one is running.
func TestCron(t *testing.T) {
	for _, tool := range []string{"flock", "timeout"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	line := strings.ReplaceAll(strings.TrimSpace(block(t, "flock")), "/var/lib/crawler", dir)
	line = strings.SplitN(line, " ", 6)[5] // behind the times
	for code, want := range map[string]string{"0": "", "1": "the crawl did not finish, see crawl.log\n"} {
		if err := os.WriteFile(filepath.Join(dir, "crawler"), []byte("#!/bin/sh\necho noise\nexit "+code+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("sh", "-c", line).CombinedOutput(); string(out) != want || err != nil {
			t.Errorf("exit code %s: printed %q, want %q; %v", code, out, want, err)
		}
	}
	held := exec.Command("flock", "lock", "sh", "-c", line) // while the last crawl has the lock
	held.Dir = dir
	if out, err := held.CombinedOutput(); len(out) > 0 || err != nil {
		t.Errorf("another crawl is running: printed %q, %v", out, err)
	}
}

// What the page says of the exit code: a crawl that has got no page is an error.
func TestNothingIsAnError(t *testing.T) {
	spider := tegenaria.NewSpider("nothing", tegenaria.Handle(parse), start(t).URL()+"/private/")
	var nothing *tegenaria.NothingError
	for _, err := range tegenaria.Crawl[quote](context.Background(), spider) {
		if !errors.As(err, &nothing) {
			t.Errorf("ended with %v", err)
		}
	}
	if nothing == nil {
		t.Error("ended without an error")
	}
}
