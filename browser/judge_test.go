package browser

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"

	"github.com/tegenaria/tegenaria"
)

// rules is a network that allows some URLs.
type rules struct {
	tegenaria.Network
	forbidden, paused, outside string
	refused                    []string
}

func (r *rules) InScope(url string) bool { return url != r.outside }

func (r *rules) Robots(_ context.Context, url string) error {
	if url == r.forbidden {
		return errors.New("forbidden")
	}
	return nil
}

func (r *rules) PausedUntil(url string) (at time.Time) {
	if url == r.paused {
		at = time.Now().Add(time.Minute)
	}
	return at
}

func (r *rules) Refused(url string, status int, after string) {
	r.refused = append(r.refused, fmt.Sprint(url, " ", status, " ", after))
}

// session notes the commands that Chromium is given.
type session struct{ methods []string }

func (s *session) Call(_ context.Context, method string, _, _ any) error {
	s.methods = append(s.methods, method)
	return nil
}

func (s *session) Subscribe(string) (<-chan jsonv2.Value, func()) { return nil, func() {} }

// It fails if a sub-request is sent against the rules, if another one is not, or if a document of a tab is judged here.
func TestJudge(t *testing.T) {
	const site, pass, fail = "https://a.example/", "Fetch.continueRequest", "Fetch.failRequest"
	for _, test := range []struct {
		name, url string
		kind      network.ResourceType
		frame     cdp.FrameID
		accept    string
		want      string
		counted   int64
	}{
		{"a script", site, network.ResourceTypeScript, "tab", "*/*", pass, 0},
		{"a picture", site, network.ResourceTypeImage, "tab", "*/*", fail, 0},
		{"an icon", site, network.ResourceTypeOther, "tab", "image/avif,*/*", fail, 0},
		{"anything else", site, network.ResourceTypeOther, "tab", "*/*", pass, 0},
		{"a forbidden script", site + "no", network.ResourceTypeScript, "tab", "*/*", fail, 1},
		{"a forbidden document of a frame", site + "no", network.ResourceTypeDocument, "frame", "*/*", fail, 1},
		{"that of a tab", site + "no", network.ResourceTypeDocument, "tab", "*/*", pass, 0},
		{"a paused host", "http://busy.example/", network.ResourceTypeXHR, "frame", "*/*", fail, 1},
		{"no request to a site", "blob:no", network.ResourceTypeScript, "tab", "*/*", pass, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := new(session)
			n := &rules{forbidden: site + "no", paused: "http://busy.example/"}
			j := &judge{browser: &Browser{options: Options{Block: []Resource{Images}}}, network: n, session: s, shared: newLane(), tabs: make(map[cdp.FrameID]lane)}
			j.add("tab")
			e := fetch.EventRequestPaused{
				Request: &network.Request{URL: test.url, Headers: network.Headers{"Accept": test.accept}}, ResourceType: test.kind, FrameID: test.frame,
			}
			j.decide(t.Context(), e)
			if len(s.methods) != 1 || s.methods[0] != test.want || j.browser.Refused() != test.counted {
				t.Errorf("%v, and %d are counted; want %s, %d", s.methods, j.browser.Refused(), test.want, test.counted)
			}
			e.ResponseStatusCode, e.ResponseHeaders = 429, []*fetch.HeaderEntry{{Name: "retry-after", Value: "5"}}
			j.decide(t.Context(), e)
			own := test.kind == network.ResourceTypeDocument && test.frame == "tab"
			if reported := len(n.refused) == 1 && n.refused[0] == test.url+" 429 5"; reported == own || s.methods[1] != pass {
				t.Errorf("of its answer %q is reported, and %v", n.refused, s.methods)
			}
			if j.remove("tab"); j.isDocument(e) {
				t.Error("a tab that was closed is known")
			}
		})
	}
}

// It fails if an action may lead to a document that the engine would not ask for.
func TestMayGo(t *testing.T) {
	n := &rules{forbidden: "http://a.example/no", paused: "http://busy.example/", outside: "http://outside.example/"}
	one := &tab{visit: &visit{proxy: &proxy{network: n}}}
	for _, test := range []struct {
		url   string
		moves int
		want  error
	}{
		{"http://a.example/yes", maxMoves, nil},
		{"http://a.example/yes", maxMoves + 1, errMoves},
		{n.outside, 1, errScope},
		{n.paused, 1, errPaused},
	} {
		if err := one.mayGo(t.Context(), test.url, test.moves); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.url, err, test.want)
		}
	}
	if err := one.mayGo(t.Context(), n.forbidden, 1); err == nil {
		t.Error("robots.txt is ignored")
	}
}
