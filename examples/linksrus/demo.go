package main

import (
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

// demo is the demo site on a loopback port, without the pages that answer with 503 at first: a polite crawler leaves
// the whole host alone for a while after each of these answers, and the demo would wait for nothing but that.
type demo struct {
	url     string // ends with a slash
	server  *http.Server
	serving sync.WaitGroup
}

// startDemo serves the site until close.
func startDemo() (*demo, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	site := demosite.Handler()
	handler := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/flaky/") {
			http.NotFound(w, r)
			return
		}
		site.ServeHTTP(w, r)
	}
	d := &demo{url: "http://" + listener.Addr().String() + "/",
		server: &http.Server{Handler: http.HandlerFunc(handler), ReadHeaderTimeout: 10 * time.Second}}
	d.serving.Go(func() { _ = d.server.Serve(listener) }) // which ends with ErrServerClosed
	return d, nil
}

// close returns when nothing is served any more.
func (d *demo) close() error {
	err := d.server.Close()
	d.serving.Wait()
	return err
}
