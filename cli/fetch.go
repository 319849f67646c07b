package cli

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// fetchFlags are the flags of the command fetch.
type fetchFlags struct {
	given
	head, asJSON bool
	save         string
}

func (c *call) fetchCommand() *cobra.Command {
	f := &fetchFlags{}
	cmd := &cobra.Command{
		Use: "fetch URL", Short: "fetch a page as a crawl would",
		Long: "Fetches a page as a crawl of this program would: through its middlewares, politely, obeying robots.txt, " +
			"following redirects, and not from private addresses. " +
			"The body goes to the standard output. A status of 400 or more has the exit code 1, and the body is written all the same.",
		Example: "  " + c.name + " fetch https://example.com/ --save page.html\n  " + c.name + " fetch https://example.com/ --json",
		Args:    oneURL, ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error { return c.fetch(cmd, f, args[0]) },
	}
	f.addSettings(cmd)
	f.addLookFlags(cmd)
	cmd.Flags().BoolVar(&f.head, "head", false, "ask by HEAD, and write status and header")
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "write status, header, address, times and certificate as JSON, and not the body")
	cmd.Flags().StringVar(&f.save, "save", "", "`FILE` for the body, written in one step; with --json beside that")
	return cmd
}

func (c *call) fetch(cmd *cobra.Command, f *fetchFlags, url string) error {
	if f.head && f.save != "" {
		return usagef("--save: the answer to --head has no body; leave one of them out")
	}
	l, err := c.layers(nil, f.given)
	if err != nil {
		return err
	}
	method := tegenaria.GET
	if f.head {
		method = tegenaria.HEAD
	}
	see := func(resp *tegenaria.Response) error {
		c.sayCached(resp)
		err := c.show(f, url, resp)
		if err == nil && resp.Status >= 400 {
			err = fmt.Errorf("%s: status %d %s", urlx.Redact(resp.URL), resp.Status, http.StatusText(resp.Status))
		}
		return err
	}
	return c.withCache("fetch", l, func(cache tegenaria.EngineOption) error {
		return c.look(cmd.Context(), l, tegenaria.NewRequest(url, method, nil, tegenaria.RequestWithSpool()), see, cache)
	})
}

// show writes what the flags ask for.
func (c *call) show(f *fetchFlags, url string, resp *tegenaria.Response) error {
	if f.save != "" {
		if err := save(f.save, resp); err != nil {
			return err
		}
	}
	switch {
	case f.asJSON:
		return writeJSON(c.out, exchangeOf(url, resp))
	case f.head:
		return c.writeHead(resp)
	case f.save != "":
		return nil
	case isTerminal(c.out):
		text, err := resp.Text()
		if err != nil {
			return fmt.Errorf("%w; --save FILE keeps the body as it is", err)
		}
		_, err = io.WriteString(c.out, printableText(text))
		return err
	}
	return copyBody(c.out, resp)
}

// writeHead writes status and header as HTTP/1.1 has them.
func (c *call) writeHead(resp *tegenaria.Response) error {
	proto := "HTTP/1.1"
	if t := resp.Transfer(); t != nil && t.Proto != "" {
		proto = t.Proto
	}
	lines := append([]string{fmt.Sprintf("%s %d %s", proto, resp.Status, http.StatusText(resp.Status))}, headerLines(resp.Header)...)
	for _, line := range lines {
		if _, err := fmt.Fprintln(c.out, printableText(line)); err != nil {
			return err
		}
	}
	return nil
}

func copyBody(w io.Writer, resp *tegenaria.Response) error {
	body := resp.Reader()
	_, err := io.Copy(w, body)
	return errors.Join(err, body.Close())
}

// save writes the body to a file in one step: nobody sees a part of it. Nobody else may read it: the page may be that
// of a user who is logged in.
func save(path string, resp *tegenaria.Response) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("--save: %w", err)
	}
	err = errors.Join(copyBody(file, resp), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("--save: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}

// exchange is how fetch --json prints a response.
type exchange struct {
	URL       string              `json:"url"`
	FinalURL  string              `json:"final_url"`
	Redirects []string            `json:"redirects,omitempty"`
	Status    int                 `json:"status"`
	Header    map[string][]string `json:"header"`
	Bytes     int64               `json:"bytes"`
	Transfer  *transfer           `json:"transfer,omitempty"` // absent if there was no download
}

// transfer is the network's part of it; times are in milliseconds.
type transfer struct {
	Proto     string    `json:"proto"`
	Address   string    `json:"address,omitempty"`
	Reused    bool      `json:"reused"`
	WireBytes int64     `json:"wire_bytes"` // of the body before its content coding was removed
	Lookup    float64   `json:"lookup_ms"`
	Connect   float64   `json:"connect_ms"`
	TLS       float64   `json:"tls_ms"`
	FirstByte float64   `json:"first_byte_ms"`
	Body      float64   `json:"body_ms"`
	Security  *security `json:"security,omitempty"` // absent without TLS
}

// security is the connection's TLS.
type security struct {
	Version string    `json:"version"`
	Cipher  string    `json:"cipher"`
	Subject string    `json:"subject"`
	Issuer  string    `json:"issuer"`
	Names   []string  `json:"names,omitempty"`
	From    time.Time `json:"not_before"`
	Until   time.Time `json:"not_after"`
}

func exchangeOf(url string, resp *tegenaria.Response) exchange {
	e := exchange{URL: urlx.Redact(url), FinalURL: urlx.Redact(resp.URL), Status: resp.Status, Header: resp.Header, Bytes: int64(resp.ContentLength)}
	for _, from := range resp.Request().Redirects {
		e.Redirects = append(e.Redirects, urlx.Redact(from))
	}
	t := resp.Transfer()
	if t == nil {
		return e
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	e.Transfer = &transfer{
		Proto: t.Proto, Reused: t.Reused, WireBytes: t.WireBytes,
		Lookup: ms(t.Lookup), Connect: ms(t.Connect), TLS: ms(t.Handshake), FirstByte: ms(t.FirstByte), Body: ms(t.Body),
	}
	if t.RemoteAddr != nil {
		e.Transfer.Address = t.RemoteAddr.String()
	}
	if t.TLS != nil {
		s := &security{Version: tls.VersionName(t.TLS.Version), Cipher: tls.CipherSuiteName(t.TLS.CipherSuite)}
		if len(t.TLS.PeerCertificates) > 0 {
			cert := t.TLS.PeerCertificates[0]
			s.Subject, s.Issuer, s.Names, s.From, s.Until = cert.Subject.String(), cert.Issuer.String(), cert.DNSNames, cert.NotBefore, cert.NotAfter
		}
		e.Transfer.Security = s
	}
	return e
}
