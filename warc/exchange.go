package warc

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"hash"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/robots"

	"github.com/tegenaria/tegenaria"
)

// exchange makes the records of one request and what came of it. What it holds is used again for others.
type exchange struct {
	archive *Archive
	began   time.Time
	body    wireBody
	sum     hash.Hash // of the body
	block   hash.Hash // of the block of the response
	pack    *packer   // while the records are made
	pieces  pieces
	head    []byte // scratch
}

func (a *Archive) newExchange() *exchange {
	x := &exchange{archive: a, sum: a.digests.make(), block: a.digests.make()}
	x.body.folder, x.body.share = a.template.Root(), &a.bodies
	return x
}

// packing takes a packer to make records with. It waits for one that is at work; the func that it returns gives it back.
func (x *exchange) packing() (done func()) {
	pack := <-x.archive.packers
	if pack == nil {
		pack = newPacker(compressionOf(x.archive.template.path))
	}
	x.pack = pack
	return func() { x.pack = nil; x.archive.packers <- pack }
}

// facts are what the records of an exchange say.
type facts struct {
	request *tegenaria.Request
	target  string // WARC-Target-URI
	path    string // of the request line
	method  string
	network []field // address and protocol
	id      string  // of the record that the others are about
}

// factsOf returns those of a request.
func factsOf(ctx *tegenaria.Context) facts {
	r := ctx.Request
	f := facts{request: r, method: methodOf(r), id: newID()}
	f.target = targetOf(urlx.MergeParams(r.Url, r.Params))
	f.path = pathOf(f.target)
	return f
}

// about returns the fields by which a replay finds the record of a response or of a failure.
func (f *facts) about() []field {
	fields := []field{{"WARC-Target-URI", f.target}}
	if variant := variantKeyOf(f.request.Variant()); variant != "" {
		fields = append(fields, field{variantField, variant})
	}
	return fields
}

// methodOf returns the method that is sent.
func methodOf(r *tegenaria.Request) string {
	if r.Method == "" && (r.Body != nil || r.BodyReader != nil) {
		return http.MethodPost
	}
	return cmp.Or(r.Method, http.MethodGet)
}

// targetOf returns a URL as it is written to archives and looked up in them: as the URL standard serialises it, without fragment and
// credentials.
func targetOf(url string) string {
	if parsed, err := urlx.Parse(url); err == nil {
		url = parsed
	}
	url, _ = urlx.CutFragment(url)
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	host, _, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		return scheme + "://" + rest[at+1:]
	}
	return url
}

// pathOf returns the path of a serialised URL, with its query.
func pathOf(target string) string {
	_, rest, _ := strings.Cut(target, "://")
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		return rest[i:]
	}
	return "/"
}

// record makes the records of an exchange that has ended, and stages them under the request's CtxId. The exchange is given back.
func (x *exchange) record(ctx, got *tegenaria.Context) (err error) {
	defer func() {
		err = errors.Join(err, x.body.close())
		x.archive.exchanges.Put(x)
	}()
	if got == nil || got.DownloadResult == nil {
		return nil
	}
	result := got.DownloadResult
	switch {
	case result.Response != nil:
		return x.response(ctx, result.Response, result.Error != nil)
	case result.Error != nil:
		return x.failure(ctx, result.Error.Err)
	}
	return nil
}

// response stages the records of a response: request, response or revisit, metadata. failed says that it has an error as well.
func (x *exchange) response(ctx *tegenaria.Context, resp *tegenaria.Response, failed bool) error {
	coded, err := x.fill(resp)
	if err != nil {
		return err
	}
	size, err := x.body.stop()
	if err != nil {
		return &WriteError{x.body.folder, err}
	}
	defer x.packing()()
	f := factsOf(ctx)
	transfer := resp.Transfer()
	f.network = networkOf(f.request, transfer)
	x.pieces.reset(&x.archive.records, x.archive.nextKey())
	if err := x.request(&f, transfer); err != nil {
		return err
	}
	truncated := truncation(f.request, resp, size)
	if failed && truncated == "" {
		truncated = "unspecified"
	}
	x.head = appendHead(x.head[:0], resp, coded)
	done, err := x.answer(&f, resp.Status, size, truncated)
	if err != nil {
		return err
	}
	outcome := "downloaded"
	if truncated != "" {
		outcome = "truncated"
	}
	about := append(about(&f, outcome), field{"fetchTimeMs", strconv.FormatInt(time.Since(x.began).Milliseconds(), 10)})
	if transfer.Err != nil {
		about = append(about, field{"error", transfer.Err.Error()})
	}
	if err := x.metadata(&f, about); err != nil {
		return err
	}
	return x.stage(ctx, &f, done)
}

// fill takes the body of a response that no wire has brought: that of a downloader other than the engine's, or one whose copy another
// layer has asked for. coded reports whether the body is as it came, in its content coding.
func (x *exchange) fill(resp *tegenaria.Response) (coded bool, err error) {
	x.body.mu.Lock()
	has := x.body.size > 0
	x.body.mu.Unlock()
	if has || resp.ContentLength == 0 {
		return true, nil
	}
	body := resp.Reader()
	_, err = io.Copy(&x.body, body)
	return false, errors.Join(err, body.Close())
}

// networkOf returns what is known of the connection.
func networkOf(r *tegenaria.Request, t *tegenaria.Transfer) (fields []field) {
	if t.RemoteAddr != nil && r.Proxy == nil {
		if host, _, err := net.SplitHostPort(t.RemoteAddr.String()); err == nil {
			host, _, _ = strings.Cut(host, "%")
			fields = append(fields, field{"WARC-IP-Address", host})
		}
	}
	switch t.Proto {
	case "":
	case "HTTP/2.0":
		fields = append(fields, field{"WARC-Protocol", "h2"})
	default:
		fields = append(fields, field{"WARC-Protocol", strings.ToLower(t.Proto)})
	}
	if t.TLS != nil {
		version := strings.ReplaceAll(strings.ToLower(tls.VersionName(t.TLS.Version)), " ", "/") // "TLS 1.3"
		fields = append(fields, field{"WARC-Protocol", version})
	}
	return fields
}

// request writes the record of the request, if it is known what was sent.
func (x *exchange) request(f *facts, t *tegenaria.Transfer) error {
	sent, host := t.Sent()
	if host == "" {
		return nil
	}
	b := append(x.head[:0], f.method...)
	b = append(b, ' ')
	b = append(b, f.path...)
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendField(b, "Host", host)
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if name == "Proxy-Authorization" { // the site did not get it
			continue
		}
		for _, value := range sent[name] {
			b = appendField(b, name, value)
		}
	}
	body := f.request.Body
	if len(body) > 0 && sent.Get("Content-Length") == "" {
		b = appendField(b, "Content-Length", strconv.Itoa(len(body)))
	}
	b = append(append(b, "\r\n"...), body...)
	x.head = b
	fields := append([]field{{"WARC-Target-URI", f.target}, {"WARC-Concurrent-To", f.id}}, f.network...)
	if len(body) > 0 {
		fields = append(fields, field{"WARC-Payload-Digest", x.archive.digests.of(body)})
	}
	return x.pack.write(&x.pieces, &newRecord{
		kind: "request", id: newID(), date: x.began, fields: fields, media: mediaRequest, head: b, digest: x.archive.digests.of(b),
	})
}

// answer writes the record of the response whose header is in x.head, or a revisit record.
func (x *exchange) answer(f *facts, status int, size int64, truncated string) (done recorded, err error) {
	head := x.head
	r := newRecord{kind: "response", id: f.id, date: x.began, media: mediaResponse, head: head}
	r.fields = append(f.about(), f.network...)
	payload := x.archive.digests.text(x.sum)
	switch {
	case status == http.StatusNotModified && size == 0:
		r.kind = "revisit"
		r.fields = append(r.fields, field{"WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/server-not-modified"})
		if truncated != "" {
			r.fields = append(r.fields, field{"WARC-Truncated", truncated})
		}
		r.digest = x.archive.digests.of(head)
		return done, x.pack.write(&x.pieces, &r)
	case truncated != "":
		r.fields = append(r.fields, field{"WARC-Truncated", truncated})
	case size >= leastRevisit:
		done.payload = payloadKeyOf(x.sum)
		if known, ok := x.archive.seen.find(done.payload); ok {
			r.kind = "revisit"
			r.fields = append(r.fields,
				field{"WARC-Profile", "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"},
				field{"WARC-Refers-To", known.id}, field{"WARC-Refers-To-Target-URI", known.url},
				field{"WARC-Refers-To-Date", known.date.UTC().Format(stampFormat)},
				field{"WARC-Truncated", "length"}, // the block has no body
				field{"WARC-Payload-Digest", payload})
			r.digest = x.archive.digests.of(head)
			return recorded{}, x.pack.write(&x.pieces, &r)
		}
		done.original = &original{id: f.id, url: f.target, date: x.began}
	}
	r.fields = append(r.fields, field{"WARC-Payload-Digest", payload})
	x.block.Reset()
	x.block.Write(head)
	if _, err := io.CopyBuffer(x.block, onlyReader{x.body.open()}, x.pack.copying); err != nil {
		return done, &WriteError{x.body.folder, err}
	}
	r.body, r.size, r.digest = x.body.open(), size, x.archive.digests.text(x.block)
	return done, x.pack.write(&x.pieces, &r)
}

// leastRevisit is the size from which on a body is worth a record that refers to it.
const leastRevisit = 512

// appendHead appends the status line and the header of a response as they came; coded says that the body is in its content coding. There
// is no Transfer-Encoding: the block has the body without it.
func appendHead(b []byte, resp *tegenaria.Response, coded bool) []byte {
	b = append(b, "HTTP/1.1 "...)
	if status := resp.Status; status >= 100 && status <= 999 {
		b = strconv.AppendInt(b, int64(status), 10)
	} else {
		b = append(b, "999"...)
	}
	b = append(append(append(b, ' '), http.StatusText(resp.Status)...), "\r\n"...)
	var removed http.Header
	if coded {
		removed = resp.Transfer().Removed()
	}
	names := slices.AppendSeq(make([]string, 0, len(resp.Header)+len(removed)), maps.Keys(resp.Header))
	for name := range removed {
		if _, has := resp.Header[name]; !has {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if strings.EqualFold(name, "Transfer-Encoding") {
			continue
		}
		values, has := resp.Header[name]
		if !has {
			values = removed[name]
		}
		for _, value := range values {
			b = appendField(b, name, value)
		}
	}
	return append(b, "\r\n"...)
}

// truncation returns why a body is not whole, in the words of WARC-Truncated (ISO 28500 §5.13); "" if it is.
func truncation(r *tegenaria.Request, resp *tegenaria.Response, size int64) string {
	t := resp.Transfer()
	var timeout interface{ Timeout() bool }
	switch {
	case t.Err != nil && isFollowed(r, resp): // the rest was left
		return "length"
	case t.Err != nil && errors.As(t.Err, &timeout) && timeout.Timeout():
		return "time"
	case t.Err != nil:
		return "disconnect"
	case r.Method == http.MethodHead || resp.Status == http.StatusNoContent || resp.Status == http.StatusNotModified:
		return ""
	case resp.Request() != nil && isRobots(r.Url) && size > robots.MaxBytes:
		return "length"
	}
	announced := resp.Transfer().Removed().Get("Content-Length")
	if announced == "" {
		announced = http.Header(resp.Header).Get("Content-Length")
	}
	if n, err := strconv.ParseInt(announced, 10, 64); err == nil && n > size && t.WireBytes > 0 {
		return "length"
	}
	return ""
}

// isFollowed reports whether the engine follows a response as a redirect.
func isFollowed(r *tegenaria.Request, resp *tegenaria.Response) bool {
	switch resp.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return r.AllowRedirects && r.MaxRedirects > 0 && http.Header(resp.Header).Get("Location") != ""
	}
	return false
}

func isRobots(url string) bool { return urlx.Path(url) == "/robots.txt" }

// failure stages the record of a request to which no response came. Those that were cancelled are not settled, and not recorded.
func (x *exchange) failure(ctx *tegenaria.Context, why error) error {
	var timeout interface{ Timeout() bool }
	if ctx.Err() != nil {
		if cause := context.Cause(ctx); !errors.As(cause, &timeout) || !timeout.Timeout() {
			return nil
		}
	}
	if why == nil {
		why = errors.New("no result")
	}
	defer x.packing()()
	f := factsOf(ctx)
	x.pieces.reset(&x.archive.records, x.archive.nextKey())
	about := append(about(&f, "failed"), field{"method", f.method})
	if len(f.request.Body) > 0 {
		about = append(about, field{"requestDigest", x.archive.digests.of(f.request.Body)})
	}
	about = append(about, field{"errorKind", kindOf(why)}, field{"error", why.Error()})
	if err := x.metadata(&f, about); err != nil {
		return err
	}
	return x.stage(ctx, &f, recorded{})
}

// about says of a request where it came from, and what came of it.
func about(f *facts, outcome string) []field {
	fields := []field{{"outcome", outcome}, {"depth", strconv.Itoa(f.request.Depth)}}
	if n := f.request.Attempt; n > 0 {
		fields = append(fields, field{"attempt", strconv.Itoa(n)})
	}
	if n := len(f.request.Redirects); n > 0 {
		fields = append(fields, field{"via", targetOf(f.request.Redirects[n-1])})
	} else if via := http.CanonicalHeaderKey("Referer"); f.request.Header[via] != "" {
		fields = append(fields, field{"via", targetOf(f.request.Header[via])})
	}
	return fields
}

// metadata writes a metadata record.
func (x *exchange) metadata(f *facts, about []field) error {
	b := x.head[:0]
	for _, one := range about {
		b = appendField(b, one.name, one.value)
	}
	x.head = b
	r := newRecord{kind: "metadata", id: newID(), date: x.began, media: mediaFields, head: b, digest: x.archive.digests.of(b)}
	r.fields = f.about()
	if about[0].value != "failed" {
		r.fields = append(r.fields, field{"WARC-Concurrent-To", f.id})
	}
	return x.pack.write(&x.pieces, &r)
}

// stage hands the records to the archive.
func (x *exchange) stage(ctx *tegenaria.Context, f *facts, done recorded) error {
	if err := x.pieces.end(); err != nil {
		return &WriteError{x.body.folder, err}
	}
	done.key, done.robots = x.pieces.key, isRobots(f.target)
	x.archive.stage(ctx.CtxId, done)
	return nil
}

// pieces cuts packed records into pieces to be staged.
type pieces struct {
	to interface {
		Add(id string, data []byte) error
	}
	key string
	buf []byte
}

// pieceSize is the size of a piece; few pieces are in memory at the same time.
const pieceSize = 64 << 10

func (p *pieces) reset(to interface {
	Add(id string, data []byte) error
}, key string) {
	p.to, p.key, p.buf = to, key, p.buf[:0]
}

// Write takes packed bytes.
func (p *pieces) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), pieceSize-len(p.buf))
		p.buf = append(p.buf, rest[:n]...)
		if rest = rest[n:]; len(p.buf) == pieceSize {
			if err := p.end(); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// end hands over what is left.
func (p *pieces) end() error {
	if len(p.buf) == 0 {
		return nil
	}
	err := p.to.Add(p.key, bytes.Clone(p.buf))
	p.buf = p.buf[:0]
	return err
}
