package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cluster"
	"github.com/tegenaria/tegenaria/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func TestMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		args, want string
	}{
		"no database": {"-job j -url http://a.test/ -out pages.jsonl", "docker run"},
		"no job":      {"-db x -url http://a.test/ -out pages.jsonl", "-job"},
		"no URL":      {"-db x -job j -out pages.jsonl", "-url"},
		"no file":     {"-db x -job j -url http://a.test/", "-out"},
		"argument":    {"-db x -job j -url http://a.test/ -out pages.jsonl more", `"more"`},
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.args), io.Discard, &stderr); code != exitFailed || !strings.Contains(stderr.String(), c.want) {
			t.Errorf("%s: exit code %d, %s, want one that says %s", name, code, &stderr, c.want)
		}
	}
}

// sync has the server of the tests sync what it writes: a job is refused otherwise.
func sync(t *testing.T, dsn string) {
	t.Helper()
	for value := ""; value != "on"; {
		conn, err := pgx.Connect(t.Context(), dsn)
		if err == nil {
			_, err = conn.Exec(t.Context(), "ALTER SYSTEM SET fsync = on")
		}
		if err == nil {
			err = conn.QueryRow(t.Context(), "SELECT current_setting('fsync') FROM pg_reload_conf()").Scan(&value)
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// -status and -stop talk to a job that is there, and say so if it is not.
func TestSteer(t *testing.T) {
	dsn := pgtest.Get(t).DSN("postgres")
	sync(t, dsn)
	do := func(args string) (code int, stdout, stderr string) {
		var out, errs bytes.Buffer
		code = run(t.Context(), append([]string{"-db", dsn, "-job", "steered"}, strings.Fields(args)...), &out, &errs)
		return code, out.String(), errs.String()
	}
	if code, _, stderr := do("-status"); code != exitFailed || !strings.Contains(stderr, "no job steered") {
		t.Errorf("without a job: exit code %d, %s", code, stderr)
	}
	cache, err := cluster.Open(t.Context(), dsn, "steered", cluster.Options{Worker: "one"})
	if err == nil {
		_, err = cache.Begin(t.Context(), tegenaria.Job{Spider: "spider"})
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := do("-stop"); code != exitFinished || stdout != "" {
		t.Errorf("-stop: exit code %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr := do("-status")
	for _, want := range []string{"stopped: stopped\n", "0 requests queued", "worker one: alive, 32 partitions"} {
		if code != exitFinished || !strings.Contains(stdout, want) {
			t.Errorf("-status: exit code %d, %s%s, want %q", code, stdout, stderr, want)
		}
	}
	if err := cache.Close(); err != nil {
		t.Error(err)
	}
	if _, stdout, _ := do("-status"); !strings.Contains(stdout, "worker one: ended") {
		t.Errorf("-status of a worker that has ended: %s", stdout)
	}
}

// A program crawls a site and writes the pages of all programs to a file; the same flags without -url do that once more.
func TestCollect(t *testing.T) {
	dsn := pgtest.Get(t).DSN("postgres")
	sync(t, dsn)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<title>A page</title><a href="/two">two</a>`)
	}))
	defer site.Close()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	args := []string{"-db", dsn, "-job", "collected", "-collect", at("all.jsonl")}
	crawl := []string{"-worker", "one", "-dir", at("one.state"), "-out", at("one.jsonl"), "-url", site.URL + "/one", "-allow-private", "-ignore-robots"}
	for _, more := range [][]string{crawl, nil} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), append(args, more...), &out, &errs); code != exitFinished || !strings.Contains(out.String(), "2 pages in "+at("all.jsonl")+"; these are all") {
			t.Fatalf("exit code %d, %s%s", code, &out, &errs)
		}
		all, err := os.ReadFile(at("all.jsonl"))
		one, err2 := os.ReadFile(at("one.jsonl"))
		if err != nil || err2 != nil || string(all) != string(one) || strings.Count(string(all), "\n") != 2 {
			t.Errorf("collected, %v:\n%sthe program's own file, %v:\n%s", err, all, err2, one)
		}
		if err := os.Remove(at("all.jsonl")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(at("one.state")); err != nil {
		t.Error(err)
	}
}
