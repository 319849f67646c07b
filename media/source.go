package media

import (
	"bufio"
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/tegenaria/tegenaria"
)

// source is where a file comes from: a server, or a data: URL.
type source struct {
	url     string             // Result.URL
	key     string             // of its entry in the index: the kind, the URL, and the session if that has a name
	request *tegenaria.Request // nil for a data: URL
	data    string             // a data: URL, whole
}

const (
	longestURL = 64 << 10 // that is requested
	shownURL   = 100      // bytes of a data: URL, or of one that is too long, that results and errors have
)

// sourceOf returns the source that a URL names. Relative URLs are resolved as links of the page are. With an error only the url is set.
func sourceOf(ctx *tegenaria.Context, kind, ref string, opts []tegenaria.RequestOption) (source, error) {
	if len(ref) > 5 && strings.EqualFold(ref[:5], "data:") {
		return source{url: short(ref), key: keyOf(kind, ref), data: ref}, nil
	}
	if len(ref) > longestURL {
		return source{url: short(ref)}, &LimitError{What: "bytes of URL", Got: int64(len(ref)), Limit: longestURL}
	}
	var r *tegenaria.Request
	if u, err := url.Parse(ref); err == nil && u.IsAbs() {
		r = tegenaria.NewRequest(ref, http.MethodGet, nil, opts...)
	} else if r, err = ctx.Response().Follow(ref, opts...); err != nil {
		return source{url: ref}, err
	}
	r.Url, _, _ = strings.Cut(r.Url, "#")
	if account := accountOf(ctx.Request, r); account != "" {
		kind = fmt.Sprintf("%s of the session %q", kind, account)
	}
	return source{url: r.Url, key: keyOf(kind, r.Url), request: r}, nil
}

// accountOf returns the name of the session that a file of a page is requested in, "" for none or one without a name: accounts may see
// different files at one URL.
func accountOf(page, file *tegenaria.Request) string {
	name := cmp.Or(file.Session(), page.Session())
	if name == "-" || strings.HasPrefix(name, "#") {
		return ""
	}
	return name
}

// short returns the beginning of a long URL, and how long it is.
func short(url string) string {
	if len(url) <= shownURL {
		return url
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(url[:shownURL], ""), len(url))
}

// writeData writes what a data: URL has, and returns the type that it names (RFC 2397; Fetch standard, "data: URL processor").
func writeData(w io.Writer, url string) (mediaType string, err error) {
	url, _, _ = strings.Cut(url, "#")
	mediaType, data, ok := strings.Cut(url[len("data:"):], ",")
	if !ok {
		return "", errors.New("the data: URL has no comma")
	}
	var r io.Reader = &dataReader{rest: data}
	if i := strings.LastIndexByte(mediaType, ';'); i >= 0 && strings.EqualFold(strings.TrimSpace(mediaType[i+1:]), "base64") {
		mediaType = mediaType[:i]
		r = base64.NewDecoder(base64.RawStdEncoding, &dataReader{rest: data, base64: true})
	}
	if mediaType = strings.TrimSpace(mediaType); mediaType == "" || mediaType[0] == ';' {
		mediaType = "text/plain" + mediaType
	}
	buffered := bufio.NewWriterSize(w, 64<<10)
	if _, err = io.Copy(buffered, r); err == nil {
		err = buffered.Flush()
	}
	return mediaType, err
}

// dataReader reads the data of a data: URL without its percent-encoding, and base64 also without white space and padding.
type dataReader struct {
	rest   string
	base64 bool
	size   int // of base64, with its padding
	padded int
}

// Read is part of io.Reader.
func (r *dataReader) Read(b []byte) (n int, err error) {
	for n < len(b) && r.rest != "" {
		c, length := r.rest[0], 1
		if c == '%' && len(r.rest) > 2 {
			if high, low := unhex(r.rest[1]), unhex(r.rest[2]); high < 16 && low < 16 {
				c, length = high<<4|low, 3
			}
		}
		white := length == 1 && (c == '\t' || c == '\n' || c == '\r') // the URL standard removes it everywhere
		r.rest = r.rest[length:]
		switch {
		case white, r.base64 && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'):
		case r.base64 && c == '=':
			r.size++
			r.padded++
		case r.padded > 0:
			return n, errPadding
		default:
			b[n] = c
			n++
			r.size++
		}
	}
	switch {
	case n > 0 || len(b) == 0:
		return n, nil
	case r.padded > 2 || r.padded > 0 && r.size%4 != 0:
		return 0, errPadding
	}
	return 0, io.EOF
}

var errPadding = errors.New("the padding of the data: URL's base64 is wrong")

// unhex returns the value of a hexadecimal digit, or 16.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10
	}
	return 16
}
