package httpx

import (
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdWindow is the largest window, and so about the memory, that a zstd body may demand (RFC 9659 §3).
const zstdWindow = 8 << 20

var errBlock = errors.New("a block of a frame ends too early")

// zstdDecoder joins the frames of a zstd body and skips skippable ones (RFC 8878 §3.1). What does not
// start as a frame ends the body.
type zstdDecoder struct {
	pool   *sync.Pool // of *zstd.Decoder
	z      *zstd.Decoder
	frames zstdFrames
	open   bool // a frame
	err    error
}

func (d *zstdDecoder) begin(in *input, window func(int64) error) {
	d.frames.in, d.frames.ask = in, window
	if d.z, _ = d.pool.Get().(*zstd.Decoder); d.z == nil {
		d.z, d.err = zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), // no goroutines
			zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(zstdWindow),
			zstd.WithDecoderMaxMemory(zstdWindow)) // for a frame that is its own window
	}
}

func (d *zstdDecoder) Read(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	for {
		if !d.open {
			if err := d.frames.next(); err != nil {
				return 0, err
			}
			if err := d.z.Reset(&d.frames); err != nil {
				return 0, err
			}
			d.open = true
		}
		n, err := d.z.Read(p)
		switch {
		case errors.Is(err, io.EOF) && !d.frames.complete():
			err = errBlock
		case errors.Is(err, io.EOF):
			d.open = false
			if n == 0 {
				continue
			}
			err = nil
		case errors.Is(err, io.ErrUnexpectedEOF) && d.frames.complete():
			err = errBlock // the library says the same of a cut body
		}
		return n, err
	}
}

func (d *zstdDecoder) end(clean bool, _ int64) {
	switch {
	case d.z == nil:
	case clean && d.frames.window <= keepable && d.z.Reset(nil) == nil:
		d.pool.Put(d.z)
	default:
		d.z.Close()
	}
}

// zstdFrames gives one frame at a time to the decoder, which would read on into whatever follows and could
// not tell a broken frame from other bytes. It walks over the blocks without looking into them.
type zstdFrames struct {
	in     *input
	seen   bool   // a frame
	window uint64 // the largest
	ask    func(bytes int64) error

	left   int // bytes of the frame that are known to be there
	blocks bool
	sum    bool
}

// frameHead is the longest frame header, magic number included (RFC 8878 §3.1.1.1).
const frameHead = 4 + 14

// next goes to the start of the next frame. It returns io.EOF if none follows.
func (f *zstdFrames) next() error {
	const magic = "\x28\xb5\x2f\xfd" // RFC 8878 §3.1.1
	for {
		head, err := f.in.Peek(frameHead)
		if len(head) == 0 {
			return err
		}
		var h zstd.Header
		switch bad := h.Decode(head); {
		case errors.Is(bad, io.ErrUnexpectedEOF):
			if f.seen && len(head) < len(magic) && !strings.HasPrefix(magic, string(head)) {
				return io.EOF
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return err
			}
			return bad
		case errors.Is(bad, zstd.ErrMagicMismatch) && f.seen:
			return io.EOF
		case bad != nil:
			return bad
		}
		f.seen = true
		if !h.Skippable {
			window := h.WindowSize
			if h.SingleSegment {
				window = max(window, h.FrameContentSize)
			}
			if window > f.window && window <= zstdWindow {
				if err := f.ask(int64(window - f.window)); err != nil {
					return err
				}
			}
			f.window = max(f.window, window)
			f.left, f.blocks, f.sum = h.HeaderSize, true, h.HasCheckSum
			return nil
		}
		for skip := int64(h.HeaderSize) + int64(h.SkippableSize); skip > 0; {
			n, err := f.in.Discard(int(min(skip, 1<<20)))
			if err != nil {
				return unexpected(err)
			}
			skip -= int64(n)
		}
	}
}

// complete says whether the frame was read to its end.
func (f *zstdFrames) complete() bool { return f.left == 0 && !f.blocks }

// Read reads the frame.
func (f *zstdFrames) Read(p []byte) (int, error) {
	if f.left == 0 {
		if !f.blocks {
			return 0, io.EOF
		}
		head, err := f.in.Peek(3)
		if err != nil {
			return 0, unexpected(err)
		}
		f.block(head)
	}
	n, err := f.in.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, unexpected(err)
}

// block takes in the header of a block (RFC 8878 §3.1.1.2).
func (f *zstdFrames) block(head []byte) {
	const rle = 1
	bits := int(head[0]) | int(head[1])<<8 | int(head[2])<<16
	f.left = len(head) + bits>>3
	if bits>>1&3 == rle {
		f.left = len(head) + 1
	}
	if f.blocks = bits&1 == 0; !f.blocks && f.sum {
		f.left += 4
	}
}
