package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/tegenaria/tegenaria/internal/urlx"
)

// The replies of a SOCKS5 proxy that does not connect (RFC 1928 §6).
const (
	socksFailure     = 1
	socksNotAllowed  = 2
	socksNoNetwork   = 3
	socksNoHost      = 4
	socksConnRefused = 5
	socksTTL         = 6
	socksNoCommand   = 7
	socksNoAddress   = 8
)

// socksReplies are the texts that x/net and net/http have for the replies; they have no type.
var socksReplies = map[string]int{
	"general SOCKS server failure":      socksFailure,
	"connection not allowed by ruleset": socksNotAllowed,
	"network unreachable":               socksNoNetwork,
	"host unreachable":                  socksNoHost,
	"connection refused":                socksConnRefused,
	"TTL expired":                       socksTTL,
	"command not supported":             socksNoCommand,
	"address type not supported":        socksNoAddress,
}

// socksReply returns the reply that an error of a SOCKS5 proxy is about, 0 if it is about something else.
func socksReply(op *net.OpError) int {
	if !strings.HasPrefix(op.Op, "socks") || op.Err == nil {
		return 0
	}
	text, ok := strings.CutPrefix(op.Err.Error(), "unknown error ")
	if !ok {
		return 0
	}
	return socksReplies[text]
}

// refusedBySOCKS is the failure of a request whose SOCKS5 proxy does not connect. The proxy is nil if a client of the
// user's has chosen it.
func refusedBySOCKS(proxy *string, op *net.OpError) *ProxyError {
	refused := &ProxyError{Reply: socksReply(op)}
	switch {
	case proxy != nil:
		refused.Proxy = urlx.Redact(*proxy)
	case op.Source != nil:
		refused.Proxy = "socks5://" + op.Source.String()
	}
	text := strings.TrimPrefix(op.Err.Error(), "unknown error ")
	if refused.Reply == socksNotAllowed {
		text += "; it does not let this user go to this site, which is not retried"
	}
	own := *op
	own.Err = fmt.Errorf("the proxy replies with %d: %s", refused.Reply, text)
	refused.Err = &own
	return refused
}

// refusedTunnel is the failure of a request whose HTTP proxy makes no tunnel.
func refusedTunnel(proxy *url.URL, answer *http.Response) *ProxyError {
	text := fmt.Sprintf("the proxy answers CONNECT with status %d %s", answer.StatusCode, http.StatusText(answer.StatusCode))
	switch answer.StatusCode {
	case http.StatusProxyAuthRequired:
		text += "; write user and password into its URL, as http://user:password@host:port"
	case http.StatusForbidden:
		text += "; it does not let this user go to this site, which is not retried"
	}
	return &ProxyError{
		Proxy: urlx.Redact(proxy.String()), Status: answer.StatusCode, RetryAfter: answer.Header.Get("Retry-After"),
		Err: &net.OpError{Op: opProxy, Net: "tcp", Err: errors.New(text)},
	}
}

// tellRefusals lets a transport of net/http return a [*ProxyError] where a proxy makes no tunnel; it has no type for that. What
// the user's own func says is heard first.
func tellRefusals(t *http.Transport) {
	own := t.OnProxyConnectResponse
	t.OnProxyConnectResponse = func(ctx context.Context, proxy *url.URL, asked *http.Request, answer *http.Response) error {
		if own != nil {
			if err := own(ctx, proxy, asked, answer); err != nil {
				return &ProxyError{Proxy: urlx.Redact(proxy.String()), Err: err}
			}
		}
		if answer.StatusCode != http.StatusOK { // no tunnel, says net/http
			return refusedTunnel(proxy, answer)
		}
		return nil
	}
}
