package tegenaria_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"unicode/utf16"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/robots"
)

// Redirects of robots.txt: five are followed, and those that lead nowhere count as no file (RFC 9309 §2.3.1.2).
func TestRobotsRedirects(t *testing.T) {
	const forbids = "User-agent: *\nDisallow: /\n"
	chain := func(w *world, hops int) {
		url := robotsURL
		for i := range hops {
			next := fmt.Sprintf("http://r%d.test/x", i)
			w.page(url, redirect([]int{301, 302, 303, 307, 308}[i%5], next))
			url = next
		}
		w.page(url, text(forbids))
	}
	for _, tt := range []struct {
		name    string
		build   func(w *world)
		fetched bool
		asked   int // requests, redirects included
	}{
		{"none", func(w *world) { chain(w, 0) }, false, 1},
		{"five", func(w *world) { chain(w, 5) }, false, 6},
		{"six", func(w *world) { chain(w, 6) }, true, 6},
		{"to itself", func(w *world) { w.page(robotsURL, redirect(301, "/robots.txt")) }, true, 1},
		{"to itself, with a fragment", func(w *world) { w.page(robotsURL, redirect(301, "/robots.txt#a")) }, true, 1},
		{"in a circle", func(w *world) {
			w.page(robotsURL, redirect(301, "/r")).page("http://a.test/r", redirect(302, robotsURL))
		}, true, 2},
		{"relative", func(w *world) {
			w.page(robotsURL, redirect(301, "r.txt")).page("http://a.test/r.txt", text(forbids))
		}, false, 2},
		{"to https", func(w *world) {
			w.page(robotsURL, redirect(301, "https://a.test/robots.txt")).page("https://a.test/robots.txt", text(forbids))
		}, false, 2},
		{"to a page that is missing", func(w *world) { w.page(robotsURL, redirect(301, "/nowhere")) }, true, 2},
		{"to another scheme", func(w *world) { w.page(robotsURL, redirect(301, "ftp://a.test/robots.txt")) }, true, 1},
		{"to no URL", func(w *world) { w.page(robotsURL, redirect(301, "http://[/")) }, true, 1},
		{"without a target", func(w *world) { w.page(robotsURL, status(301)) }, true, 1},
		{"300 and what is no redirect", func(w *world) { w.page(robotsURL, status(304)) }, true, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld().page("http://a.test/", page())
				tt.build(w)
				stats := mustRun(t, obeying(w, newSpider("http://a.test/"), tegenaria.Politeness{}))
				pages := w.count("http://a.test/")
				if asked := len(w.visits()) - pages; pages == 1 != tt.fetched || asked != tt.asked || stats.RobotsRequests != 1 {
					t.Errorf("the page was fetched %d times after %d requests for robots.txt, want %t after %d", pages, asked, tt.fetched, tt.asked)
				}
			})
		})
	}
}

// A robots.txt as servers send it: encoded, compressed, too long, with a body behind any 2xx.
func TestRobotsBodies(t *testing.T) {
	const rules = "User-agent: *\nDisallow: /no\n"
	wide := func(s string) string {
		b := []byte("\xFF\xFE")
		for _, unit := range utf16.Encode([]rune(s)) {
			b = append(b, byte(unit), byte(unit>>8))
		}
		return string(b)
	}
	packed := func(s string) string {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		if _, err := w.Write([]byte(s)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	filler := func(size int) string { return strings.Repeat("#\n", size/2) }
	for _, tt := range []struct {
		name, body, coding string
		status             int
		obeyed             bool
	}{
		{"plain", rules, "", 200, true},
		{"UTF-8 BOM", "\uFEFF" + rules, "", 200, true},
		{"UTF-16", wide(rules), "", 200, true},
		{"CRLF", strings.ReplaceAll(rules, "\n", "\r\n"), "", 200, true},
		{"gzip", packed(rules), "gzip", 200, true},
		{"203", rules, "", 203, true},
		{"404 with rules", rules, "", 404, false},
		{"the last that counts", filler(robots.MaxBytes-len(rules)) + rules, "", 200, true},
		{"the first that does not", filler(robots.MaxBytes) + rules, "", 200, false},
		{"a long one, packed", packed(filler(robots.MaxBytes-len(rules)) + rules + filler(1<<20)), "gzip", 200, true},
		{"HTML", "<!DOCTYPE html><title>Disallow: /no</title>", "", 200, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server, log := serveFunc(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/robots.txt" {
					return
				}
				if tt.coding != "" {
					w.Header().Set("Content-Encoding", tt.coding)
				}
				w.WriteHeader(tt.status)
				fmt.Fprint(w, tt.body)
			})
			mustRun(t, newEngine(nil, newSpider(server+"/no"), tegenaria.EngineWithPoliteness(tegenaria.Politeness{})))
			asked := false
			for _, r := range log() {
				asked = asked || r.target == "/no"
			}
			if asked == tt.obeyed {
				t.Errorf("the forbidden page was asked for: %t", asked)
			}
		})
	}
}

// A dead host is named as such: robots.txt is but what was asked first. Nothing else of it is asked.
func TestRobotsOfADeadHost(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for _, tt := range []struct {
		name   string
		err    error
		reason string
	}{
		{"refused", dial(syscall.ECONNREFUSED), "robots: connection refused"},
		{"no such host", dial(&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}), "robots: no such host"},
		{"DNS", dial(&net.DNSError{Err: "server misbehaving", Name: "a.test"}), "robots: no answer from DNS"},
		{"timeout", &tegenaria.TimeoutError{URL: "http://a.test/robots.txt"}, "robots: host does not answer"},
		{"no route", dial(syscall.EHOSTUNREACH), "robots: host cannot be reached"},
		{"something else", errBroken, "robots"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := onePage().page(robotsURL, broken(tt.err)).page("http://b.test/", text("x")).page("http://b.test/robots.txt", status(404))
			s := newSpider("http://a.test/", "http://b.test/")
			s.parse = parserOf(func(ctx *tegenaria.Context) error {
				_, err := get(ctx, "http://a.test/")
				var unreachable *tegenaria.RobotsUnreachableError
				if !errors.As(err, &unreachable) {
					t.Errorf("Fetch returned %v", err)
				}
				return nil
			})
			stats := mustRun(t, obeying(w, s, tegenaria.Politeness{}))
			herr := s.onlyError(t)
			var unreachable *tegenaria.RobotsUnreachableError
			if !errors.As(herr, &unreachable) || unreachable.Origin != "http://a.test" || !errors.Is(herr, tt.err) || !strings.Contains(herr.Error(), tt.err.Error()) ||
				herr.Stage != tegenaria.StageRobots {
				t.Errorf("ErrorHandler got %v (stage %s)", herr, herr.Stage)
			}
			if stats.Reasons["failed: "+tt.reason] != 2 || w.count("http://a.test/") != 0 || !slices.Contains(w.urls(), "http://b.test/") {
				t.Errorf("reasons %v, asked %q", stats.Reasons, w.urls())
			}
		})
	}
}
