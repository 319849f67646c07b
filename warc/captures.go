package warc

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha1" //nolint:gosec // a key of the index, and no protection
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"slices"
	"strconv"
	"strings"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// captures is the index of an archive by which it is replayed.
//
//	begin → add each record → end → byKey, originalOf
type captures struct {
	byKey    map[string][]capture // by requestKey; sorted by time
	whole    map[string][]capture // the same without answers that say that nothing has changed, for keys that have some
	payloads map[payloadKey]place // of responses, by originalKey

	// While the index is made: a request and its response stand close to each other, in either order.
	asked    recent[asked]
	answered recent[answered]
}

// place is where a record is.
type place struct {
	file   int32
	offset int64
	inner  int64 // in what is packed together there
}

// capture is a record that answers requests.
type capture struct {
	place
	date     int64 // in nanoseconds since 1970
	kind     captureKind
	cut      bool // the body broke off
	original payloadKey
}

type captureKind uint8

const (
	whole       captureKind = iota // a response, or a resource
	identical                      // a revisit whose body is elsewhere
	notModified                    // a revisit that says that nothing has changed
	failed                         // a metadata record of ours
)

// asked is what a request record says.
type asked struct{ method, body string }

// variantField is a field of responses and failures whose requests have a variant. It has the digest: a variant may be long, and may
// have a password.
const variantField = "Tegenaria-Variant"

// answered is a response whose request record has not come yet.
type answered struct {
	url, variant, key string
	at                place
}

func (c *captures) begin() {
	c.byKey, c.whole = make(map[string][]capture), make(map[string][]capture)
	c.payloads = make(map[payloadKey]place)
}

// end makes the index ready.
func (c *captures) end() {
	c.asked, c.answered = recent[asked]{}, recent[answered]{}
	for key, list := range c.byKey {
		slices.SortStableFunc(list, func(a, b capture) int { return cmp.Compare(a.date, b.date) })
		if unchanged := func(c capture) bool { return c.kind == notModified }; slices.ContainsFunc(list, unchanged) {
			c.whole[key] = slices.DeleteFunc(slices.Clone(list), unchanged)
		}
	}
}

// requestKey is what requests are found by. body is a digest, and so is variant; "" for none.
func requestKey(method, target, body, variant string) string {
	key := method + " " + target
	if method == http.MethodGet {
		key = target
	}
	if body != "" {
		key += "\x00" + body
	}
	if variant != "" {
		key += "\x00" + variant
	}
	return key
}

// variantKeyOf returns what tells variants of requests apart; "" for none.
func variantKeyOf(variant string) string {
	if variant == "" {
		return ""
	}
	sum := sha1.Sum([]byte(variant)) //nolint:gosec // a key of the index, and no protection
	return "sha1:" + base32.StdEncoding.EncodeToString(sum[:])
}

func urlOf(r *tegenaria.Request) string { return urlx.MergeParams(r.Url, r.Params) }

// add notes a record of a file.
func (c *captures) add(r *Record, file int) error {
	url := r.URL()
	if url == "" {
		return nil
	}
	one := capture{place: place{int32(file), r.Offset, r.inner}, date: r.Date().UnixNano()}
	concurrent := r.Header.Get("WARC-Concurrent-To")
	switch r.Type() {
	case "request":
		return c.request(r, concurrent)
	case "response":
		if !strings.HasPrefix(url, "http") {
			return nil
		}
		c.remember(r, one)
		switch r.Header.Get("WARC-Truncated") {
		case "", "length":
		default:
			one.cut = true
		}
	case "resource":
		if !strings.HasPrefix(url, "http") {
			return nil
		}
	case "revisit":
		one.kind = identical
		if strings.Contains(r.Header.Get("WARC-Profile"), "not-modified") {
			one.kind = notModified
		}
		one.original = originalKey(r.Header.Get("WARC-Payload-Digest"), r.Header.Get("WARC-Refers-To-Target-URI"), r.Header.Get("WARC-Refers-To-Date"))
	case "metadata":
		return c.failure(r, one)
	default:
		return nil
	}
	variant := r.Header.Get(variantField)
	how := c.asked.take(r.ID())
	if how == nil {
		how = c.asked.take(concurrent)
	}
	if how == nil {
		how = &asked{method: http.MethodGet}
		c.answered.put(r.ID(), answered{targetOf(url), variant, requestKey(how.method, targetOf(url), "", variant), one.place})
	}
	key := requestKey(how.method, targetOf(url), how.body, variant)
	c.byKey[key] = append(c.byKey[key], one)
	return nil
}

// remember notes where the body of a response is.
func (c *captures) remember(r *Record, one capture) {
	key := originalKey(r.Header.Get("WARC-Payload-Digest"), r.URL(), r.Header.Get("WARC-Date"))
	if _, known := c.payloads[key]; !known {
		c.payloads[key] = one.place
	}
}

// originalKey is what the body of a revisit is found by: its digest, or if it has none the response that it refers to.
func originalKey(digest, url, date string) (k payloadKey) {
	if digest == "" {
		digest = targetOf(url) + " " + date
	}
	sum := sha1.Sum([]byte(strings.ToLower(digest))) //nolint:gosec // a key of the index, and no protection
	copy(k[:], sum[:])
	return k
}

// originalOf returns where the body of a revisit is.
func (c *captures) originalOf(revisit capture) (place, bool) {
	p, ok := c.payloads[revisit.original]
	return p, ok
}

// request notes how a response was asked for.
func (c *captures) request(r *Record, concurrent string) error {
	limited := &io.LimitedReader{R: r.Block, N: mostHeader}
	from := bufio.NewReader(limited)
	line, err := from.ReadString('\n')
	method, _, ok := strings.Cut(line, " ")
	if err != nil || !ok {
		return fmt.Errorf("the request line is %q", line)
	}
	for line != "\r\n" && line != "\n" && err == nil {
		line, err = from.ReadString('\n')
	}
	limited.N = 1<<63 - 1
	how := asked{method: method}
	sum := sha1.New() //nolint:gosec // a key of the index, and no protection
	if n, _ := io.Copy(sum, from); n > 0 {
		how.body = string(sum.Sum(nil))
	}
	if before := c.answered.take(concurrent); before != nil {
		c.move(*before, how)
		return nil
	}
	c.asked.put(r.ID(), how)
	if concurrent != "" {
		c.asked.put(concurrent, how)
	}
	return nil
}

// move corrects how a response was asked for.
func (c *captures) move(a answered, how asked) {
	key := requestKey(how.method, a.url, how.body, a.variant)
	if key == a.key {
		return
	}
	list := c.byKey[a.key]
	for i, one := range slices.Backward(list) { // it came not long ago
		if one.place == a.at {
			if list = slices.Delete(list, i, i+1); len(list) == 0 {
				delete(c.byKey, a.key)
			} else {
				c.byKey[a.key] = list
			}
			c.byKey[key] = append(c.byKey[key], one)
			return
		}
	}
}

// failure notes a metadata record of ours about a request that failed.
func (c *captures) failure(r *Record, one capture) error {
	if !strings.HasPrefix(r.Header.Get("Content-Type"), mediaFields) {
		return nil
	}
	fields := fieldsOf(r.Block)
	if fields.Get("outcome") != "failed" {
		return nil
	}
	body := ""
	if digest, ok := strings.CutPrefix(fields.Get("requestDigest"), "sha1:"); ok {
		sum, err := base32.StdEncoding.DecodeString(digest)
		if err != nil {
			return fmt.Errorf("requestDigest: %w", err)
		}
		body = string(sum)
	}
	one.kind = failed
	key := requestKey(cmp.Or(fields.Get("method"), http.MethodGet), targetOf(r.URL()), body, r.Header.Get(variantField))
	c.byKey[key] = append(c.byKey[key], one)
	return nil
}

// failureOf returns the failure that a metadata record is about.
func failureOf(url string, r *Record) error {
	fields := fieldsOf(r.Block)
	return &FailedError{URL: url, Kind: fields.Get("errorKind"), Message: fields.Get("error")}
}

// fieldsOf reads a block of fields, as far as it is one.
func fieldsOf(block io.Reader) textproto.MIMEHeader {
	const most = 64 << 10
	text, _ := io.ReadAll(io.LimitReader(block, most)) // what there is
	fields, _ := textproto.NewReader(bufio.NewReader(io.MultiReader(bytes.NewReader(text), strings.NewReader("\r\n")))).ReadMIMEHeader()
	return fields
}

// mostHeader is how large the header of a response may be.
const mostHeader = 1 << 20

// readHTTP reads the header of a response, and returns its body without transfer coding. It takes what is in the wild: lines that are no fields
// are left out, and a chunked body may have lost its chunks.
func readHTTP(block io.Reader) (status int, header http.Header, body io.Reader, err error) {
	limited := &io.LimitedReader{R: block, N: mostHeader}
	from := bufio.NewReaderSize(limited, 32<<10)
	line, err := from.ReadString('\n')
	if fields := strings.Fields(line); err == nil && len(fields) > 1 && strings.HasPrefix(line, "HTTP/") {
		status, err = strconv.Atoi(fields[1])
	} else if err == nil {
		err = errors.New("no status line")
	}
	if err != nil {
		return 0, nil, nil, fmt.Errorf("the response begins with %.40q: %w", line, err)
	}
	header = make(http.Header)
	for {
		line, err = from.ReadString('\n')
		if err != nil && !(errors.Is(err, io.EOF) && limited.N > 0) {
			return 0, nil, nil, fmt.Errorf("the header of the response: %w", err)
		}
		trimmed := strings.TrimRight(line, "\r\n")
		if trimmed == "" {
			break
		}
		if name, value, ok := strings.Cut(trimmed, ":"); ok && name != "" && !strings.ContainsAny(name, " \t") {
			header.Add(name, strings.Trim(value, " \t"))
		}
		if err != nil {
			break
		}
	}
	limited.N = 1<<63 - 1
	chunked := strings.Contains(strings.ToLower(header.Get("Transfer-Encoding")), "chunked")
	header.Del("Transfer-Encoding")
	if chunked && hasChunks(from) {
		return status, header, httputil.NewChunkedReader(from), nil
	}
	return status, header, from, nil
}

// hasChunks reports whether a body begins with the size of a chunk.
func hasChunks(from *bufio.Reader) bool {
	begin, _ := from.Peek(20)
	line, _, ok := bytes.Cut(begin, []byte("\r\n"))
	size, _, _ := bytes.Cut(line, []byte(";"))
	_, err := strconv.ParseUint(strings.TrimSpace(string(size)), 16, 63)
	return ok && err == nil
}

// recent remembers the last things by a name.
type recent[T any] struct {
	known map[string]*T
	names []string
	next  int
}

// mostRecent is how many are remembered.
const mostRecent = 256

func (r *recent[T]) put(name string, v T) {
	if r.known == nil {
		r.known = make(map[string]*T, mostRecent)
		r.names = make([]string, mostRecent)
	}
	delete(r.known, r.names[r.next])
	r.known[name], r.names[r.next] = &v, name
	r.next = (r.next + 1) % mostRecent
}

// take returns what has a name, and forgets it; nil if nothing has.
func (r *recent[T]) take(name string) *T {
	v := r.known[name]
	delete(r.known, name)
	return v
}
