// Package wire writes the fields of a request, and the values that user code attaches to one, as bytes, and reads them
// back. Durable caches keep these bytes for years: every later version must be able to read them.
//
//	Request → Append → bytes → Read → Request
//	value → Values.Append → its type, then the value → Values.Read → a value of the same type
//
// A short example:
//
//	r := wire.Request{URL: "http://a.example/", Method: "POST", Body: []byte("q=1"), MaxRedirects: 10}
//	data, err := r.Append(nil, &wire.Values{}, refuse)
//	…
//	back := wire.Request{Method: wire.DefaultMethod, MaxRedirects: wire.DefaultMaxRedirects}
//	err = back.Read(data, &wire.Values{})
//
// The package does no input or output and keeps nothing: all of it is safe for concurrent use.
package wire

import (
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The tags are stored: a tag is never used again for anything else.
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
	tagChain
	tagUUID // a CtxID that is an UUID in its usual form
	tagCtxID
	tagData // the name of a type, and JSON
	tagVariant
	tagSession
)

// The defaults of two fields. A field that has its default takes no bytes.
const (
	DefaultMethod       = "GET"
	DefaultMaxRedirects = 10
)

// Request is the stored part of a request. The encoding is a list of fields, each a tag followed by its value, in
// ascending order of tags; tag 0 ends the list, and the rest is the URL. So a plain GET costs its URL and one byte.
type Request struct {
	URL          string
	Method       string // "" = DefaultMethod
	Parser       string // name; "" = none
	Header       map[string]string
	Body         []byte
	Params       map[string]string
	Proxy        *string // nil = none
	Cookies      map[string]string
	Meta         map[string]any // nil = none, which differs from an empty one
	Flags        Flags
	MaxRedirects int // its default is DefaultMaxRedirects
	Redirects    []string
	Chain        [][16]byte // keys
	CtxID        string     // "" = none
	UUID         uuid.UUID  // stored instead of CtxID, of which it is the value, unless it is zero
	Extras
}

// Extras are the fields that few requests have. A zero field takes no bytes.
type Extras struct {
	Timeout     time.Duration
	AllowStatus []uint64
	Slot        string
	Downloader  string
	MaxConns    int
	Data        *Datum // nil = none
	Variant     string
	Session     string
}

// IsZero reports whether no field is set.
func (x *Extras) IsZero() bool {
	return x.Timeout == 0 && len(x.AllowStatus) == 0 && x.Slot == "" && x.Downloader == "" && x.MaxConns == 0 && x.Data == nil &&
		x.Variant == "" && x.Session == ""
}

// AppendPlain appends the encoding of a request that has only its URL.
func AppendPlain[S []byte | string](dst []byte, url S) []byte {
	return append(append(dst, tagURL), url...)
}

// AppendNamed appends the encoding of a request that has only its URL and the name of its parser.
func AppendNamed(dst []byte, parser, url string) []byte {
	if parser != "" {
		dst = AppendText(append(dst, tagParser), parser)
	}
	return AppendPlain(dst, url)
}

// AppendMarked is AppendNamed for a request that has a CtxID too, which is an UUID and not the zero one.
func AppendMarked(dst []byte, parser string, id uuid.UUID, url string) []byte {
	if parser != "" {
		dst = AppendText(append(dst, tagParser), parser)
	}
	return AppendPlain(append(append(dst, tagUUID), id[:]...), url)
}

// Append appends the encoding of r to dst. Where a value of Meta cannot be stored unfit is asked: it returns nil to
// leave that value out, or the error with which Append ends; then dst is returned as it was.
func (r *Request) Append(dst []byte, values *Values, unfit func(key string, err error) error) ([]byte, error) {
	w := writer{buf: dst}
	if r.Method != DefaultMethod {
		w.text(tagMethod, r.Method)
	}
	w.text(tagParser, r.Parser)
	w.texts(tagHeader, r.Header)
	if len(r.Body) > 0 {
		w.buf = AppendText(append(w.buf, tagBody), r.Body)
	}
	w.texts(tagParams, r.Params)
	if r.Proxy != nil {
		w.buf = AppendText(append(w.buf, tagProxy), *r.Proxy)
	}
	w.texts(tagCookies, r.Cookies)
	if err := w.meta(r.Meta, values, unfit); err != nil {
		return dst, err
	}
	if flags := r.Flags.bits(); flags != 0 {
		w.buf = append(w.buf, tagFlags, flags)
	}
	if r.MaxRedirects != DefaultMaxRedirects {
		w.number(tagMaxRedirects, int64(r.MaxRedirects))
	}
	if len(r.Redirects) > 0 {
		w.count(tagRedirects, len(r.Redirects))
		for _, url := range r.Redirects {
			w.buf = AppendText(w.buf, url)
		}
	}
	if r.Timeout != 0 {
		w.number(tagTimeout, int64(r.Timeout))
	}
	if len(r.AllowStatus) > 0 {
		w.count(tagAllowStatus, len(r.AllowStatus))
		for _, code := range r.AllowStatus {
			w.buf = AppendUint(w.buf, code)
		}
	}
	w.text(tagSlot, r.Slot)
	w.text(tagDownloader, r.Downloader)
	if r.MaxConns != 0 {
		w.number(tagMaxConns, int64(r.MaxConns))
	}
	if len(r.Chain) > 0 {
		w.count(tagChain, len(r.Chain))
		for _, key := range r.Chain {
			w.buf = append(w.buf, key[:]...)
		}
	}
	w.ctxID(r)
	if r.Data != nil {
		w.buf = AppendText(AppendText(append(w.buf, tagData), r.Data.Type), r.Data.JSON)
	}
	w.text(tagVariant, r.Variant)
	w.text(tagSession, r.Session)
	return AppendPlain(w.buf, r.URL), nil
}

// writer writes the fields of one request.
type writer struct{ buf []byte }

// text writes a field unless it is empty.
func (w *writer) text(tag byte, s string) {
	if s != "" {
		w.buf = AppendText(append(w.buf, tag), s)
	}
}

func (w *writer) number(tag byte, v int64) {
	w.buf = binary.AppendVarint(append(w.buf, tag), v)
}

func (w *writer) count(tag byte, n int) {
	w.buf = AppendUint(append(w.buf, tag), uint64(n))
}

// texts writes a map unless it is empty.
func (w *writer) texts(tag byte, m map[string]string) {
	if len(m) > 0 {
		w.buf = appendTexts(append(w.buf, tag), m)
	}
}

// ctxID writes a CtxID, in 16 bytes if it is an UUID in its usual form.
func (w *writer) ctxID(r *Request) {
	id := r.UUID
	if id == (uuid.UUID{}) {
		if r.CtxID == "" {
			return
		}
		parsed, err := uuid.Parse(r.CtxID)
		if err != nil || parsed.String() != r.CtxID {
			w.text(tagCtxID, r.CtxID)
			return
		}
		id = parsed
	}
	w.buf = append(append(w.buf, tagUUID), id[:]...)
}

// meta writes those values of Meta that can be stored.
func (w *writer) meta(meta map[string]any, values *Values, unfit func(key string, err error) error) error {
	if meta == nil {
		return nil
	}
	start := len(w.buf)
	w.count(tagMeta, len(meta))
	written := 0
	for _, k := range slices.Sorted(maps.Keys(meta)) {
		before := len(w.buf)
		buf, err := values.Append(AppendText(w.buf, k), meta[k])
		if err == nil {
			w.buf = buf
			written++
			continue
		}
		w.buf = w.buf[:before]
		if err := unfit(k, err); err != nil {
			return err
		}
	}
	if written < len(meta) { // the number at the beginning was too large
		rest := slices.Clone(w.buf[start+1+len(AppendUint(nil, uint64(len(meta)))):])
		w.buf = append(AppendUint(w.buf[:start+1], uint64(written)), rest...)
	}
	return nil
}

// Read reads an encoding into r: fields that the encoding does not have keep their values. The error is [ErrMalformed], an
// [*UnknownTypeError], or that of a value which does not decode.
func (r *Request) Read(data []byte, values *Values) error {
	d := Decoder{Rest: data}
	last := tagURL
	for {
		tag := d.Byte()
		if d.err != nil {
			return d.err
		}
		if tag == tagURL {
			r.URL = string(d.Rest)
			return nil
		}
		if tag <= last {
			return ErrMalformed
		}
		last = tag
		if err := r.field(tag, &d, values); err != nil {
			return err
		}
	}
}

// field reads the value of one field.
func (r *Request) field(tag byte, d *Decoder, values *Values) (err error) {
	switch tag {
	case tagMethod:
		r.Method = d.Text()
	case tagParser:
		r.Parser = d.Text()
	case tagHeader:
		r.Header = d.texts()
	case tagBody:
		r.Body = slices.Clone(d.bytes())
	case tagParams:
		r.Params = d.texts()
	case tagProxy:
		proxy := d.Text()
		r.Proxy = &proxy
	case tagCookies:
		r.Cookies = d.texts()
	case tagMeta:
		r.Meta, err = readMeta(d, values)
	case tagFlags:
		r.Flags = flagsOf(d.Byte())
	case tagMaxRedirects:
		r.MaxRedirects = int(d.Int())
	case tagRedirects:
		r.Redirects = make([]string, d.count(1))
		for i := range r.Redirects {
			r.Redirects[i] = d.Text()
		}
	case tagTimeout:
		r.Timeout = time.Duration(d.Int())
	case tagAllowStatus:
		r.AllowStatus = make([]uint64, d.count(1))
		for i := range r.AllowStatus {
			r.AllowStatus[i] = d.Uint()
		}
	case tagSlot:
		r.Slot = d.Text()
	case tagDownloader:
		r.Downloader = d.Text()
	case tagMaxConns:
		r.MaxConns = int(d.Int())
	case tagChain:
		r.Chain = make([][16]byte, d.count(16))
		for i := range r.Chain {
			copy(r.Chain[i][:], d.Take(16))
		}
	case tagUUID:
		if b := d.Take(16); b != nil {
			r.CtxID = uuid.UUID(b).String()
		}
	case tagCtxID:
		r.CtxID = d.Text()
	case tagData:
		r.Data = &Datum{Type: d.Text(), JSON: slices.Clone(d.bytes())}
	case tagVariant:
		r.Variant = d.Text()
	case tagSession:
		r.Session = d.Text()
	default:
		return ErrMalformed
	}
	if err != nil {
		return err
	}
	return d.err
}

// IsPlain reports whether data was written by [AppendPlain] or [AppendNamed], and returns the name of the parser and the
// URL. They are parts of data.
func IsPlain(data []byte) (parser, url []byte, plain bool) {
	if len(data) > 0 && data[0] == tagParser {
		d := Decoder{Rest: data[1:]}
		parser = d.bytes()
		data = d.Rest
	}
	if len(data) == 0 || data[0] != tagURL {
		return nil, nil, false
	}
	return parser, data[1:], true
}

func readMeta(d *Decoder, values *Values) (map[string]any, error) {
	n := d.count(2)
	meta := make(map[string]any, n)
	for range n {
		k := d.Text()
		v, err := values.Read(d)
		if err != nil {
			return nil, err
		}
		meta[k] = v
	}
	return meta, d.err
}
