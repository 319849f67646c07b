package httpx

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"sync"

	"golang.org/x/net/http/httpguts"
)

// checkHeader looks whether a header can be sent (RFC 9110 §5.1, §5.5).
func checkHeader(header http.Header) error {
	for name, values := range header {
		if !httpguts.ValidHeaderFieldName(name) {
			return fmt.Errorf("httpx: invalid name of a header field: %q", name)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("httpx: invalid value of the header field %s", name) // it may be a secret
			}
		}
	}
	return nil
}

// hostOf is the value of a request's Host field (RFC 9110 §7.2). A zone means nothing but to this machine (RFC 6874 §4).
func hostOf(req *http.Request) (string, error) {
	host, err := httpguts.PunycodeHostPort(cmp.Or(req.Host, req.URL.Host))
	if err != nil || host == "" || !httpguts.ValidHostHeader(host) {
		return "", fmt.Errorf("httpx: invalid host %q", cmp.Or(req.Host, req.URL.Host))
	}
	if strings.HasPrefix(host, "[") {
		if end := strings.LastIndexByte(host, ']'); end > 0 {
			if zone := strings.LastIndexByte(host[:end], '%'); zone > 0 {
				return host[:zone] + host[end:], nil
			}
		}
	}
	return host, nil
}

// requests lends the memory that requests are written in.
var requests = sync.Pool{New: func() any { return new([]byte) }}

// writeRequest writes a request without a body at once, as net/http does: Host and User-Agent come first, other fields
// by their names. An empty User-Agent is none; fields that say how long a body is are left out.
func writeRequest(w io.Writer, req *http.Request) error {
	host, err := hostOf(req)
	if err != nil {
		return err
	}
	memory, _ := requests.Get().(*[]byte)
	defer requests.Put(memory)
	b := append((*memory)[:0], req.Method...)
	b = append(b, ' ')
	target := req.URL.RequestURI()
	for i := range len(target) {
		if target[i] <= ' ' || target[i] == 0x7f {
			return fmt.Errorf("httpx: invalid character %q in the target of a request", target[i])
		}
	}
	b = append(b, target...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", host)
	if agents := req.Header["User-Agent"]; len(agents) > 0 && agents[0] != "" {
		b = appendField(b, "User-Agent", agents[0])
	}
	var few [16]string
	names := few[:0]
	for name := range req.Header {
		switch name {
		case "Host", "User-Agent", "Content-Length", "Transfer-Encoding", "Trailer":
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range req.Header[name] {
			b = appendField(b, name, value)
		}
	}
	b = append(b, "\r\n"...)
	if cap(b) <= mostRequest {
		*memory = b
	}
	_, err = w.Write(b)
	return err
}

// mostRequest is how large the memory for a request may be that is kept for the next one.
const mostRequest = 16 << 10

func appendField(b []byte, name, value string) []byte {
	b = append(b, name...)
	b = append(b, ": "...)
	b = append(b, textproto.TrimString(value)...)
	return append(b, "\r\n"...)
}
