package middleware_test

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria/internal/conformance"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/middleware"
)

// cookieDifferences are the cases of http-state that we answer in another way on purpose. They may only grow fewer.
var cookieDifferences = map[string]string{
	"0028":                  "the case itself is broken: it expects Set-Cookie lines to be sent",
	"disabled-chromium0022": "a control character makes a cookie void, it does not cut it short (RFC 6265bis §5.6 step 1)",
	"disabled-chromium0023": "the same",
	"disabled-path0029":     "paths are compared byte by byte, %6F is not o (RFC 6265 §5.1.4)",
}

// TestHTTPState sends what the tests of the authors of RFC 6265 expect.
func TestHTTPState(t *testing.T) {
	var cases []struct {
		Test     string
		Received []string
		Sent     string
	}
	if err := json.Unmarshal(conformance.Read(t, "http-state-cookies.json"), &cases); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		<-time.After(time.Until(time.Date(2011, 4, 27, 0, 0, 0, 0, time.UTC))) // when the RFC came out: its dates are around
		passed, differ := 0, 0
		for _, c := range cases {
			m := middleware.NewCookies(middleware.CookieOptions{})
			const asked = "http://home.example.org:8888/cookie-parser?"
			next := "http://home.example.org:8888/cookie-parser-result?" + c.Test
			var header []string
			for _, line := range c.Received {
				name, value, _ := strings.Cut(line, ":")
				switch name {
				case "Set-Cookie":
					header = append(header, "Set-Cookie", strings.TrimPrefix(value, " "))
				case "Location":
					target, err := urlx.Resolve(asked, strings.TrimSpace(value))
					if err != nil {
						t.Fatal(err)
					}
					next = target
				}
			}
			got := roundTrip(t, m, asked+c.Test, next, header...)
			want := strings.TrimPrefix(c.Sent, "Cookie: ")
			why, known := cookieDifferences[c.Test]
			switch {
			case got == want && known:
				t.Errorf("%s is no difference any more; take it off the list", c.Test)
			case got == want:
				passed++
			case known:
				differ++
				t.Logf("%s: sent %q, they send %q: %s", c.Test, got, want, why)
			default:
				t.Errorf("%s: %q: sent %q, want %q", c.Test, c.Received, got, want)
			}
		}
		t.Logf("%d of %d passed, %d differ on purpose", passed, len(cases), differ)
		if len(cookieDifferences) > 5 || passed+differ != 222 {
			t.Errorf("%d passed and %d listed differences", passed, differ)
		}
	})
}

// roundTrip gives a jar the response of one URL and returns the Cookie header that goes to another.
func roundTrip(t testing.TB, m *middleware.Cookies, from, to string, header ...string) string {
	t.Helper()
	if err := m.ProcessResponse(answered(from, 200, "", header...), nil); err != nil {
		t.Fatal(err)
	}
	ctx := asked(to)
	if err := m.ProcessRequest(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx.Request.Header["Cookie"]
}
