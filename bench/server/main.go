//go:build unix

// Command server serves a bench site and lets a judge ask for its log.
//
// It prints one line of JSON with its addresses and serves until its standard input ends. Only clients on this machine
// are served. The control URL takes
//
//	POST /plan          a site.Plan as JSON: from now on the server serves that site, with an empty log
//	GET  /log           a Report as JSON
//	POST /hold?at=N     let N requests for pages pass in all, hold later ones back; 0 releases all
//	GET  /reached?n=N   answers when N requests for pages have passed
package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tegenaria/tegenaria/bench/site"
)

// Addresses is what the server prints.
type Addresses struct {
	Port        string `json:"port"`        // of every loopback address, HTTP/1.1
	TLSPort     string `json:"tls_port"`    // of the same, HTTP/2 and HTTP/1.1 over TLS
	Control     string `json:"control"`     // URL for the judge
	Certificate string `json:"certificate"` // that the server shows, as PEM
}

// Report is what the server knows of its clients.
type Report struct {
	site.Log
	Connections int64   `json:"connections"` // that clients opened since the plan was set
	CPUMicros   float64 `json:"cpu_micros"`  // user and system time of the server since its start
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	certificate, text, err := certify()
	if err != nil {
		return err
	}
	var c control
	c.site.Store(site.New(1, 0))
	pages := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.site.Load().ServeHTTP(w, r) })
	plain := &http.Server{Handler: pages, ConnState: c.count}
	secure := &http.Server{Handler: pages, ConnState: c.count, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	judge := &http.Server{Handler: c.handler()}

	var serving sync.WaitGroup
	defer func() {
		err = errors.Join(err, plain.Close(), secure.Close(), judge.Close())
		serving.Wait()
	}()
	failed := make(chan error, 3)
	serve := func(address string, serve func(net.Listener) error) (port string, err error) {
		l, err := net.Listen("tcp", address)
		if err != nil {
			return "", err
		}
		_, port, err = net.SplitHostPort(l.Addr().String())
		serving.Go(func() {
			if err := serve(loopback{l}); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		})
		return port, err
	}
	a := Addresses{Certificate: text}
	if a.Port, err = serve("0.0.0.0:0", plain.Serve); err != nil {
		return err
	}
	if a.TLSPort, err = serve("0.0.0.0:0", func(l net.Listener) error { return secure.ServeTLS(l, "", "") }); err != nil {
		return err
	}
	port, err := serve("127.0.0.1:0", judge.Serve)
	if err != nil {
		return err
	}
	a.Control = "http://127.0.0.1:" + port
	if err := json.NewEncoder(os.Stdout).Encode(a); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, os.Stdin)
		ended <- err
	}()
	select {
	case err := <-failed:
		return err
	case err := <-ended:
		return err
	}
}

// loopback is a listener on all addresses of which only the loopback ones are served: a site has many hosts.
type loopback struct{ net.Listener }

func (l loopback) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if a, ok := c.LocalAddr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
			return c, nil
		}
		_ = c.Close() // a stranger
	}
}

// control is what the judge steers.
type control struct {
	site        atomic.Pointer[site.Site]
	connections atomic.Int64
}

func (c *control) count(_ net.Conn, state http.ConnState) {
	if state == http.StateNew {
		c.connections.Add(1)
	}
}

func (c *control) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /plan", func(w http.ResponseWriter, r *http.Request) {
		var p site.Plan
		err := json.NewDecoder(r.Body).Decode(&p)
		if err == nil {
			err = p.Check()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		c.site.Swap(site.FromPlan(p)).HoldAt(0) // whoever waits at the old one goes
		c.connections.Store(0)
	})
	mux.HandleFunc("GET /log", func(w http.ResponseWriter, r *http.Request) {
		var used syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(Report{ // where writing fails the judge is gone
			Log: c.site.Load().Log(), Connections: c.connections.Load(),
			CPUMicros: float64(used.Utime.Nano()+used.Stime.Nano()) / 1e3,
		})
	})
	mux.HandleFunc("POST /hold", number("at", func(_ context.Context, n int) error { c.site.Load().HoldAt(n); return nil }))
	mux.HandleFunc("GET /reached", number("n", func(ctx context.Context, n int) error { return c.site.Load().Reached(ctx, n) }))
	return mux
}

// number is a handler that gives a number of the query to f.
func number(name string, f func(context.Context, int) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue(name))
		if err == nil {
			err = f(r.Context(), n)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// certify makes a certificate for the loopback address, and its PEM.
func certify() (tls.Certificate, string, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(0, 0, 7),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, "", err
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, text, nil
}
