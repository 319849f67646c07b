//go:build linux

package cluster_test

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	parquetgo "github.com/parquet-go/parquet-go"

	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/killtest"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

// One of three workers is killed, with the database there or while it stands still, so that what the files have got is
// not settled. The others finish the job. Then the worker comes back: after that each item is once in the files of each
// kind, none of which is unfinished, and the worker that comes back once more changes none of them.
func TestOutputsOfAWorkerThatComesBack(t *testing.T) {
	const pages, hosts = 400, 24
	for _, tt := range []struct {
		name   string
		strike func(t *testing.T, server *pgtest.Server, kill func())
	}{
		{"killed", func(_ *testing.T, _ *pgtest.Server, kill func()) { kill() }},
		{"killed in an outage", func(t *testing.T, server *pgtest.Server, kill func()) {
			err := server.Signal(syscall.SIGSTOP)
			<-time.After(500 * time.Millisecond) // for files to get what cannot be settled
			kill()
			if err = errors.Join(err, server.Signal(syscall.SIGCONT)); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web, dsn, job, folder := newWeb(t, hosts, pages), database(t), newJob(), t.TempDir()
			crawls, programs := make([]*crawl, 3), make([]*killtest.Process, 3)
			const victim = 1
			begin := func(i int) {
				name := fmt.Sprint("w", i)
				crawls[i] = &crawl{
					DSN: dsn, Job: job, URL: strings.TrimSuffix(web.url(0), "/0"), Worker: name, File: filepath.Join(folder, name+".jsonl"), Folder: folder,
					Delay: 20 * time.Millisecond, Options: cluster.Options{TTL: 5 * shortTTL, Dir: filepath.Join(folder, name+".state")},
				}
				programs[i] = crawls[i].begin(t)
			}
			crawling, struck := make(chan struct{}), make(chan struct{})
			web.mu.Lock()
			web.left, web.do = pages/8, func() { // the victim crawls before the others begin
				close(crawling)
				web.left, web.do = pages/4, func() {
					go func() {
						defer close(struck)
						tt.strike(t, pgtest.Get(t), func() { programs[victim].Signal(syscall.SIGKILL) })
					}()
				}
			}
			begin(victim)
			web.mu.Unlock()
			<-crawling
			begin(0)
			begin(2)
			for i := range programs {
				if exit := programs[i].Wait(); (exit.Err != nil) != (i == victim) {
					t.Errorf("%s: %v\n%s", crawls[i].Worker, exit.Err, exit.Output)
				}
			}
			<-struck
			asked := web.asks()
			if rest := unfinished(t, folder); len(rest) == 0 {
				t.Error("the worker that was killed has left nothing unfinished")
			}
			back := crawls[victim].begin(t).Wait()
			if back.Err != nil {
				t.Fatalf("the worker that comes back: %v\n%s", back.Err, back.Output)
			}
			if !strings.Contains(back.Output, "begin a job of another name; the outputs of this program were not closed then") {
				t.Errorf("the worker that comes back says:\n%s", back.Output)
			}
			if n := web.asks() - asked; n > 0 {
				t.Errorf("it has asked for %d pages", n)
			}
			for kind, paths := range map[string][]string{"JSONL": jsonlPaths(t, folder, "*.jsonl"), "rotated": jsonlPaths(t, folder, "*.jsonl.gz"), "Parquet": parquetPaths(t, folder)} {
				slices.Sort(paths)
				if unique := len(slices.Compact(slices.Clone(paths))); len(paths) != pages || unique != pages {
					t.Errorf("%s: %d rows, %d different ones, want %d", kind, len(paths), unique, pages)
				}
			}
			if rest := unfinished(t, folder); len(rest) > 0 {
				t.Errorf("unfinished: %v", rest)
			}
			if err := errors.Join(os.WriteFile(crawls[victim].File, []byte("of the user\n"), 0o600), os.Remove(filepath.Join(folder, "w1.parquet"))); err != nil {
				t.Fatal(err)
			}
			before := filesIn(t, folder)
			if again := crawls[victim].begin(t).Wait(); again.Err != nil {
				t.Fatalf("the worker that comes back once more: %v\n%s", again.Err, again.Output)
			}
			if after := filesIn(t, folder); after != before {
				t.Errorf("the worker that comes back once more has changed the files\n%s\nto\n%s", before, after)
			}
		})
	}
}

// unfinished returns the names of files that are only there while a crawl is not complete.
func unfinished(t *testing.T, folder string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && !strings.HasSuffix(name, ".jsonl") && !strings.HasSuffix(name, ".jsonl.gz") && !strings.HasSuffix(name, ".parquet") {
			names = append(names, name)
		}
	}
	return names
}

// filesIn says which files a folder has, and what is in them.
func filesIn(t *testing.T, folder string) string {
	t.Helper()
	var b strings.Builder
	for _, name := range matches(t, folder, "w*.*") {
		if content, err := os.ReadFile(name); err == nil { // a worker's own folder is none
			fmt.Fprintf(&b, "%s: %d bytes\n", filepath.Base(name), len(content))
		}
	}
	return b.String()
}

func matches(t *testing.T, folder, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// jsonlPaths returns what is in the JSON files of a pattern.
func jsonlPaths(t *testing.T, folder, pattern string) (paths []string) {
	t.Helper()
	for _, name := range matches(t, folder, pattern) {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := json.NewDecoder(file)
		if strings.HasSuffix(name, ".gz") {
			plain, err := gzip.NewReader(file)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			lines = json.NewDecoder(plain)
		}
		for lines.More() {
			var row pathRow
			if err := lines.Decode(&row); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			paths = append(paths, row.Path)
		}
		_ = file.Close()
	}
	return paths
}

// parquetPaths returns what is in the Parquet files of a folder.
func parquetPaths(t *testing.T, folder string) (paths []string) {
	t.Helper()
	for _, name := range matches(t, folder, "*.parquet") {
		rows, err := parquetgo.ReadFile[struct {
			Path string `parquet:"path,optional"`
		}](name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, row := range rows {
			paths = append(paths, row.Path)
		}
	}
	return paths
}
