package cookbook_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"

	"github.com/tegenaria/tegenaria"
)

// serve crawls the URLs that are posted to it, until ctx ends.
func serve(ctx context.Context, listener net.Listener) error {
	var server http.Server
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", tegenaria.Handle(detail))),
		tegenaria.EngineWithKeepAlive(),
		tegenaria.EngineWithEvents(tegenaria.Events{
			Started: func(tegenaria.SpiderInterface) { go server.Serve(listener) }, // from now on it takes requests
			Closed:  func(string) { server.Close() },
		}))
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		added, err := engine.Add(r.Context(), tegenaria.NewRequest(r.FormValue("url"), tegenaria.GET, nil))
		switch {
		case err != nil:
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		case added:
			fmt.Fprintln(w, "new")
		default:
			fmt.Fprintln(w, "known")
		}
	})
	return engine.Run(ctx, "shop")
}

func TestServe(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- serve(ctx, listener) }()
	for _, tt := range []struct{ url, want string }{
		{"ftp://shop.test/", "tegenaria: not added: ftp://shop.test/"},
		{"http://127.0.0.1:1/tea", "new"},
		{"http://127.0.0.1:1/tea", "known"},
	} {
		resp, err := http.PostForm("http://"+listener.Addr().String(), url.Values{"url": {tt.url}})
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if got := string(body); err != nil || len(got) < len(tt.want) || got[:len(tt.want)] != tt.want {
			t.Errorf("%s: %q, %v", tt.url, got, err)
		}
	}
	cancel()
	<-done
}
