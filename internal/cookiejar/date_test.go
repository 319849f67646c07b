package cookiejar_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/cookiejar"
	"github.com/tegenaria/tegenaria/internal/deep"
)

// comment matches the lines that make the file no JSON.
var comment = regexp.MustCompile(`(?m)^//.*$`)

// The dates of the authors of RFC 6265 are read as they are meant.
func TestHTTPDates(t *testing.T) {
	files := []string{"examples.json", "bsd-examples.json"}
	passed := 0
	for _, file := range files {
		var cases []struct {
			Test     string
			Expected *string
		}
		text := comment.ReplaceAll(conformance.Read(t, "http-dates", file), nil)
		if err := json.Unmarshal(text, &cases); err != nil {
			t.Fatal(file, err)
		}
		for _, c := range cases {
			date, ok := cookiejar.ParseDate(c.Test)
			switch {
			case c.Expected == nil && ok:
				t.Errorf("%s: %q is %s, want none", file, c.Test, date)
			case c.Expected != nil && (!ok || date.Format(http.TimeFormat) != *c.Expected):
				t.Errorf("%s: %q is %s (%v), want %q", file, c.Test, date.Format(http.TimeFormat), ok, *c.Expected)
			default:
				passed++
			}
		}
	}
	t.Logf("%d dates passed", passed)
	if passed < 15 {
		t.Errorf("only %d dates were found", passed)
	}
}

// FuzzDate: a date is a real one, and what net/http writes is read as it was meant.
func FuzzDate(f *testing.F) {
	for _, seed := range []string{"Wed, 09 Jun 2021 10:18:14 GMT", "Thu Jan 1 00:00:00 1970", "31 Feb 2020 1:1:1", "99:99:99 1 jan 99", "", "1 1 1 1:1:1"} {
		f.Add(seed, int64(0))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		deep.Growth(t, deep.Stretched([]byte(text)), func(text []byte) {
			from := cookiejar.Origin{Host: "a.example", Path: "/", Secure: true}
			_, _ = cookiejar.ParseSetCookie("a=b; Expires="+string(text), from, time.Unix(0, 0))
			_, _ = cookiejar.Read(bytes.NewReader(text))
		})
		if date, ok := cookiejar.ParseDate(text); ok {
			if again, ok := cookiejar.ParseDate(date.Format(http.TimeFormat)); !ok || !again.Equal(date) {
				t.Fatalf("%q is %s, which reads as %s", text, date, again)
			}
		}
		const first, last = -11_644_473_600, 253_402_300_799 // the years 1601 to 9999
		want := time.Unix(first+int64(uint64(unix)%(last-first+1)), 0).UTC()
		if got, ok := cookiejar.ParseDate(want.Format(http.TimeFormat)); !ok || !got.Equal(want) {
			t.Fatalf("%s reads as %s, %v", want, got, ok)
		}
	})
}
