package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

func TestDefaults(t *testing.T) {
	o, err := parseOptions([]string{"-url", "http://Example.com:8080/a", "-url", "https://example.org", "-url", "https://example.com"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(o.domains, " ") != "example.com example.org" || len(o.urls) != 3 {
		t.Errorf("domains %q, urls %q", o.domains, o.urls)
	}
	if o.depth != -1 || o.maxPages != 0 || o.concurrency != 16 || o.perHost != 8 || o.delay != 0 ||
		o.timeout != 30*time.Second || o.agent != "" || o.ignoreRobots || o.allowPrivate || o.out != "-" || o.summary != "" || o.autothrottle || o.render != "never" {
		t.Errorf("got %+v", o)
	}
}

func TestBadFlags(t *testing.T) {
	ok := "-url http://example.com/ "
	tests := []struct{ name, args, says string }{
		{"nothing", "", "give a -url"},
		{"unknown flag", ok + "-speed 3", "-speed"},
		{"no value", "-url", "needs an argument"},
		{"no number", ok + "-c many", `"many"`},
		{"stray argument", ok + "http://example.org/", "http://example.org/"},
		{"no scheme", "-url example.com", `"example.com": write it as http://`},
		{"other scheme", "-url ftp://example.com/", "ftp://example.com/"},
		{"no host", "-url http:///a", "http:///a"},
		{"no URL", "-url http://[::1/", "missing ']'"},
		{"depth", ok + "-depth -2", "-depth is -2"},
		{"pages", ok + "-max-pages -1", "-max-pages is -1"},
		{"concurrency", ok + "-c 0", "-c is 0"},
		{"concurrency per host", ok + "-per-host 0", "-per-host is 0"},
		{"negative host pages", ok + "-host-pages -1", "-host-pages is -1"},
		{"negative concurrency", ok + "-per-host -8", "-per-host is -8"},
		{"delay", ok + "-delay -1s", "-delay is -1s"},
		{"timeout", ok + "-timeout 0", "-timeout is 0s"},
		{"empty domains", ok + "-domains ,", "-domains"},
		{"bad domain", ok + "-domains http://example.com/", "is no host"},
		{"several", ok + "-c 0 -depth -5", "-depth is -5"},
		{"out", ok + "-out /does/not/exist/x", "/does/not/exist/x"},
		{"summary", ok + "-summary /does/not/exist/x", "/does/not/exist/x"},
		{"warc", ok + "-warc {x}.warc", "unknown field {x}"},
		{"render", ok + "-render sometimes", `-render is "sometimes"`},
		{"no out", ok + "-out=", "-out is empty"},
		{"auth without password", ok + "-auth example.com=me", "write it as host=user:password"},
		{"auth without host", ok + "-auth me:secret", "write it as host=user:password"},
		{"auth for no host", ok + "-auth a/b=me:secret", "is no origin"},
		{"two logins", ok + "-auth example.com=me:a -auth example.com=you:b", "two logins for http://example.com"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(strings.Fields(test.args), &stdout, &stderr)
			if code != exitFailed || !strings.Contains(stderr.String(), test.says) || stdout.Len() > 0 {
				t.Errorf("exit code %d, stdout %q, stderr %q, want it to say %q", code, &stdout, &stderr, test.says)
			}
		})
	}
}

// Without Chromium a crawl that needs it fails before it begins, and any other does not look for it.
func TestRenderWithoutChromium(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	s := serve(t, map[string]string{"/": "<div id=root></div><script></script>"})
	for _, render := range []string{"auto", "always"} {
		var stdout, stderr bytes.Buffer
		file := filepath.Join(t.TempDir(), "archive.warc")
		code := run([]string{"-url", s.URL + "/", "-render", render, "-warc", file}, &stdout, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), "-render "+render+": browser: found no Chromium; install it") {
			t.Errorf("exit code %d, stderr %q", code, &stderr)
		}
		if _, err := os.Stat(file); err == nil {
			t.Error("an archive was made")
		}
	}
	if got := s.asked(); got != "" {
		t.Errorf("the site was asked for %s", got)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-url", s.URL + "/", "-render", "never"}, &stdout, &stderr); code != exitFinished {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

func TestHelp(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-h"}, &stdout, &stderr); code != exitFinished || stderr.Len() > 0 {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	for _, name := range strings.Fields("url domains depth max-pages host-pages c per-host delay timeout agent ignore-robots allow-private sitemaps auth autothrottle out job summary render") {
		if !strings.Contains(stdout.String(), "\n  -"+name+" ") && !strings.Contains(stdout.String(), "\n  -"+name+"\n") {
			t.Errorf("the help does not name -%s:\n%s", name, &stdout)
		}
	}
}

func TestProgress(t *testing.T) {
	got := progress(tegenaria.Stats{
		Outcomes: map[tegenaria.Outcome]int64{tegenaria.Fetched: 12, tegenaria.Failed: 2, tegenaria.GaveUp: 1, tegenaria.Duplicate: 99},
		InFlight: 8, Pending: 30, Delayed: 4, Bytes: 1_540_000, Elapsed: 61400 * time.Millisecond,
	})
	if want := "12 fetched, 3 failed, 8 in flight, 34 waiting, 1.5 MB, 1m1s"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// failing takes some bytes, then fails.
type failing struct{ room int }

func (w *failing) Write(p []byte) (int, error) {
	if w.room -= len(p); w.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestWriteErrorsFailTheCrawl(t *testing.T) {
	s := serve(t, map[string]string{"/": `<a href="/1">`, "/1": `<a href="/2">`, "/2": `<a href="/3">`, "/3": ""})
	for name, room := range map[string]int{"at once": 0, "later": 250} {
		t.Run(name, func(t *testing.T) {
			var stderr bytes.Buffer
			code := run([]string{"-url", s.URL}, &failing{room}, &stderr)
			if code != exitFailed || !strings.Contains(stderr.String(), "writing the output: no space left") {
				t.Errorf("exit code %d, stderr %q", code, &stderr)
			}
		})
	}
	t.Run("of the summary", func(t *testing.T) {
		if matches, _ := filepath.Glob("/dev/full"); len(matches) == 0 {
			t.Skip("there is no /dev/full")
		}
		var stdout, stderr bytes.Buffer
		code := run([]string{"-url", s.URL, "-summary", "/dev/full"}, &stdout, &stderr)
		if code != exitFailed || !strings.Contains(stderr.String(), "writing the summary") || strings.Count(stdout.String(), "\n") != 4 {
			t.Errorf("exit code %d, stdout %q, stderr %q", code, &stdout, &stderr)
		}
	})
}
