package tegenaria_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tegenaria/tegenaria"
)

// A site behind an authority of one's own, which asks for a client's certificate.
func ExampleEngineWithTLSConfig() {
	site := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.TLS.PeerCertificates[0].Subject.Organization[0])
	}))
	site.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	site.StartTLS()
	defer site.Close()
	ours := site.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := site.TLS.Certificates[0]

	spider := tegenaria.NewSpider("site", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(r.String())
	}), site.URL)
	for item, err := range tegenaria.Crawl[string](context.Background(), spider,
		tegenaria.EngineWithTLSConfig(&tls.Config{RootCAs: ours, Certificates: []tls.Certificate{client}}),
	) {
		fmt.Println(item, err)
	}
	// Output: Acme Co <nil>
}
