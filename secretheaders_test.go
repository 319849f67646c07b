package tegenaria_test

import (
	"context"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/middleware"
)

// Secret headers stay at their origin, whatever their spelling and however the page sends its reader on; what a parser
// follows inherits none. It fails when dropCredentials does not ask isCredential or the engine's own list.
func TestH08SecretHeadersStayAtTheirOrigin(t *testing.T) {
	secrets := []string{"Authorization", "COOKIE", "proxy-authorization", "Proxy-Own", "x-api-key", "X-Auth-Token", "Api-Key", "token", "X-Shop-SESSION"}
	header := map[string]string{"X-Own": "1", "Accept-Language": "en"}
	for _, name := range secrets {
		header[name] = "secret"
	}
	refresh := text(`<meta http-equiv="refresh" content="0; url=http://b.test/">`)
	for _, tt := range []struct {
		name, target string
		first        answer
		stays        bool
	}{
		{"same origin", "http://a.test/to", redirect(302, "/to"), false},
		{"other host", "http://b.test/", redirect(302, "http://b.test/"), true},
		{"sub-domain", "http://x.a.test/", redirect(308, "http://x.a.test/"), true},
		{"other scheme", "https://a.test/", redirect(301, "https://a.test/"), true},
		{"other port", "http://a.test:81/", redirect(307, "http://a.test:81/"), true},
		{"refresh", "http://b.test/", refresh, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld().page("http://a.test/", func(ctx *tegenaria.Context) (*tegenaria.Response, error) {
				resp, err := tt.first(ctx)
				if resp != nil && resp.Header["Content-Type"] == nil {
					resp.Header["Content-Type"] = []string{"text/html"}
				}
				return resp, err
			}).page(tt.target, text(`<a href="/next">x</a>`)).page(strings.TrimSuffix(tt.target, "to")+"next", text("x"))
			s := newSpider()
			s.start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest("http://a.test/", "GET", nil, tegenaria.RequestWithRequestHeader(maps.Clone(header))))
			}
			s.parse = func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
				if strings.HasSuffix(ctx.Request.Url, "next") {
					return nil
				}
				r, err := ctx.Response().Follow("/next")
				if err == nil {
					req <- tegenaria.NewContext(r)
				}
				return err
			}
			mustRun(t, newEngine(w, s, tegenaria.EngineWithMiddlewares(middleware.NewMetaRefresh(middleware.MetaRefreshOptions{})),
				tegenaria.EngineWithSecretHeaders("Token", "X-Shop-Session"),
			))
			visits := w.visits()
			if len(visits) != 3 || visits[1].url != tt.target {
				t.Fatalf("%+v", visits)
			}
			want := maps.Clone(header)
			if tt.stays {
				want = map[string]string{"X-Own": "1", "Accept-Language": "en"}
			}
			if got := visits[1].req.Header; !maps.Equal(got, want) {
				t.Errorf("%s was asked with %v", tt.target, got)
			}
			if got := visits[2].req.Header; len(got) > 0 {
				t.Errorf("a followed link was asked with %v", got)
			}
		})
	}
}

// A name that no header can have is a wiring mistake. It fails when config.mistakes does not look at the names.
func TestH08SecretHeaderNames(t *testing.T) {
	for _, name := range []string{"", "X Y", "X:", "Ü"} {
		err := newEngine(newWorld(), newSpider("http://a.test/"), tegenaria.EngineWithSecretHeaders("Token", name)).Run(context.Background(), "test")
		var wiring *tegenaria.RunError
		if !errors.As(err, &wiring) || !strings.Contains(err.Error(), "EngineWithSecretHeaders") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
