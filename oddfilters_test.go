package tegenaria_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// oddFilter answers for some requests as it should not.
type oddFilter struct {
	fingerprint func(r *tegenaria.Request) ([]byte, error)
	known       func(r *tegenaria.Request) (bool, error)
}

func (f oddFilter) Fingerprint(r *tegenaria.Request) ([]byte, error) {
	if f.fingerprint != nil && strings.Contains(r.Url, "/odd") {
		return f.fingerprint(r)
	}
	return []byte(r.Url), nil
}

func (f oddFilter) DoDupeFilter(r *tegenaria.Request) (bool, error) {
	if f.known != nil && strings.Contains(r.Url, "/odd") {
		return f.known(r)
	}
	return false, nil
}

// A user's filter that does not say who a request is fails it, wherever the request comes from; it is neither the
// URL's fault nor a duplicate of the next such request.
//
// It fails if fingerprint takes no bytes for a key, or badFingerprint blames the URL.
func TestOddDupeFilter(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter oddFilter
		inline bool // a Fetch is refused too
		panics bool
		say    string
	}{
		{"no bytes", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return nil, nil }}, true, false, "no bytes"},
		{"empty", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return []byte{}, nil }}, true, false, "no bytes"},
		{"error", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { return []byte("x"), errBroken }}, true, false, errBroken.Error()},
		{"panic", oddFilter{fingerprint: func(*tegenaria.Request) ([]byte, error) { panic("odd") }}, true, true, "panic: odd"},
		{"veto's error", oddFilter{known: func(*tegenaria.Request) (bool, error) { return true, errBroken }}, false, false, errBroken.Error()},
		{"veto's panic", oddFilter{known: func(*tegenaria.Request) (bool, error) { panic("odd") }}, false, true, "panic: odd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			check := func(who string, err error) {
				var herr *tegenaria.HandleError
				var panicked *tegenaria.PanicError
				var blamed *tegenaria.RequestError
				if !errors.As(err, &herr) || herr.Stage != tegenaria.StageAccept || herr.Request == nil || !strings.Contains(err.Error(), tt.say) ||
					errors.As(err, &panicked) != tt.panics || tt.panics != (len(herr.Stack) > 0) || errors.As(err, &blamed) {
					t.Errorf("%s got %#v", who, err)
				}
			}
			w := onePage().page("http://a.test/oddly", text("x")).page("http://a.test/last", text("x"))
			s := newSpider("http://a.test/odd", "http://a.test/odd2", "http://a.test/")
			s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Url != "http://a.test/" {
					return nil
				}
				req <- send("http://a.test/odd3")
				if _, err := get(ctx, "http://a.test/oddly"); tt.inline {
					check("Fetch", err)
				} else if err != nil {
					t.Errorf("Fetch, which is never deduplicated, got %v", err)
				}
				req <- send("http://a.test/last")
				return nil
			}
			stats := mustRun(t, newEngine(w, s, tegenaria.EngineWithDupeFilter(tt.filter)))
			want := map[tegenaria.Outcome]int64{tegenaria.Fetched: 2, tegenaria.Failed: 3}
			if tt.inline {
				want[tegenaria.Failed]++
			} else {
				want[tegenaria.Fetched]++
			}
			wantOutcomes(t, stats, want)
			if errs := s.errors(); len(errs) != 3 {
				t.Errorf("ErrorHandler got %v", errs)
			}
			for _, err := range s.errors() {
				check("ErrorHandler", err)
			}
			if w.count("http://a.test/last") != 1 {
				t.Errorf("asked %q", w.urls())
			}
		})
	}
}
