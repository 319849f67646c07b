package httpx

import (
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
)

// What decoders hold is large and takes long to make, so it is lent. None of it reaches the user.
var gzips, zlibs, flates, brotlis sync.Pool

// Decoders makes readers of bodies that use one another's zstd decoders again. They are lent among the readers of one
// Decoders only: a zstd decoder has a channel, and one that was made in a bubble of testing/synctest is fatal in another
// bubble. The zero value is ready. Its methods may be called concurrently; it must not be copied.
type Decoders struct{ zstds sync.Pool }

// keepable is the number of decoded bytes, and the window, up to which a decoder is lent again: the
// others hold windows of up to 16 MiB.
const keepable = 2 << 20

// identity is the lack of a coding.
type identity struct{ io.Reader }

func (d *identity) begin(in *input, _ func(int64) error) { d.Reader = in.Reader }
func (d *identity) end(_ bool, _ int64)                  {}

// gzipDecoder joins the members of a gzip body (RFC 1952 §2.2). The RFC knows nothing of other bytes
// behind a member; what does not start as one ends the body, as in browsers and the gzip command.
type gzipDecoder struct {
	in   *input
	z    *gzip.Reader
	open bool // a member
}

func (d *gzipDecoder) begin(in *input, _ func(int64) error) {
	d.in = in
	if d.z, _ = gzips.Get().(*gzip.Reader); d.z == nil {
		d.z = new(gzip.Reader)
	}
}

func (d *gzipDecoder) Read(p []byte) (int, error) {
	for {
		if !d.open {
			if err := d.z.Reset(d.in.Reader); err != nil {
				return 0, unexpected(err)
			}
			d.z.Multistream(false)
			d.open = true
		}
		n, err := d.z.Read(p)
		if !errors.Is(err, io.EOF) {
			return n, err
		}
		d.open = false
		if err := d.another(); err != nil || n > 0 {
			return n, err
		}
	}
}

// another returns nil if one more member follows.
func (d *gzipDecoder) another() error {
	const magic = "\x1f\x8b\x08" // ID1, ID2 and CM of RFC 1952 §2.3.1
	switch head, err := d.in.Peek(len(magic)); {
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(head) == 0 || !strings.HasPrefix(magic, string(head)):
		return io.EOF
	}
	return nil
}

func (d *gzipDecoder) end(clean bool, _ int64) {
	if clean && d.z != nil {
		gzips.Put(d.z)
	}
}

// deflateDecoder reads what RFC 9110 §8.4.1.2 calls deflate, the zlib format (RFC 1950), and what some
// servers send in its place, a bare deflate stream (RFC 1951); the note there knows them.
type deflateDecoder struct {
	in   *input
	z    io.ReadCloser
	bare bool
	err  error // of the first two bytes
}

func (d *deflateDecoder) begin(in *input, _ func(int64) error) {
	d.in = in
	head, _ := in.Peek(2)
	if d.bare = !isZlib(head); d.bare {
		d.z, d.err = reuse(&flates, in)
		if d.z == nil {
			d.z = flate.NewReader(in.Reader)
		}
		return
	}
	d.z, d.err = reuse(&zlibs, in)
	if d.z == nil {
		d.z, d.err = zlib.NewReader(in.Reader)
	}
}

// isZlib tells a zlib header (RFC 1950 §2.2) from the start of a bare stream. One that starts so is a
// stored block behind padding that is not zero, which no encoder makes.
func isZlib(head []byte) bool {
	if len(head) == 0 || head[0]&0x0f != 8 || head[0]>>4 > 7 {
		return false
	}
	return len(head) == 1 || (int(head[0])<<8|int(head[1]))%31 == 0
}

// reuse takes a flate or zlib reader from a pool, nil if there is none.
func reuse(pool *sync.Pool, in *input) (io.ReadCloser, error) {
	z, _ := pool.Get().(io.ReadCloser)
	if z == nil {
		return nil, nil
	}
	r, ok := z.(flate.Resetter) // zlib.Resetter is the same
	if !ok {
		return nil, nil
	}
	return z, r.Reset(in.Reader, nil)
}

func (d *deflateDecoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, unexpected(d.err)
	}
	return d.z.Read(p)
}

func (d *deflateDecoder) end(clean bool, _ int64) {
	switch {
	case !clean || d.z == nil:
	case d.bare:
		flates.Put(d.z)
	default:
		zlibs.Put(d.z)
	}
}

// brotliDecoder reads a brotli stream (RFC 7932), which says itself where it ends. Large windows, an
// extension, are refused by the library.
type brotliDecoder struct {
	z      *brotli.Reader
	denied error
}

func (d *brotliDecoder) begin(in *input, window func(int64) error) {
	head, _ := in.Peek(1)
	if d.denied = window(brotliWindow(head)); d.denied != nil {
		return
	}
	if d.z, _ = brotlis.Get().(*brotli.Reader); d.z == nil {
		d.z = brotli.NewReader(in.Reader)
		return
	}
	_ = d.z.Reset(in.Reader) // documented to be nil
}

// excess is the error that the library has for bytes behind a stream but does not export.
var excess = sync.OnceValue(func() error {
	const empty = "\x06"
	_, err := brotli.NewReader(strings.NewReader(empty + "x")).Read(make([]byte, 1))
	return err
})

// brotliWindow is the size of the window that a stream's first byte declares (RFC 7932 §9.1). The decoder takes less for
// a small body.
func brotliWindow(head []byte) int64 {
	if len(head) == 0 {
		return 0
	}
	switch long, short := head[0]>>1&7, head[0]>>4&7; {
	case head[0]&1 == 0:
		return 1 << 16
	case long > 0:
		return 1 << (17 + long)
	case short > 1:
		return 1 << (8 + short)
	}
	return 1 << 17
}

func (d *brotliDecoder) Read(p []byte) (int, error) {
	if d.denied != nil {
		return 0, d.denied
	}
	n, err := d.z.Read(p)
	if err != nil && errors.Is(err, excess()) {
		err = io.EOF
	}
	return n, err
}

func (d *brotliDecoder) end(clean bool, out int64) {
	if clean && d.z != nil && out <= keepable {
		brotlis.Put(d.z)
	}
}

// unexpected turns the end of the input into one that comes too early.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
