package tegenaria

import (
	"encoding/binary"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// The values of fields: numbers are varints, texts are preceded by their length, lists and maps by the
// number of their elements. Maps are written in the order of their keys, so that equal requests have
// equal encodings.

func appendUint(dst []byte, v uint64) []byte { return binary.AppendUvarint(dst, v) }

func appendText[S []byte | string](dst []byte, s S) []byte {
	return append(appendUint(dst, uint64(len(s))), s...)
}

// text writes a field unless it is empty.
func (e *encoder) text(tag byte, s string) {
	if s != "" {
		e.buf = appendText(append(e.buf, tag), s)
	}
}

func (e *encoder) number(tag byte, v int64) {
	e.buf = binary.AppendVarint(append(e.buf, tag), v)
}

func (e *encoder) count(tag byte, n int) {
	e.buf = appendUint(append(e.buf, tag), uint64(n))
}

// texts writes a map unless it is empty.
func (e *encoder) texts(tag byte, m map[string]string) {
	if len(m) == 0 {
		return
	}
	e.count(tag, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		e.buf = appendText(appendText(e.buf, k), m[k])
	}
}

// errMalformed is the error of bytes that no encoder wrote.
var errMalformed = errors.New("malformed encoding")

// decoder reads an encoding. After the first mistake it reads zero values only; err says what was
// wrong. It never allocates more than a small multiple of the bytes it was given.
type decoder struct {
	data []byte // what is left to read
	err  error
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = errMalformed
	}
	d.data = nil
}

func (d *decoder) take(n uint64) []byte {
	if n > uint64(len(d.data)) {
		d.fail()
		return nil
	}
	taken := d.data[:n]
	d.data = d.data[n:]
	return taken
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// count reads a number of elements, each of which takes at least size bytes.
func (d *decoder) count(size int) int {
	n := d.uint()
	if n > uint64(len(d.data)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte { return d.take(d.uint()) }

func (d *decoder) text() string { return string(d.bytes()) }

func (d *decoder) texts() map[string]string {
	n := d.count(2)
	m := make(map[string]string, n)
	for range n {
		k := d.text()
		m[k] = d.text()
	}
	return m
}

// request reads the whole encoding into ctx and its request.
func (d *decoder) request(c *codec, ctx *Context) error {
	r := ctx.Request
	last := tagURL
	for {
		tag := d.byte()
		if d.err != nil {
			return d.err
		}
		if tag == tagURL {
			r.Url = string(d.data)
			return nil
		}
		if tag <= last {
			return errMalformed
		}
		last = tag
		if err := d.field(c, tag, ctx); err != nil {
			return err
		}
	}
}

// field reads the value of one field.
func (d *decoder) field(c *codec, tag byte, ctx *Context) error {
	r := ctx.Request
	switch tag {
	case tagMethod:
		r.Method = d.text()
	case tagParser:
		r.parserName, r.named = d.text(), true
		parser, ok := c.parsers.lookup(r.parserName)
		if !ok && d.err == nil && !c.inspect {
			return unknownParser(r.Url, r.parserName)
		}
		r.parser = parser
	case tagHeader:
		r.Header = d.texts()
	case tagBody:
		r.Body = slices.Clone(d.bytes())
	case tagParams:
		r.Params = d.texts()
	case tagProxy:
		r.Proxy = &Proxy{ProxyUrl: d.text()}
	case tagCookies:
		r.Cookies = d.texts()
	case tagMeta:
		return d.meta(c, r)
	case tagFlags:
		r.setFlags(d.byte())
	case tagMaxRedirects:
		r.MaxRedirects = int(d.int())
	case tagRedirects:
		r.Redirects = make([]string, d.count(1))
		for i := range r.Redirects {
			r.Redirects[i] = d.text()
		}
	case tagTimeout:
		r.timeout = time.Duration(d.int())
	case tagAllowStatus:
		r.allowStatus = make([]uint64, d.count(1))
		for i := range r.allowStatus {
			r.allowStatus[i] = d.uint()
		}
	case tagSlot:
		r.slot = d.text()
	case tagDownloader:
		r.downloader = d.text()
	case tagMaxConns:
		r.maxConnsPerHost = int(d.int())
	case tagChainKeys:
		r.chain.keys = make([]Key, d.count(len(Key{})))
		for i := range r.chain.keys {
			copy(r.chain.keys[i][:], d.take(uint64(len(Key{}))))
		}
	case tagUUID:
		if b := d.take(16); b != nil {
			ctx.CtxId = uuid.UUID(b).String()
		}
	case tagCtxID:
		ctx.CtxId = d.text()
	default:
		return errMalformed
	}
	return d.err
}
