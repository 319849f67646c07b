package fetch

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// versionServer is a server that agrees on one version of HTTP on each connection.
type versionServer struct {
	*httptest.Server

	mu       sync.Mutex // guards the fields below
	versions []string   // of the connections to come, the last one of all further ones
	made     int        // connections
	open     map[net.Conn]struct{}
}

func newVersionServer(h http.HandlerFunc, versions ...string) *versionServer {
	s := &versionServer{Server: httptest.NewUnstartedServer(h), versions: versions, open: make(map[net.Conn]struct{})}
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		config := s.TLS.Clone()
		config.GetConfigForClient, config.NextProtos = nil, s.versions[:1]
		if len(s.versions) > 1 {
			s.versions = s.versions[1:]
		}
		return config, nil
	}}
	s.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch state {
		case http.StateNew:
			s.made++
			s.open[conn] = struct{}{}
		case http.StateClosed:
			delete(s.open, conn)
		}
	}
	s.StartTLS()
	return s
}

// connections returns how many were made, and how many are open.
func (s *versionServer) connections() (made, open int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.made, len(s.open)
}

func (s *versionServer) client(t *testing.T) *Client {
	return newTestClient(t, func(c *Config) { c.TLS = trust(s.Server) }, s.Server)
}

// Requests over TLS are sent in the version that the connection has agreed on, whatever was spoken before, and no connection
// is made to find that out. An idle connection of HTTP/1.1 has no goroutine.
func TestVersions(t *testing.T) {
	for _, tt := range []struct {
		name     string
		versions []string // of the connections
		closes   bool     // the server, after each response
		made     int
		want     string // versions of the answers
	}{
		{"HTTP/1.1", []string{"http/1.1"}, false, 1, "HTTP/1.1 HTTP/1.1 HTTP/1.1"},
		{"HTTP/2", []string{"h2"}, false, 1, "HTTP/2.0 HTTP/2.0 HTTP/2.0"},
		{"changes", []string{"http/1.1", "h2", "http/1.1"}, true, 3, "HTTP/1.1 HTTP/2.0 HTTP/1.1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := newVersionServer(func(w http.ResponseWriter, r *http.Request) {
				if tt.closes {
					w.Header().Set("Connection", "close")
				}
				io.WriteString(w, r.Proto)
			}, tt.versions...)
			d := server.client(t)
			var got []string
			for i := range 3 {
				resp := mustDownload(t, d, request(server.URL, http.MethodGet))
				got = append(got, resp.text())
				transfer := resp.Transfer
				reused := i > 0 && !tt.closes
				if transfer.Proto != resp.text() || transfer.TLS == nil || transfer.Reused != reused || (transfer.Handshake > 0) == reused {
					t.Errorf("%+v", transfer)
				}
			}
			if made, _ := server.connections(); made != tt.made || strings.Join(got, " ") != tt.want {
				t.Errorf("%v over %d connections", got, made)
			}
			stacks := make([]byte, 1<<20)
			if stacks = stacks[:runtime.Stack(stacks, true)]; tt.name == "HTTP/1.1" && strings.Contains(string(stacks), "persistConn") {
				t.Errorf("a goroutine of net/http waits:\n%s", stacks)
			}
		})
	}
}

// Of the connections that many first requests to a site have made, HTTP/2 needs one. The others are closed.
func TestManyFirstRequestsInHTTP2(t *testing.T) {
	const many = 12
	server := newVersionServer(echo, "h2")
	d := server.client(t)
	var asked sync.WaitGroup
	for range many {
		asked.Go(func() {
			if result := download(d, request(server.URL, http.MethodGet)); result.Error != nil || result.Response.Transfer.Proto != "HTTP/2.0" {
				t.Errorf("%+v", result)
			}
		})
	}
	asked.Wait()
	again := time.NewTicker(time.Millisecond)
	defer again.Stop()
	for {
		made, open := server.connections()
		if made > many {
			t.Errorf("%d connections", made)
		}
		if open == 1 {
			return
		}
		select {
		case <-again.C:
		case <-t.Context().Done():
			t.Fatal("connections stay open")
		}
	}
}
