package tegenaria_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// panickingReader is a BodyReader that goes wrong after a few bytes.
type panickingReader struct{ read bool }

func (r *panickingReader) Read(p []byte) (int, error) {
	if !r.read {
		r.read = true
		return copy(p, "some"), nil
	}
	panic("reader")
}

// A BodyReader whose Read panics fails its request, wherever it is read: for the fingerprint, by the codec where a
// user's filter does not look at it, by the downloader where a middleware has put it there.
//
// It fails if readBody does not call the reader through protect: in a seed's case the process ends.
func TestBodyReaderPanics(t *testing.T) {
	post := func() *tegenaria.Request {
		return tegenaria.NewRequest("http://a.test/post", "POST", nil, tegenaria.RequestWithBodyReader(&panickingReader{}))
	}
	check := func(t *testing.T, who string, err error) {
		t.Helper()
		var bad *tegenaria.RequestError
		var panicked *tegenaria.PanicError
		var herr *tegenaria.HandleError
		if !errors.As(err, &bad) || bad.Field != "BodyReader" || bad.URL != "http://a.test/post" || !errors.As(err, &panicked) ||
			!errors.As(err, &herr) || len(herr.Stack) == 0 {
			t.Errorf("%s got %v", who, err)
		}
	}
	for name, opts := range map[string][]tegenaria.EngineOption{
		"default": nil, "user's filter": {tegenaria.EngineWithDupeFilter(brokenFilter{})},
	} {
		t.Run(name, func(t *testing.T) {
			w := onePage().page("http://a.test/last", text("x"))
			s := newSpider()
			s.start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(post())
				req <- send("http://a.test/")
			}
			s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if ctx.Request.Depth == 0 {
					req <- tegenaria.NewContext(post())
					req <- send("http://a.test/last")
				}
				return nil
			}
			stats := mustRun(t, newEngine(w, s, opts...))
			if got := w.urls(); !slices.Equal(got, []string{"http://a.test/", "http://a.test/last"}) {
				t.Errorf("asked %q", got)
			}
			errs := s.errors()
			if len(errs) != 2 || stats.Outcomes[tegenaria.Fetched] != 2 || stats.Settled != 4 {
				t.Errorf("errors %v, outcomes %v", errs, stats.Outcomes)
			}
			for _, err := range errs {
				check(t, "ErrorHandler", err)
			}
		})
	}
	t.Run("Fetch", func(t *testing.T) {
		s := newSpider("http://a.test/")
		s.parse = parserOf(func(ctx *tegenaria.Context) error {
			_, err := ctx.Fetch(post())
			check(t, "Fetch", err)
			return nil
		})
		stats := mustRun(t, newEngine(onePage(), s))
		if stats.Outcomes[tegenaria.Fetched] != 1 || stats.Settled != 2 {
			t.Errorf("outcomes %v", stats.Outcomes)
		}
	})
	t.Run("downloader", func(t *testing.T) {
		server, log := serve(t, map[string]string{"/": "x"})
		s := newSpider(server + "/")
		s.parse = nothing
		m := &hooks{request: func(ctx *tegenaria.Context) error { ctx.Request.BodyReader = &panickingReader{}; return nil }}
		stats := mustRun(t, newEngine(nil, s, tegenaria.EngineWithMiddlewares(m)))
		var bad *tegenaria.RequestError
		if herr := s.onlyError(t); !errors.As(herr, &bad) || bad.Field != "BodyReader" || herr.Stage != tegenaria.StageDownload || len(herr.Stack) == 0 {
			t.Errorf("ErrorHandler got %v", herr)
		}
		wantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Failed: 1})
		if len(log()) != 0 {
			t.Errorf("the server was asked: %v", log())
		}
	})
}
