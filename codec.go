package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"

	"github.com/google/uuid"
)

// codec turns a request into the bytes that wait in a cache, and back.
//
// The encoding is a list of fields, each a tag followed by its value, in ascending order of tags; a
// field that has its default is left out. Tag 0 ends the list, and the rest is the URL. So a plain GET
// costs its URL and one byte. What a [Record] has a field for is not encoded: priority, depth, attempt,
// slot, NotBefore.
//
// A codec is safe for concurrent use.
type codec struct {
	durable   bool         // nothing may ride in the live part
	parsers   *parserTable // names parsers
	metaTypes map[string]reflect.Type
	bodyLimit int64 // for BodyReader, in bytes
	inspect   bool  // decode for somebody who only looks: parsers and types need not be known
}

// The tags are stored by durable caches: a tag is never used again for anything else.
const (
	tagURL byte = iota
	tagMethod
	tagParser
	tagHeader
	tagBody
	tagParams
	tagProxy
	tagCookies
	tagMeta
	tagFlags
	tagMaxRedirects
	tagRedirects
	tagTimeout
	tagAllowStatus
	tagSlot
	tagDownloader
	tagMaxConns
	tagChainKeys
	tagUUID // CtxId in its usual form
	tagCtxID
)

// Bits of tagFlags.
const (
	flagNoRedirects = 1 << iota
	flagDoNotFilter
	flagSpool
	flagChainFiltered
	flagChainSetCookie
	flagPartial
)

// liveParts is what cannot be encoded and rides along in a memory cache.
type liveParts struct {
	ctx    context.Context
	writer io.Writer
	parser Parser
	meta   map[string]any
}

// encode appends the encoding of ctx's request to dst. BodyReader is read into Body first. live is what
// cannot be encoded, nil if there is nothing; a durable codec refuses it with a [*RequestError].
// The CtxId is stored only if it is the user's.
func (c *codec) encode(dst []byte, ctx *Context, ctxIDIsUsers bool) (data []byte, live any, err error) {
	r := ctx.Request
	if r.err != nil {
		return dst, nil, r.err
	}
	if r.BodyReader != nil {
		if err := c.readBody(r); err != nil {
			return dst, nil, err
		}
	}
	if !ctxIDIsUsers && ctx.Ctx == nil && r.plain() {
		return append(append(dst, tagURL), r.Url...), nil, nil
	}
	e := encoder{codec: c, buf: dst, request: r}
	if err := e.all(ctx, ctxIDIsUsers); err != nil {
		return dst, nil, err
	}
	if e.live != nil {
		live = e.live
	}
	return e.buf, live, nil
}

// encodeURL appends the encoding of NewRequest(url, GET, nil).
func (c *codec) encodeURL(dst []byte, url []byte) []byte {
	return append(append(dst, tagURL), url...)
}

// decode makes a new Context of what encode returned. Its CtxId is empty unless it was stored.
func (c *codec) decode(data []byte, live any) (*Context, error) {
	// Not in one piece: the request may be needed longer than the Context, which has the response.
	r := &Request{Header: make(map[string]string), Method: GET, AllowRedirects: true, MaxRedirects: DefaultMaxRedirects}
	ctx := &Context{Request: r}
	d := decoder{data: data}
	if err := d.request(c, ctx); err != nil {
		return nil, fmt.Errorf("tegenaria: decoding a stored request: %w", err)
	}
	if parts, ok := live.(*liveParts); ok {
		ctx.Ctx = parts.ctx
		r.ResponseWriter = parts.writer
		if parts.parser != nil {
			r.parser = parts.parser
		}
		if len(parts.meta) > 0 {
			if r.Meta == nil {
				r.Meta = make(map[string]any, len(parts.meta))
			}
			maps.Copy(r.Meta, parts.meta)
		}
	}
	return ctx, nil
}

// plain tells whether the URL is all there is to the request.
func (r *Request) plain() bool {
	return r.parser == nil && (!r.named || r.parserName == "") && (r.Method == GET || r.Method == "") &&
		len(r.Header) == 0 && len(r.Body) == 0 && len(r.Params) == 0 && r.Proxy == nil && len(r.Cookies) == 0 &&
		r.Meta == nil && r.ResponseWriter == nil && r.flags() == 0 && r.MaxRedirects == DefaultMaxRedirects &&
		len(r.Redirects) == 0 && r.timeout == 0 && len(r.allowStatus) == 0 && r.slot == "" && r.downloader == "" &&
		r.maxConnsPerHost == 0 && len(r.chain.keys) == 0
}

func (r *Request) flags() (flags byte) {
	for _, f := range [...]struct {
		set bool
		bit byte
	}{
		{!r.AllowRedirects, flagNoRedirects}, {r.doNotFilter, flagDoNotFilter}, {r.spool, flagSpool},
		{r.chain.filtered, flagChainFiltered}, {r.chain.setCookie, flagChainSetCookie}, {r.partial, flagPartial},
	} {
		if f.set {
			flags |= f.bit
		}
	}
	return flags
}

func (r *Request) setFlags(flags byte) {
	r.AllowRedirects = flags&flagNoRedirects == 0
	r.doNotFilter = flags&flagDoNotFilter != 0
	r.spool = flags&flagSpool != 0
	r.partial = flags&flagPartial != 0
	r.chain.filtered = flags&flagChainFiltered != 0
	r.chain.setCookie = flags&flagChainSetCookie != 0
}

// errBodyLimit is the failure of a request body that is too large.
var errBodyLimit = errors.New("the body is larger than the limit")

// readBody reads a request's BodyReader into Body, within the codec's limit.
func (c *codec) readBody(r *Request) error { return r.readBody(c.bodyLimit) }

// readBody reads BodyReader into Body, once. A body above limit bytes fails the request.
func (r *Request) readBody(limit int64) error {
	if r.BodyReader == nil {
		return nil
	}
	var body []byte
	stack, err := protect(func() (err error) {
		body, err = io.ReadAll(io.LimitReader(r.BodyReader, limit+1))
		return err
	})
	if stack != nil {
		err = &stackError{err, stack}
	}
	if err != nil {
		return &RequestError{URL: r.Url, Field: "BodyReader", Err: fmt.Errorf("reading it: %w", err)}
	}
	if int64(len(body)) > limit {
		return &RequestError{URL: r.Url, Field: "BodyReader", Err: fmt.Errorf("%w of %d bytes", errBodyLimit, limit), Remedy: "raise Limits.Body"}
	}
	r.Body, r.BodyReader = body, nil
	return nil
}

// encoder writes one request.
type encoder struct {
	codec   *codec
	buf     []byte
	request *Request
	live    *liveParts // nil while all could be encoded
}

func (e *encoder) all(ctx *Context, ctxIDIsUsers bool) error {
	r := e.request
	if r.Method != GET {
		e.text(tagMethod, r.Method)
	}
	if err := e.parser(); err != nil {
		return err
	}
	e.texts(tagHeader, r.Header)
	if len(r.Body) > 0 {
		e.buf = appendText(append(e.buf, tagBody), r.Body)
	}
	e.texts(tagParams, r.Params)
	if r.Proxy != nil {
		e.buf = appendText(append(e.buf, tagProxy), r.Proxy.ProxyUrl)
	}
	e.texts(tagCookies, r.Cookies)
	if err := e.meta(); err != nil {
		return err
	}
	if flags := r.flags(); flags != 0 {
		e.buf = append(e.buf, tagFlags, flags)
	}
	if r.MaxRedirects != DefaultMaxRedirects {
		e.number(tagMaxRedirects, int64(r.MaxRedirects))
	}
	if len(r.Redirects) > 0 {
		e.count(tagRedirects, len(r.Redirects))
		for _, url := range r.Redirects {
			e.buf = appendText(e.buf, url)
		}
	}
	if r.timeout != 0 {
		e.number(tagTimeout, int64(r.timeout))
	}
	if len(r.allowStatus) > 0 {
		e.count(tagAllowStatus, len(r.allowStatus))
		for _, code := range r.allowStatus {
			e.buf = appendUint(e.buf, code)
		}
	}
	e.text(tagSlot, r.slot)
	e.text(tagDownloader, r.downloader)
	if r.maxConnsPerHost != 0 {
		e.number(tagMaxConns, int64(r.maxConnsPerHost))
	}
	if len(r.chain.keys) > 0 {
		e.count(tagChainKeys, len(r.chain.keys))
		for _, key := range r.chain.keys {
			e.buf = append(e.buf, key[:]...)
		}
	}
	if ctxIDIsUsers {
		e.ctxID(ctx)
	}
	e.buf = append(append(e.buf, tagURL), r.Url...)
	if r.ResponseWriter != nil {
		if err := e.ride("ResponseWriter", errNotStorable, "use RequestWithSpool, or the memory cache"); err != nil {
			return err
		}
		e.live.writer = r.ResponseWriter
	}
	if ctx.Ctx != nil {
		if err := e.ride("WithContext", errNotStorable, "leave it out, or use the memory cache"); err != nil {
			return err
		}
		e.live.ctx = ctx.Ctx
	}
	return nil
}

// errNotStorable is why a durable cache refuses a part of a request.
var errNotStorable = errors.New("a durable cache cannot store it")

// ride lets a part ride in the live part, or refuses it.
func (e *encoder) ride(field string, why error, remedy string) error {
	if e.codec.durable {
		return &RequestError{URL: e.request.Url, Field: field, Err: why, Remedy: remedy}
	}
	if e.live == nil {
		e.live = &liveParts{}
	}
	return nil
}

// parser writes the parser's name, nothing for the spider's own.
func (e *encoder) parser() error {
	r := e.request
	if r.named {
		if _, ok := e.codec.parsers.lookup(r.parserName); !ok {
			return unknownParser(r.Url, r.parserName)
		}
		e.text(tagParser, r.parserName)
		return nil
	}
	name, ok := e.codec.parsers.name(r.parser)
	if ok {
		e.text(tagParser, name)
		return nil
	}
	if err := e.ride("Parser", errNotStorable, "name it with RegisterParser, and pass that very func or RequestWithParserName"); err != nil {
		return err
	}
	e.live.parser = r.parser
	return nil
}

func unknownParser(url, name string) error {
	return &RequestError{URL: url, Field: "Parser", Err: fmt.Errorf("no parser has the name %q", name), Remedy: "register it with RegisterParser"}
}

// ctxID writes a CtxId, in 16 bytes if it is an UUID in its usual form.
func (e *encoder) ctxID(ctx *Context) {
	id := ctx.CtxId
	if id != "" && id == ctx.made.text {
		e.buf = append(append(e.buf, tagUUID), ctx.made.id[:]...)
		return
	}
	if u, err := uuid.Parse(id); err == nil && u.String() == id {
		e.buf = append(append(e.buf, tagUUID), u[:]...)
		return
	}
	e.text(tagCtxID, id)
}
