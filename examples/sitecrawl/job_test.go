package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chain is a site of pages that link to the next one.
func chain(n int) map[string]string {
	pages := map[string]string{"/": `<a href="/1">`}
	for i := range n {
		pages[fmt.Sprint("/", i+1)] = fmt.Sprintf(`<a href="/%d">`, i+2)
	}
	return pages
}

func TestJob(t *testing.T) {
	const pages = 20
	s := serve(t, chain(pages))
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	var stdout, stderr bytes.Buffer
	command := func(flags ...string) int {
		stdout.Reset()
		stderr.Reset()
		return run(append([]string{"-url", s.URL + "/", "-job", filepath.Join(dir, "job"), "-out", out}, flags...), &stdout, &stderr)
	}
	lines := func() int {
		text, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		return len(readLines(t, s.URL, text)) // which fails if one is there twice
	}
	for i := 1; ; i++ {
		code := command("-max-pages", "6")
		if code == exitFinished {
			break
		}
		if code != exitStopped || i > 4 {
			t.Fatalf("run %d: exit code %d, %s", i, code, &stderr)
		}
		if got := lines(); got != 6*i {
			t.Fatalf("run %d: %d lines", i, got)
		}
		// What is not settled, as a crash may leave it behind.
		file, err := os.OpenFile(out, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(file, `{"url":"half a li`)
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if got := lines(); got != pages+1 {
		t.Errorf("%d lines, want %d", got, pages+1)
	}
	asked := strings.Count(s.asked(), "/1 ")
	if asked != 1 {
		t.Errorf("/1 was asked for %d times", asked)
	}
	before, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if code := command(); code != exitFinished || !strings.Contains(stderr.String(), "is finished") {
		t.Errorf("the finished job: exit code %d, %s", code, &stderr)
	}
	if after, err := os.ReadFile(out); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the finished job has changed its output: %v", err)
	}
}

// A job is resumed with the URLs that it began with, in any order, and with no others: they would not be crawled.
func TestJobOfOtherURLs(t *testing.T) {
	s := serve(t, chain(3))
	dir := t.TempDir()
	for _, test := range []struct {
		name string
		urls []string
		code int
		want string // on stderr
	}{
		{"begun", []string{"/1", "/3"}, exitFinished, ""},
		{"another one", []string{"/2"}, exitFailed, "give the same -url"},
		{"one more", []string{"/1", "/2", "/3"}, exitFailed, s.URL + "/1 " + s.URL + "/3\", not of"},
		{"the same", []string{"/3", "/1"}, exitFinished, "is finished"},
	} {
		t.Run(test.name, func(t *testing.T) {
			args := []string{"-job", filepath.Join(dir, "job"), "-out", filepath.Join(dir, "out.jsonl")}
			for _, url := range test.urls {
				args = append(args, "-url", s.URL+url)
			}
			var stdout, stderr bytes.Buffer
			if code := run(args, &stdout, &stderr); code != test.code || !strings.Contains(stderr.String(), test.want) {
				t.Errorf("exit code %d, %s", code, &stderr)
			}
		})
	}
}

func TestJobMistakes(t *testing.T) {
	s := serve(t, chain(3))
	dir := t.TempDir()
	out := filepath.Join(dir, "out.jsonl")
	if err := os.WriteFile(out, []byte("of somebody else\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-url", s.URL + "/", "-job", filepath.Join(dir, "job"), "-out", out}, &stdout, &stderr); code != exitFailed ||
		!strings.Contains(stderr.String(), "is not empty") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
	stderr.Reset()
	if code := run([]string{"-url", s.URL + "/", "-job", dir, "-out", "-"}, &stdout, &stderr); code != exitFailed ||
		!strings.Contains(stderr.String(), "something else than a job") {
		t.Errorf("exit code %d, %s", code, &stderr)
	}
	text, err := os.ReadFile(out)
	if err != nil || string(text) != "of somebody else\n" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}
