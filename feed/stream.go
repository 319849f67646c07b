package feed

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/zstd"
)

// compression is how the bytes of a file are packed.
type compression uint8

const (
	uncompressed compression = iota
	gzipped
	zstandard
)

// stream packs what is written to it, so that the bytes can be cut after each flush and ended there: a file is whole at any time.
type stream interface {
	// write packs p. What comes of it may be kept back until flush.
	write(p []byte) error
	// flush gives out all that was written.
	flush() error
	// packed returns the bytes that were given out since it was called last. They are valid until the next call of a method.
	packed() []byte
	// isDirty reports whether something was written that was not flushed.
	isDirty() bool
	// ending returns what has to follow after a flush to end the stream there, behind some more text.
	ending(more []byte) []byte
	// state returns what is needed to make an ending later.
	state() streamState
	// resume has the stream go on in a new member, behind the ending of an earlier one: it returns that.
	resume(s streamState) []byte
}

// streamState is stored: a field keeps its meaning.
type streamState struct {
	Begun bool   `json:"begun,omitempty"` // the stream has given out bytes
	CRC   uint32 `json:"crc,omitempty"`   // CRC-32 of the text, of gzip
	Size  uint32 `json:"size,omitempty"`  // of the text in bytes, modulo 1<<32, of gzip
}

func newStream(c compression) stream {
	switch c {
	case gzipped:
		return newGzipStream()
	case zstandard:
		return newZstdStream()
	}
	return &plainStream{}
}

// plainStream packs nothing.
type plainStream struct{ buf []byte }

func (s *plainStream) write(p []byte) error { s.buf = append(s.buf, p...); return nil }
func (s *plainStream) flush() error         { return nil }
func (s *plainStream) isDirty() bool        { return true }

func (s *plainStream) packed() []byte {
	p := s.buf
	s.buf = s.buf[:0]
	return p
}

func (s *plainStream) ending(more []byte) []byte { return more }
func (s *plainStream) state() streamState        { return streamState{} }
func (s *plainStream) resume(streamState) []byte { return nil }

// gzipStream writes members of gzip (RFC 1952).
type gzipStream struct {
	streamState
	out   bytes.Buffer
	w     *flate.Writer
	dirty bool
}

// The header of a member: deflate, no name, no time, an unknown system.
const gzipHeader = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"

func newGzipStream() *gzipStream {
	s := &gzipStream{}
	s.w, _ = flate.NewWriter(&s.out, flate.DefaultCompression) // the level is right
	return s
}

func (s *gzipStream) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if !s.Begun {
		s.Begun = true
		s.out.WriteString(gzipHeader)
	}
	s.dirty = true
	s.CRC = crc32.Update(s.CRC, crc32.IEEETable, p)
	s.Size += uint32(len(p))
	_, err := s.w.Write(p)
	return err
}

func (s *gzipStream) flush() error {
	if !s.dirty {
		return nil
	}
	s.dirty = false
	return s.w.Flush()
}

func (s *gzipStream) packed() []byte {
	p := bytes.Clone(s.out.Bytes())
	s.out.Reset()
	return p
}

func (s *gzipStream) isDirty() bool { return s.dirty }

func (s *gzipStream) ending(more []byte) []byte { return s.streamState.gzipEnding(more) }

// gzipEnding stores the text unpacked, and ends the member.
func (s streamState) gzipEnding(more []byte) (end []byte) {
	if !s.Begun {
		end = append(end, gzipHeader...)
	}
	s.CRC = crc32.Update(s.CRC, crc32.IEEETable, more)
	s.Size += uint32(len(more))
	for len(more) > 0 {
		n := min(len(more), 1<<16-1)
		end = append(end, 0) // a stored block
		end = binary.LittleEndian.AppendUint16(end, uint16(n))
		end = binary.LittleEndian.AppendUint16(end, ^uint16(n))
		end = append(end, more[:n]...)
		more = more[n:]
	}
	end = append(end, 0x03, 0x00) // the last block: packed, and empty
	end = binary.LittleEndian.AppendUint32(end, s.CRC)
	return binary.LittleEndian.AppendUint32(end, s.Size)
}

func (s *gzipStream) state() streamState { return s.streamState }

func (s *gzipStream) resume(before streamState) (end []byte) {
	if before.Begun {
		end = before.gzipEnding(nil)
	}
	s.streamState, s.dirty = streamState{}, false
	s.out.Reset()
	s.w.Reset(&s.out)
	return end
}

// zstdStream writes frames of Zstandard (RFC 8878), without a checksum: it would have to be known at each cut.
type zstdStream struct {
	streamState
	out   bytes.Buffer
	w     *zstd.Encoder
	dirty bool
}

// zstdWindow is how far back a frame refers. With it a file that is open takes 2.6 MiB; the library's 4 MiB would take
// 18 MiB, of each of 256 files, and packs lines of JSON no better.
const zstdWindow = 512 << 10

func newZstdStream() *zstdStream {
	s := &zstdStream{}
	s.w, _ = zstd.NewWriter(&s.out, zstd.WithEncoderCRC(false), zstd.WithEncoderConcurrency(1), zstd.WithZeroFrames(true),
		zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true)) // the options are right
	return s
}

func (s *zstdStream) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	s.Begun, s.dirty = true, true
	_, err := s.w.Write(p)
	return err
}

func (s *zstdStream) flush() error {
	if !s.dirty {
		return nil
	}
	s.dirty = false
	return s.w.Flush()
}

func (s *zstdStream) packed() []byte {
	p := bytes.Clone(s.out.Bytes())
	s.out.Reset()
	return p
}

func (s *zstdStream) isDirty() bool { return s.dirty }

func (s *zstdStream) ending(more []byte) []byte {
	if !s.Begun {
		return s.w.EncodeAll(more, nil)
	}
	return zstdEnding(more)
}

// zstdBlock is the largest block of a frame.
const zstdBlock = 128 << 10

// zstdEnding stores the text unpacked, and ends the frame.
func zstdEnding(more []byte) (end []byte) {
	for {
		n := min(len(more), zstdBlock)
		header := uint32(n) << 3 // a raw block
		if n == len(more) {
			header |= 1 // the last one
		}
		end = append(end, byte(header), byte(header>>8), byte(header>>16))
		end = append(end, more[:n]...)
		if more = more[n:]; len(more) == 0 {
			return end
		}
	}
}

func (s *zstdStream) state() streamState { return s.streamState }

func (s *zstdStream) resume(before streamState) (end []byte) {
	if before.Begun {
		end = zstdEnding(nil)
	}
	s.streamState, s.dirty = streamState{}, false
	s.out.Reset()
	s.w.Reset(&s.out)
	return end
}
