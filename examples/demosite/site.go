package demosite

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Entry is one request that a [Site] received.
type Entry struct {
	// Time is when the request arrived.
	Time time.Time
	// Method is the HTTP method as sent.
	Method string
	// URL is the path with its query as sent, for example "/api/quotes?page=2".
	URL string
}

// Site is a [Handler] that listens on a loopback port of its own and remembers what it was asked.
// Its methods may be called from several goroutines.
type Site struct {
	url    string
	server *http.Server
	served chan struct{} // closed when the server has stopped accepting

	mu  sync.Mutex // guards log
	log []Entry
}

// Start serves the site on a free port of 127.0.0.1 until Close. The caller owns the Site and must
// close it.
func Start() (*Site, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demosite: listening on loopback: %w", err)
	}
	s := &Site{url: "http://" + listener.Addr().String(), served: make(chan struct{})}
	s.server = &http.Server{Handler: s.logged(Handler()), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.served)
		// Serve always ends with an error; after Close that is ErrServerClosed and says nothing.
		_ = s.server.Serve(listener)
	}()
	return s, nil
}

// MustStart is [Start] for a program that is nothing without the site: where Start returns an error it
// panics.
func MustStart() *Site {
	s, err := Start()
	if err != nil {
		panic(err)
	}
	return s
}

// URL returns the site's address without a trailing slash: "http://127.0.0.1:41234".
func (s *Site) URL() string { return s.url }

// Log returns a copy of the requests received so far, in the order of their arrival. It is an
// independent witness of what a crawler really sent.
func (s *Site) Log() []Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// Close stops the server and its connections and waits until it accepts no more. The log stays
// readable. A second Close does nothing.
func (s *Site) Close() error {
	err := s.server.Close()
	<-s.served
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("demosite: closing: %w", err)
	}
	return nil
}

// logged writes each request down before it is answered, so that a client that has its answer also
// finds its request in the log.
func (s *Site) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.log = append(s.log, Entry{Time: time.Now(), Method: r.Method, URL: r.RequestURI})
		s.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}
