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
	"unicode/utf8"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/httpx"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// captures is the index of an archive by which it is replayed.
//
//	begin → add each record → end → byKey, originalOf
type captures struct {
	byKey   map[string][]capture // by requestKey; sorted by time
	whole   map[string][]capture // the same without answers that say that nothing has changed, for keys that have some
	origins []place              // of the bodies of revisits, by capture.origin; file is -1 for one that is not there

	// While the index is made: a request and its response stand close to each other, in either order.
	asked    recent[asked]
	answered recent[answered]
	bodies   map[payloadKey]place // of responses, by each of originalKeys
	sought   [][]payloadKey       // of revisits, as origins
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
	date   int64 // in nanoseconds since 1970
	kind   captureKind
	cut    bool  // the body broke off
	origin int32 // of a revisit, in captures.origins
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
	c.bodies = make(map[payloadKey]place)
}

// end makes the index ready.
func (c *captures) end() {
	c.origins = make([]place, len(c.sought))
	for i, keys := range c.sought {
		c.origins[i].file = -1
		for _, key := range keys {
			if p, ok := c.bodies[key]; ok {
				c.origins[i] = p
				break
			}
		}
	}
	c.asked, c.answered, c.bodies, c.sought = recent[asked]{}, recent[answered]{}, nil, nil
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
		for _, key := range originalKeys(r.Header.Get("WARC-Record-ID"), r.Header.Get("WARC-Payload-Digest"), r.URL(), r.Header.Get("WARC-Date")) {
			if _, known := c.bodies[key]; !known {
				c.bodies[key] = one.place
			}
		}
		one.cut = isCut(r)
	case "resource":
		if !strings.HasPrefix(url, "http") {
			return nil
		}
	case "revisit":
		one.kind = identical
		if strings.Contains(r.Header.Get("WARC-Profile"), "not-modified") {
			one.kind = notModified
		}
		one.cut, one.origin = isCut(r), int32(len(c.sought))
		c.sought = append(c.sought, originalKeys(r.Header.Get("WARC-Refers-To"), r.Header.Get("WARC-Payload-Digest"), r.Header.Get("WARC-Refers-To-Target-URI"), r.Header.Get("WARC-Refers-To-Date")))
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

// isCut reports whether the body of a record broke off. "length" is a limit of the one who wrote it, or a revisit without its body.
func isCut(r *Record) bool {
	why := r.Header.Get("WARC-Truncated")
	return why != "" && why != "length"
}

// originalKeys is what the body of a revisit is found by, the best one first: the id of the response, its digest, or its URL and date.
func originalKeys(id, digest, url, date string) (keys []payloadKey) {
	add := func(kind, text string) {
		sum := sha1.Sum([]byte(kind + text)) //nolint:gosec // a key of the index, and no protection
		keys = append(keys, payloadKey(sum[:len(payloadKey{})]))
	}
	if id != "" {
		add("id ", id)
	}
	if digest != "" {
		add("digest ", strings.ToLower(digest))
	}
	if url != "" && date != "" {
		add("url ", targetOf(url)+" "+date)
	}
	return keys
}

// originalOf returns where the body of a revisit is.
func (c *captures) originalOf(revisit capture) (place, bool) {
	p := c.origins[revisit.origin]
	return p, p.file >= 0
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

// readHTTP reads the header of a response, and returns its body without transfer coding. It takes what is in the wild:
// lines that are no fields are left out, and a body may have lost the chunks or the content codings that its header
// names.
func readHTTP(block io.Reader) (status int, header http.Header, body *bufio.Reader, err error) {
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
		from = bufio.NewReaderSize(httputil.NewChunkedReader(from), bodyAtOnce)
	}
	dropCodings(header, from)
	return status, header, from, nil
}

// bodyAtOnce is how much of a body is looked at.
const bodyAtOnce = 32 << 10

// hasChunks reports whether a body begins with a chunk, as far as it can be seen: other programs keep the field and remove the chunks.
func hasChunks(from *bufio.Reader) bool {
	begin, _ := from.Peek(bodyAtOnce)
	line, data, ok := bytes.Cut(begin, []byte("\r\n"))
	digits, _, _ := bytes.Cut(line, []byte(";"))
	size, err := strconv.ParseUint(strings.TrimSpace(string(digits)), 16, 63)
	if !ok || err != nil || size == 0 || size >= uint64(len(data)) {
		return ok && err == nil
	}
	return bytes.HasPrefix([]byte("\r\n"), data[size:min(size+2, uint64(len(data)))])
}

// dropCodings removes the content codings from a header that the body does not have: other programs keep the field and decode the body.
func dropCodings(header http.Header, body *bufio.Reader) {
	named := strings.Join(header.Values("Content-Encoding"), ",")
	begin, _ := body.Peek(bodyAtOnce)
	if named == "" || len(begin) == 0 {
		return
	}
	codings := strings.Split(named, ",")
	n := len(codings)
	for n > 0 && !hasCoding(codings[n-1], begin) {
		n--
	}
	switch n {
	case len(codings):
	case 0:
		header.Del("Content-Encoding")
		header.Del("Content-Length")
	default:
		header.Set("Content-Encoding", strings.Join(codings[:n], ","))
		header.Del("Content-Length")
	}
}

// hasCoding reports whether a body that begins so can have a content coding. gzip and zstd have a mark; the others are tried: a body does
// not have them if not even its first block can be decoded, or if it cannot be decoded to its end and is text. A coding
// that is not known stays.
func hasCoding(coding string, begin []byte) bool {
	switch strings.ToLower(strings.TrimSpace(coding)) {
	case "gzip", "x-gzip":
		return isPrefix(begin, gzipMagic)
	case "zstd":
		return isPrefix(begin, zstdMagic) || isExtra(begin[:min(len(begin), 4)])
	case "br", "deflate":
	default:
		return true
	}
	decoder, err := httpx.NewReader([]string{coding}, bytes.NewReader(begin), httpx.Limits{Ratio: -1, Decoded: 1 << 20})
	if err != nil {
		return true
	}
	defer decoder.Close()
	n, err := io.Copy(io.Discard, decoder)
	corrupt := (*httpx.CorruptError)(nil)
	switch {
	case err == nil, n >= int64(len(begin)): // begin may be less than the body: the decoder may miss the rest
		return true
	case n == 0 && errors.As(err, &corrupt):
		return false
	}
	return !isText(begin)
}

// isPrefix reports whether bytes begin with a mark, as far as they go.
func isPrefix(begin, mark []byte) bool {
	n := min(len(begin), len(mark))
	return bytes.Equal(begin[:n], mark[:n])
}

// isText reports whether bytes are text in UTF-8, of which the last character may be cut.
func isText(begin []byte) bool {
	for i := 0; i < utf8.UTFMax && len(begin) > 0; i++ {
		if utf8.Valid(begin) {
			return bytes.IndexByte(begin, 0) < 0
		}
		begin = begin[:len(begin)-1]
	}
	return false
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
