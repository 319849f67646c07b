package tegenaria_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// A private authority and a client's certificate are all that a server may ask for; the protocols are the user's choice.
func TestTLSConfig(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto, " ", len(r.TLS.PeerCertificates))
	}))
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	roots := server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	for _, tt := range []struct {
		name   string
		config *tls.Config
		want   string // "": no page
	}{
		{"none", nil, ""},
		{"no roots", &tls.Config{}, ""},
		{"roots", &tls.Config{RootCAs: roots}, "HTTP/2.0 0"},
		{"HTTP/1 alone", &tls.Config{RootCAs: roots, NextProtos: []string{"http/1.1"}}, "HTTP/1.1 0"},
		{"nothing offered", &tls.Config{RootCAs: roots, NextProtos: []string{}}, "HTTP/1.1 0"},
		{"client certificate", &tls.Config{RootCAs: roots, Certificates: server.TLS.Certificates}, "HTTP/2.0 1"},
		{"not verified", &tls.Config{InsecureSkipVerify: true}, "HTTP/2.0 0"},
		{"server name", &tls.Config{RootCAs: roots, ServerName: "example.com"}, "HTTP/2.0 0"},
		{"other server name", &tls.Config{RootCAs: roots, ServerName: "other.test"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var page string
			var failed *tegenaria.HandleError
			s := enginetest.NewSpider(server.URL)
			s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
				page = resp.Response().String()
				if got := resp.Response().Transfer(); got.TLS == nil || len(got.TLS.PeerCertificates) != 1 || got.Handshake <= 0 && !got.Reused {
					t.Errorf("transfer %+v", got)
				}
				return nil
			}
			option := tegenaria.EngineWithTLSConfig(tt.config)
			if tt.config != nil {
				tt.config.InsecureSkipVerify, tt.config.RootCAs = !tt.config.InsecureSkipVerify, nil // the option has a copy
			}
			enginetest.MustRun(t, enginetest.NewEngine(nil, s, option, tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { failed = err })))
			var untrusted *tls.CertificateVerificationError
			if page != tt.want || (failed == nil) == (tt.want == "") || failed != nil && !errors.As(failed, &untrusted) {
				t.Errorf("page %q, want %q; %v", page, tt.want, failed)
			}
		})
	}
}

// A TLS configuration that nobody would use is a mistake.
func TestTLSConfigMistakes(t *testing.T) {
	config := tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: x509.NewCertPool()})
	for _, tt := range []struct {
		name string
		opts []tegenaria.EngineOption
		want string
	}{
		{"with a client", []tegenaria.EngineOption{config, tegenaria.EngineWithHTTPClient(http.DefaultClient)}, "EngineWithHTTPClient replaces"},
		{"with a downloader", []tegenaria.EngineOption{config, tegenaria.EngineWithDownloader(enginetest.NewWorld())}, "EngineWithDownloader replaces"},
		{"a client with a downloader", []tegenaria.EngineOption{tegenaria.EngineWithHTTPClient(http.DefaultClient), tegenaria.EngineWithDownloader(enginetest.NewWorld())}, "EngineWithDownloader replaces"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := enginetest.NewEngine(nil, enginetest.NewSpider("http://a.test/"), tt.opts...).Run(t.Context(), "test")
			var wiring *tegenaria.RunError
			if !errors.As(err, &wiring) || wiring.Op != "wiring" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Run returned %v, want %q", err, tt.want)
			}
		})
	}
}
