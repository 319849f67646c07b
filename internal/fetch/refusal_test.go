package fetch

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// refusingProxy says no to whoever wants to be led somewhere: with an answer to CONNECT, or a reply of SOCKS5. It counts
// its connections.
func refusingProxy(t *testing.T, answer string, reply byte) (address string, asked *atomic.Int32) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int32)
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			in := bufio.NewReader(conn)
			if first, _ := in.Peek(1); len(first) > 0 && first[0] == 5 {
				head := make([]byte, 2)
				io.ReadFull(in, head)
				in.Discard(int(head[1]))
				conn.Write([]byte{5, 0})
				head = make([]byte, 5)
				io.ReadFull(in, head)
				in.Discard(int(head[4]) + 2)
				conn.Write([]byte{5, reply, 0, 1, 0, 0, 0, 0, 0, 0})
			} else {
				http.ReadRequest(in)
				io.WriteString(conn, answer)
			}
			conn.Close()
		}
	})
	t.Cleanup(func() { listener.Close(); wg.Wait() })
	return listener.Addr().String(), asked
}

var errOwn = errors.New("not this proxy")

func tellNothing(context.Context, *url.URL, *http.Request, *http.Response) error { return nil }
func sayNo(context.Context, *url.URL, *http.Request, *http.Response) error       { return errOwn }

// A proxy that refuses is told by its status or its reply, and so is whether it is worth another try, with the engine's own
// connections and with those of a client that the user gives: one whose proxy is the request's, one that has its own, and one
// that has its own func for what proxies answer.
func TestProxyRefuses(t *testing.T) {
	for _, tt := range []struct {
		name      string
		scheme    string
		answer    string // to CONNECT
		reply     byte   // of SOCKS5
		temporary bool
		says      string
	}{
		{"429", "http", "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\n\r\n", 0, true, "status 429"},
		{"500", "http", "HTTP/1.1 500 Internal Server Error\r\n\r\n", 0, true, "status 500"},
		{"502", "http", "HTTP/1.0 502 Bad Gateway\r\n\r\n", 0, true, "status 502"},
		{"503", "http", "HTTP/1.1 503\r\n\r\n", 0, true, "status 503"},
		{"504", "http", "HTTP/1.1 504 Gateway Timeout\r\n\r\n", 0, true, "status 504"},
		{"407", "http", "HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", 0, false, "user:password@host"},
		{"403", "http", "HTTP/1.1 403 Forbidden\r\n\r\n", 0, false, "not retried"},
		{"404", "http", "HTTP/1.1 404 Not Found\r\n\r\n", 0, false, "status 404"},
		{"general failure", "socks5", "", 1, true, "general SOCKS server failure"},
		{"not allowed", "socks5", "", 2, false, "not retried"},
		{"network unreachable", "socks5", "", 3, true, "network unreachable"},
		{"host unreachable", "socks5h", "", 4, true, "host unreachable"},
		{"refused", "socks5", "", 5, true, "connection refused"},
		{"TTL", "socks5", "", 6, true, "TTL expired"},
		{"no such command", "socks5", "", 7, false, "command not supported"},
		{"address type", "socks5", "", 8, false, "address type not supported"},
	} {
		for _, way := range []string{"ours", "client", "client with a func", "client's own proxy"} {
			t.Run(tt.name+", "+way, func(t *testing.T) {
				address, _ := refusingProxy(t, tt.answer, tt.reply)
				proxy := tt.scheme + "://u:s3cret@" + address
				if tt.reply > 0 {
					proxy = strings.Replace(proxy, "u:s3cret@", "", 1)
				}
				opts := []option{through(proxy)}
				transport := new(http.Transport)
				switch way {
				case "client with a func":
					transport.OnProxyConnectResponse = tellNothing
				case "client's own proxy":
					u, err := url.Parse(proxy)
					if err != nil {
						t.Fatal(err)
					}
					transport.Proxy, opts = http.ProxyURL(u), nil
				}
				d := newTestClient(t, func(c *Config) {
					if way != "ours" {
						c.HTTP = &http.Client{Transport: transport}
					}
				})
				got := wantError[*ProxyError](t, download(d, request("https://example.com/", http.MethodGet, opts...)))
				named := strings.Replace(proxy, "s3cret", "xxxxx", 1)
				if way == "client's own proxy" {
					named = strings.Replace(named, "socks5h", "socks5", 1)
				}
				if got.Proxy != named || !got.Refused() || got.Temporary() != tt.temporary || got.Reply != int(tt.reply) || (got.Status == 0) != (tt.reply > 0) {
					t.Errorf("%+v, temporary %v", got, got.Temporary())
				}
				if !strings.Contains(got.Error(), tt.says) || strings.Contains(got.Error(), "s3cret") || strings.Contains(got.Error(), "unknown error") {
					t.Errorf("%v, want %q", got, tt.says)
				}
				if (got.RetryAfter == "7") != strings.Contains(tt.answer, "Retry-After") {
					t.Errorf("Retry-After %q", got.RetryAfter)
				}
			})
		}
	}
}

// What the func of a user's client says about a proxy is the failure, and names the proxy.
func TestOwnFuncForProxyAnswers(t *testing.T) {
	address, _ := refusingProxy(t, "HTTP/1.1 200 OK\r\n\r\n", 0)
	proxy := "http://" + address
	transport := &http.Transport{OnProxyConnectResponse: sayNo}
	d := newTestClient(t, func(c *Config) { c.HTTP = &http.Client{Transport: transport} })
	result := download(d, request("https://example.com/", http.MethodGet, through(proxy)))
	if got := wantError[*ProxyError](t, result); got.Proxy != proxy || !errors.Is(got, errOwn) || got.Refused() || got.Temporary() {
		t.Errorf("%+v", got)
	}
}
