package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestShow(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), nil, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"started, 1 waiting at 1 hosts, 0 delayed, 4 settled, 1 of them dead letters",
		`"state":"waiting","method":"GET"`, "settled as failed", "found by GET", "1 requests run again",
		"finished, 0 waiting at 0 hosts, 0 delayed, 11 settled, 1 of them dead letters", `"outcome":"failed"`,
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
}

func TestMistakes(t *testing.T) {
	dir, empty := t.TempDir(), t.TempDir()
	job, err := disk.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := job.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, args, want string }{
		{"one argument", "status", "usage"},
		{"too many", "status a b c", "usage"},
		{"no URL", "explain " + dir, "usage"},
		{"no host", "drop " + dir, "usage"},
		{"one too many", "status " + dir + " x", "usage"},
		{"another verb", "sing " + dir, "usage"},
		{"no directory", "status " + filepath.Join(dir, "none"), "holds no job"},
		{"no job", "status " + empty, "holds no job"},
		{"nothing to repair", "repair " + empty, "holds no job"},
		{"unknown URL", "explain " + filepath.Join(dir) + " http://a.example/", "does not know"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), strings.Fields(test.args), &out)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to say %q", err, test.want)
			}
			if test.want == "usage" && !errors.Is(err, errUsage) {
				t.Errorf("error %v", err)
			}
		})
	}
	if names, err := os.ReadDir(empty); err != nil || len(names) > 0 {
		t.Errorf("something was made where there is no job: %v, %v", names, err)
	}
	for _, args := range []string{"repair", "drop", "replay"} { // of a job that has nothing to repair, drop or replay
		fields := []string{args, dir}
		if args == "drop" {
			fields = append(fields, "a.example")
		}
		var out bytes.Buffer
		if err := run(t.Context(), fields, &out); err != nil || out.Len() == 0 {
			t.Errorf("%s: %q, %v", args, &out, err)
		}
	}
}

// No listing has the password of a URL. It fails if lineOf or status prints Request.Url as it is.
func TestH06ListingsTellNoPassword(t *testing.T) {
	dir := t.TempDir()
	for i, seed := range []string{"http://me:s3cret@127.0.0.1:1/", "http://s3cret@127.0.0.1:1/", "http://me:s3cret@127.0.0.1:1/%zz"} {
		job := filepath.Join(dir, fmt.Sprint(i))
		_ = crawl(t.Context(), job, seed, tegenaria.Limits{}) // it gets nothing
		for _, args := range [][]string{{"status", job}, {"pending", job}, {"outcomes", job}, {"dead", job}, {"explain", job, seed}, {"replay", job}, {"status", job}, {"pending", job}} {
			var out bytes.Buffer
			if err := run(t.Context(), args, &out); err != nil {
				t.Errorf("%s: %v", args[0], err)
			}
			if strings.Contains(out.String(), "s3cret") {
				t.Errorf("%s tells it: %s", args[0], &out)
			}
		}
	}
}
