package tegenaria

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/tegenaria/tegenaria/internal/errtext"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// codec turns a request into the bytes that a cache stores, and back. The fields that a [Record] has are not encoded:
// priority, depth, attempt, slot, NotBefore.
//
// A codec is safe for concurrent use.
type codec struct {
	durable   bool         // nothing may ride in the live part
	parsers   *parserTable // names parsers
	values    wire.Values  // writes Meta; with Raw parsers need not be known, for programs that only look
	bodyLimit int64        // for BodyReader, in bytes
	names     string       // the method that names a parser, as users write it
}

// liveParts are the parts of a request that cannot be encoded and are kept as they are in a memory cache.
type liveParts struct {
	ctx    context.Context
	writer io.Writer
	parser Parser
	meta   map[string]any
}

// encode appends the encoding of ctx's request to dst. BodyReader is read into Body first. live has the parts that
// cannot be encoded, nil if there are none; a durable codec refuses them with a [*RequestError].
// The CtxId is stored only if it is the user's.
func (c *codec) encode(dst []byte, ctx *Context, ctxIDIsUsers bool) (data []byte, live any, err error) {
	r := ctx.Request
	if err := r.extras().err; err != nil {
		return dst, nil, err
	}
	if err := r.readBody(c.bodyLimit); err != nil {
		return dst, nil, err
	}
	if ctx.Ctx == nil && (!ctxIDIsUsers || ctx.hasOwnID()) && r.plain() {
		name, ok := "", r.parser == nil && (!r.named || r.parserName == "")
		if !ok {
			name, ok = c.nameOf(r)
		}
		switch {
		case ok && !ctxIDIsUsers:
			return wire.AppendNamed(dst, name, r.Url), nil, nil
		case ok:
			return wire.AppendMarked(dst, name, ctx.made, r.Url), nil, nil
		}
	}
	e := encoder{codec: c, request: r}
	data, err = e.append(dst, ctx, ctxIDIsUsers)
	if err != nil || e.live == nil {
		return data, nil, err
	}
	return data, e.live, nil
}

// Request decodes the stored request, for programs that look into a job: it has no parser, and values of
// types that EngineWithMetaType names are [encoding/json.RawMessage]s. Priority, Depth and Attempt are the record's.
func (r *Record) Request() (*Request, error) {
	ctx, err := (&codec{parsers: &parserTable{}, values: wire.Values{Raw: true}}).decode(r.Data, nil)
	if err != nil {
		return nil, err
	}
	ctx.Request.Priority, ctx.Request.Depth, ctx.Request.Attempt = r.Priority, r.Depth, r.Attempt
	return ctx.Request, nil
}

// requestOf returns a copy of a request as it was accepted, which no other code has; nil if there is none. What user
// code that was given up has in its hands it may still be writing to.
func (c *codec) requestOf(rec *Record) *Request {
	ctx, err := c.decode(rec.Data, rec.Live)
	if err != nil { // it was decoded before
		return nil
	}
	r := ctx.Request
	r.Priority, r.Depth, r.Attempt, r.parent = rec.Priority, rec.Depth, rec.Attempt, rec.parentPage()
	return r
}

// decode makes a new Context of the results of encode. Its CtxId is empty unless it was stored.
func (c *codec) decode(data []byte, live any) (ctx *Context, err error) {
	// Not in one piece: the request may be needed longer than the Context, which has the response.
	r := &Request{Header: make(map[string]string), Method: GET, AllowRedirects: true, MaxRedirects: DefaultMaxRedirects}
	ctx = &Context{Request: r}
	if parser, url, plain := wire.IsPlain(data); plain {
		r.Url = string(url)
		if len(parser) > 0 {
			err = c.setParser(r, string(parser))
		}
	} else {
		err = c.read(data, ctx)
	}
	if err != nil {
		return nil, errtext.Failed("decoding a stored request", "", "", err)
	}
	if parts, ok := live.(*liveParts); ok {
		ctx.Ctx = parts.ctx
		r.ResponseWriter = parts.writer
		if parts.parser != nil {
			r.parser = parts.parser
		}
		if len(parts.meta) > 0 {
			merge(&r.Meta, parts.meta)
		}
	}
	return ctx, nil
}

// plain reports whether the URL and the parser are all there is to the request.
func (r *Request) plain() bool {
	return (r.Method == GET || r.Method == "") && !r.extras().stored() &&
		len(r.Header) == 0 && len(r.Body) == 0 && len(r.Params) == 0 && r.Proxy == nil && len(r.Cookies) == 0 &&
		r.Meta == nil && r.ResponseWriter == nil && r.flags() == wire.Flags{} && r.MaxRedirects == DefaultMaxRedirects &&
		len(r.Redirects) == 0
}

func (r *Request) flags() wire.Flags {
	chain := &r.extras().chain
	return wire.Flags{
		NoRedirects: !r.AllowRedirects, DoNotFilter: r.doNotFilter, Spool: r.spool, Partial: r.partial,
		ChainFiltered: chain.Filtered, ChainSetCookie: chain.SetCookie,
	}
}

// encoder writes one request that is more than a plain GET.
type encoder struct {
	codec   *codec
	request *Request
	live    *liveParts // nil while all could be encoded
}

func (e *encoder) append(dst []byte, ctx *Context, ctxIDIsUsers bool) ([]byte, error) {
	r := e.request
	parser, err := e.parser()
	if err != nil {
		return dst, err
	}
	x := r.extras()
	w := wire.Request{
		URL: r.Url, Method: r.Method, Parser: parser, Header: r.Header, Body: r.Body, Params: r.Params,
		Cookies: r.Cookies, Meta: r.Meta,
		Flags: r.flags(), MaxRedirects: r.MaxRedirects, Redirects: r.Redirects, Chain: x.chain.Keys, Extras: x.Extras,
	}
	if r.Proxy != nil {
		w.Proxy = &r.Proxy.ProxyUrl
	}
	if ctxIDIsUsers {
		if w.CtxID = ctx.CtxId; ctx.hasOwnID() {
			w.UUID = ctx.made
		}
	}
	data, err := w.Append(dst, &e.codec.values, e.unfit)
	if err != nil {
		return dst, err
	}
	if r.ResponseWriter != nil {
		if err := e.ride("ResponseWriter", errNotStorable, "use RequestWithSpool, or the memory cache"); err != nil {
			return dst, err
		}
		e.live.writer = r.ResponseWriter
	}
	if ctx.Ctx != nil {
		if err := e.ride("WithContext", errNotStorable, "leave it out, or use the memory cache"); err != nil {
			return dst, err
		}
		e.live.ctx = ctx.Ctx
	}
	return data, nil
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

// unfit lets a value of Meta that cannot be encoded ride in the live part, or refuses it.
func (e *encoder) unfit(key string, why error) error {
	if err := e.ride("Meta["+key+"]", why, "name its type with EngineWithMetaType, or use the memory cache"); err != nil {
		return err
	}
	if e.live.meta == nil {
		e.live.meta = make(map[string]any)
	}
	e.live.meta[key] = e.request.Meta[key]
	return nil
}

// parser returns the parser's name, "" for the spider's own.
func (e *encoder) parser() (string, error) {
	r := e.request
	if name, ok := e.codec.nameOf(r); ok {
		return name, nil
	}
	if r.named {
		return "", e.codec.unknownParser(r.Url, r.parserName)
	}
	if e.codec.durable {
		return "", unnamedParser(r, e.codec.names)
	}
	if err := e.ride("Parser", nil, ""); err != nil {
		return "", err
	}
	e.live.parser = r.parser
	return "", nil
}

// nameOf returns the name by which r's parser is stored, "" for the spider's own.
func (c *codec) nameOf(r *Request) (name string, ok bool) {
	if !r.named {
		name, ok = c.parsers.Name(r.parser)
		if !ok && c.durable { // in memory a method keeps the receiver that it was passed with
			name, ok = c.parsers.NameOfMethod(r.parser)
		}
		return name, ok
	}
	_, ok = c.parsers.Lookup(r.parserName)
	return r.parserName, ok
}

// setParser gives r the parser that has a name; "" leaves it the spider's own.
func (c *codec) setParser(r *Request, name string) error {
	if name == "" {
		return nil
	}
	parser, ok := c.parsers.Lookup(name)
	if !ok && !c.values.Raw {
		return c.unknownParser(r.Url, name)
	}
	r.parser, r.parserName, r.named = parser, name, true
	return nil
}

func (c *codec) unknownParser(url, name string) *RequestError {
	err := fmt.Errorf("no parser has the name %q", name)
	if known := c.parsers.Names(); len(known) > 0 {
		err = fmt.Errorf("%w, there are %q", err, known)
	}
	return &RequestError{URL: url, Field: "Parser", Err: err, Remedy: "name it with " + c.names}
}

// read reads an encoding into ctx and its request.
func (c *codec) read(data []byte, ctx *Context) error {
	r := ctx.Request
	w := wire.Request{Method: r.Method, Header: r.Header, MaxRedirects: r.MaxRedirects}
	if err := w.Read(data, &c.values); err != nil {
		if unknown := (*wire.UnknownTypeError)(nil); errors.As(err, &unknown) {
			err = fmt.Errorf("a value of Meta has the type %q, which is unknown; name it with EngineWithMetaType",
				unknown.Name)
		}
		return err
	}
	r.Url, r.Method, r.Header, r.Body, r.Params, r.Cookies, r.Meta = w.URL, w.Method, w.Header, w.Body, w.Params,
		w.Cookies, w.Meta
	r.MaxRedirects, r.Redirects = w.MaxRedirects, w.Redirects
	r.AllowRedirects, r.doNotFilter, r.spool, r.partial = !w.Flags.NoRedirects, w.Flags.DoNotFilter, w.Flags.Spool,
		w.Flags.Partial
	x := extras{Extras: w.Extras, chain: identity.Chain{Filtered: w.Flags.ChainFiltered, Keys: w.Chain,
		SetCookie: w.Flags.ChainSetCookie}}
	if x.stored() {
		r.few = &x
	}
	if w.Proxy != nil {
		r.Proxy = &Proxy{ProxyUrl: *w.Proxy}
	}
	if err := c.setParser(r, w.Parser); err != nil {
		return err
	}
	ctx.CtxId = w.CtxID
	return nil
}
