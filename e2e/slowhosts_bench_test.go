package e2e_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
)

// BenchmarkSlowHosts measures on real sockets how long 200 pages of a fast host take, alone and beside 15 hosts with
// 3 s of delay and 50 requests each. The crawl is stopped then. (TestSlowHostsBesideFastOne asserts it, in virtual time.)
func BenchmarkSlowHosts(b *testing.B) {
	for _, bb := range []struct {
		name  string
		hosts int
	}{{"alone", 0}, {"beside15", 15}} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(slowHostsOnSockets(b, bb.hosts).Seconds(), "s/200pages")
			}
		})
	}
}

func slowHostsOnSockets(b *testing.B, hosts int) (took time.Duration) {
	var mu sync.Mutex
	pages, done := 0, make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		latency := time.NewTimer(20 * time.Millisecond)
		defer latency.Stop()
		select {
		case <-latency.C:
		case <-r.Context().Done():
		}
		if !strings.HasPrefix(r.Host, "fast") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if pages++; pages == 200 {
			close(done)
		}
	}))
	defer server.Close()
	transport := &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}}
	defer transport.CloseIdleConnections()
	seeds, slow := slowSeeds(hosts, "fast.test")
	e := slowHosts(nil, seeds, slow, tegenaria.EngineWithHTTPClient(&http.Client{Transport: transport}))
	began := time.Now()
	var stopping sync.WaitGroup
	stopping.Go(func() {
		<-done
		took = time.Since(began)
		e.Stop(context.Background())
	})
	e.Run(b.Context(), "test")
	stopping.Wait()
	return took
}
