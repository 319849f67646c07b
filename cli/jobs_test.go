package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/cli"
)

// No command of a job tells the password of a URL. It fails if one prints Request.Url as it is.
func TestJobsRevealNoPassword(t *testing.T) {
	dir := t.TempDir()
	for i, seed := range []string{"http://me:s3cret@127.0.0.1:1/", "http://s3cret@127.0.0.1:1/", "http://me:s3cret@127.0.0.1:1/%zz"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel() // each waits between its retries
			job := filepath.Join(dir, fmt.Sprint(i))
			app := cli.New(tegenaria.NewSpider("s", nowhereParser, seed))
			app.Run(t.Context(), []string{"crawl", "s", "--quiet", "--log-file", job + ".log", "--job", job, "--config", noSettings(t)}, nil, new(bytes.Buffer), new(bytes.Buffer)) // it gets nothing
			for _, args := range [][]string{{"status", job}, {"status", "--json", job}, {"pending", job}, {"outcomes", job}, {"dead", job}, {"dead", "--json", job}, {"explain", job, seed},
				{"explain", "--json", job, seed}, {"export", job}, {"requeue", job}, {"status", job}, {"pending", job}, {"pending", "--json", job}, {"export", job}} {
				var out, stderr bytes.Buffer
				if code := app.Run(t.Context(), append([]string{"jobs"}, args...), nil, &out, &stderr); code != 0 {
					t.Errorf("%s: code %d: %s", args[0], code, &stderr)
				}
				if strings.Contains(out.String()+stderr.String(), "s3cret") {
					t.Errorf("%s tells it: %s%s", args[0], &out, &stderr)
				}
			}
		})
	}
}

var nowhereParser = tegenaria.Handle(parseQuotes)

// A directory that holds no job stays as it is, and a job that has nothing to repair, drop or requeue says so.
func TestJobsOfNothing(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	job, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"repair", dir}, {"drop", dir, "a.example"}, {"requeue", dir}, {"status", dir}} {
		var out, stderr bytes.Buffer
		if code := cli.New().Run(t.Context(), append([]string{"jobs"}, args...), nil, &out, &stderr); code != 0 || out.Len() == 0 {
			t.Errorf("%s: code %d: %s%s", args[0], code, &out, &stderr)
		}
	}
	for _, verb := range []string{"status", "pending", "outcomes", "dead", "requeue", "export", "repair"} {
		var out, stderr bytes.Buffer
		if code := cli.New().Run(t.Context(), []string{"jobs", verb, empty}, nil, &out, &stderr); code != 1 || !strings.Contains(stderr.String(), "holds no job") {
			t.Errorf("%s: code %d: %s%s", verb, code, &out, &stderr)
		}
	}
	if names, err := os.ReadDir(empty); err != nil || len(names) > 0 {
		t.Errorf("something was made where there is no job: %v, %v", names, err)
	}
}
