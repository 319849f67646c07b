package warc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Read iterates over the records of an archive, which may be compressed with gzip or with zstd (with or without a dictionary), or
// not at all. Each step has a record or an error. A damaged part yields one error, and reading continues after it; an error of from
// ends the iteration. A record is valid until the next step, which skips the rest of its block. The memory that Read needs does not
// depend on the size of the records.
func Read(from io.Reader) iter.Seq2[*Record, error] {
	return func(yield func(*Record, error) bool) {
		r := newReader(64 << 10)
		defer r.close()
		r.reset(from)
		lost := false // what comes was found by its first bytes, and may be no record
		for {
			one, err := r.next()
			if one == nil && errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				lost = false
				if !yield(one, nil) {
					return
				}
				err = r.skip(one)
			}
			if err == nil {
				continue
			}
			if !lost && !yield(nil, err) || r.from.err != nil || !r.find() {
				return
			}
			lost = true
		}
	}
}

// find goes to what may be the next record. It returns false if there is none.
func (r *reader) find() bool {
	r.more = false
	before := byte('\n')
	r.back()
	if _, err := r.from.r.Peek(1); err == nil && r.from.n == r.begin {
		before, _ = r.from.ReadByte() // it was seen
	}
	for {
		text, err := r.from.r.Peek(findAtOnce)
		for i := range text {
			rest := text[i:]
			switch {
			case bytes.HasPrefix(rest, gzipMagic), bytes.HasPrefix(rest, zstdMagic), before == '\n' && bytes.HasPrefix(rest, plainMagic):
				_, _ = io.CopyN(io.Discard, r.from, int64(i)) // it was seen
				return true
			}
			before = rest[0]
			if len(rest) <= len(plainMagic) && err == nil { // more is needed to know
				text = text[:i]
				break
			}
		}
		if err != nil {
			return false
		}
		before = text[len(text)-1]
		_, _ = io.CopyN(io.Discard, r.from, int64(len(text))) // it was seen
	}
}

// back goes back to where the damaged record begins, if that is possible: unpacking it may have read far over its end.
// How much is read again is bounded, since a file can be made so that each of its bytes is the beginning of a long
// record that is damaged.
func (r *reader) back() {
	again := r.from.n - r.begin
	if r.furthest = max(r.furthest, r.from.n); again == 0 {
		return
	}
	again += int64(r.from.r.Size()) // which is filled again
	if r.seeker == nil || r.again+again > againFree+againRate*r.furthest {
		return
	}
	if _, err := r.seeker.Seek(r.start+r.begin, io.SeekStart); err != nil {
		r.seeker = nil
		return
	}
	r.from.r.Reset(r.seeker)
	r.from.n = r.begin
	r.again += again
}

// How many bytes are read again: so many for each byte of the file, and so many beside.
const (
	againRate = 4
	againFree = 4 << 20
)

// findAtOnce is how many bytes are looked at.
const findAtOnce = 4096

// How records begin.
var (
	gzipMagic  = []byte{0x1f, 0x8b, 8}
	zstdMagic  = []byte{0x28, 0xb5, 0x2f, 0xfd}
	plainMagic = []byte("WARC/")
)

// reader reads records one after the other.
type reader struct {
	from  *counting
	gz    *gzip.Reader
	zs    *zstd.Decoder
	knows *dictionary   // of zs
	dict  *dictionary   // of the file; nil: there is none
	text  *bufio.Reader // of the record as it is
	block *io.LimitedReader
	size  int64 // of the block
	begin int64 // where the record begins
	inner int64 // where it begins in what is packed together
	used  int64 // bytes of what is packed together that were read
	more  bool  // another record follows in it

	seeker io.ReadSeeker // what is read, nil if it cannot go back
	start  int64         // where it began

	again    int64 // bytes that were read again
	furthest int64 // where reading came to before it went back
}

// newReader makes a reader that reads so many bytes at once. It is to be reset.
func newReader(size int) *reader { return &reader{from: &counting{r: bufio.NewReaderSize(nil, size)}} }

// reset has the reader read something else.
func (r *reader) reset(from io.Reader) {
	r.from.r.Reset(from)
	r.from.n, r.from.err, r.more, r.dict = 0, nil, false, nil
	r.seeker, r.again, r.furthest = nil, 0, 0
	if seeker, ok := from.(io.ReadSeeker); ok {
		if start, err := seeker.Seek(0, io.SeekCurrent); err == nil {
			r.seeker, r.start = seeker, start
		}
	}
}

// counting counts the bytes that are read.
type counting struct {
	r   *bufio.Reader
	n   int64
	err error // of the source, except its end
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	c.note(err)
	return n, err
}

func (c *counting) note(err error) {
	if err != nil && !errors.Is(err, io.EOF) {
		c.err = err
	}
}

func (c *counting) ReadByte() (byte, error) {
	b, err := c.r.ReadByte()
	if err == nil {
		c.n++
	}
	c.note(err)
	return b, err
}

// next returns the next record; io.EOF at the end.
func (r *reader) next() (*Record, error) {
	if r.more {
		r.more, r.inner = false, r.used
		return r.record()
	}
	magic, err := r.from.r.Peek(4)
	for isExtra(magic) {
		if err := r.skipExtra(); err != nil {
			return nil, fmt.Errorf("warc: the frame at byte %d: %w", r.begin, err)
		}
		magic, err = r.from.r.Peek(4)
	}
	if len(magic) == 0 {
		return nil, err
	}
	at := r.from.n
	r.begin, r.inner, r.used = at, 0, 0
	switch {
	case magic[0] == 0x1f && len(magic) > 1 && magic[1] == 0x8b:
		if r.gz == nil {
			r.gz, err = gzip.NewReader(r.from)
		} else {
			err = r.gz.Reset(r.from)
		}
		if err != nil {
			return nil, fmt.Errorf("warc: at byte %d: %w", at, err)
		}
		r.gz.Multistream(false)
		r.unpack(r.gz)
	case bytes.Equal(magic, zstdMagic):
		if r.zs == nil || r.knows != r.dict {
			r.close()
			if r.zs, err = newDecoder(r.dict); err != nil {
				return nil, err
			}
			r.knows = r.dict
		}
		if err := r.zs.Reset(&frame{from: r.from}); err != nil {
			return nil, fmt.Errorf("warc: at byte %d: %w", at, err)
		}
		r.unpack(r.zs)
	default:
		r.unpack(r.from)
	}
	return r.record()
}

// record reads the header of the record that comes.
func (r *reader) record() (*Record, error) {
	one, size, err := r.header()
	if err != nil {
		return nil, fmt.Errorf("warc: the record at byte %d: %w", r.begin, noEOF(err))
	}
	r.size, r.block = size, &io.LimitedReader{R: r.text, N: size}
	one.Offset, one.inner, one.Block = r.begin, r.inner, r.block
	return one, nil
}

// maxWindow is how far back a frame of zstd may refer.
const maxWindow = 128 << 20

func (r *reader) unpack(from io.Reader) {
	if from == io.Reader(r.from) {
		r.text = r.from.r
	} else if r.text == nil || r.text == r.from.r {
		r.text = bufio.NewReaderSize(from, 32<<10)
	} else {
		r.text.Reset(from)
	}
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// mostFields is how large the header of a record may be.
const mostFields = 1 << 20

// header reads the header of a record, and the size of its block.
func (r *reader) header() (*Record, int64, error) {
	total := 0
	line := func() (string, error) {
		var text []byte
		for {
			part, err := r.text.ReadSlice('\n')
			if r.used += int64(len(part)); r.text == r.from.r {
				r.from.n += int64(len(part))
			}
			text = append(text, part...)
			if total += len(part); total > mostFields {
				return "", fmt.Errorf("its header is larger than %d bytes", mostFields)
			}
			if err == nil {
				return strings.TrimRight(string(text), "\r\n"), nil
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return "", err
			}
		}
	}
	first, err := line()
	if err != nil {
		return nil, 0, err
	}
	version, ok := strings.CutPrefix(first, "WARC/")
	if !ok {
		return nil, 0, fmt.Errorf("it begins with %.40q, and not with WARC/", first)
	}
	one := &Record{Version: version}
	var continued []byte // the value of the last field, if it has several lines
	for {
		text, err := line()
		if err != nil {
			return nil, 0, err
		}
		last := len(one.Header) - 1
		if text != "" && (text[0] == ' ' || text[0] == '\t') {
			if last >= 0 && continued == nil {
				continued = []byte(one.Header[last].Value)
			}
			continued = append(append(continued, ' '), strings.TrimSpace(text)...)
			continue
		}
		if last >= 0 && continued != nil {
			one.Header[last].Value = string(continued)
		}
		continued = nil
		if text == "" {
			break
		}
		if name, value, ok := strings.Cut(text, ":"); ok {
			one.Header = append(one.Header, Field{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	size, err := strconv.ParseInt(one.Header.Get("Content-Length"), 10, 64)
	if err != nil || size < 0 {
		return nil, 0, fmt.Errorf("its Content-Length is %q", one.Header.Get("Content-Length"))
	}
	return one, size, nil
}

// skip reads over the rest of a record.
func (r *reader) skip(one *Record) error {
	left := r.block.N
	n, err := io.Copy(io.Discard, r.block)
	if err == nil && n < left {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && r.text == r.from.r {
		r.from.n += r.size - r.block.N // so that it is known how far back the record begins
	}
	if err == nil {
		if r.used += r.size; r.text == r.from.r {
			r.from.n += r.size
		}
		one.ends, err = r.skipEnds()
	}
	packed := r.text != r.from.r
	if packed && err == nil {
		one.ends = 0
		err = r.endPacked()
	}
	if err != nil {
		return fmt.Errorf("warc: the record at byte %d: %w", one.Offset, noEOF(err))
	}
	if !packed || !r.more && one.inner == 0 {
		one.Length = r.from.n - one.Offset
	}
	return nil
}

// skipEnds reads over the end of a record: some writers forget one of the line ends.
func (r *reader) skipEnds() (n int64, err error) {
	for ; n < 4; n++ {
		if c, _ := r.text.Peek(1); len(c) == 0 || c[0] != '\r' && c[0] != '\n' {
			break
		}
		if _, err = r.text.ReadByte(); err != nil {
			break
		}
		if r.used++; r.text == r.from.r {
			r.from.n++
		}
	}
	return n, err
}

// endPacked looks at what follows a record in what is packed together: nothing, as it should be, or the next record.
func (r *reader) endPacked() error {
	next, err := r.text.Peek(len(plainMagic))
	switch {
	case bytes.Equal(next, plainMagic):
		r.more = true
		return nil
	case len(next) == 0 && errors.Is(err, io.EOF):
		return nil
	case len(next) > 0:
		return fmt.Errorf("%q follows its end", next)
	}
	return err
}

func (r *reader) close() {
	if r.zs != nil {
		r.zs.Close()
		r.zs = nil
	}
}

// frame reads one frame of zstd (RFC 8878 §3.1.1), so that the next record is found.
type frame struct {
	from *counting
	left int // bytes of the part that is being read
	last bool
	sum  bool // a checksum is behind the last block
	open bool
	done bool
}

// Read reads the packed bytes of the frame.
func (f *frame) Read(p []byte) (int, error) {
	if f.left == 0 {
		if f.done {
			return 0, io.EOF
		}
		if err := f.part(); err != nil {
			return 0, err
		}
	}
	n, err := f.from.Read(p[:min(len(p), f.left)])
	f.left -= n
	return n, err
}

// part finds the size of the next part: the header of the frame, a block, the checksum.
func (f *frame) part() error {
	switch {
	case !f.open:
		f.open = true
		begin, _ := f.from.r.Peek(zstd.HeaderMaxSize)
		var h zstd.Header
		if err := h.Decode(begin); err != nil {
			return err
		}
		f.left, f.sum = h.HeaderSize, h.HasCheckSum
	case f.last:
		f.done = true
		if !f.sum {
			return io.EOF
		}
		f.left = 4
	default:
		begin, err := f.from.r.Peek(3)
		if err != nil {
			return noEOF(err)
		}
		v := int(begin[0]) | int(begin[1])<<8 | int(begin[2])<<16
		f.last = v&1 == 1
		if f.left = 3 + v>>3; v>>1&3 == 1 { // one byte, many times
			f.left = 4
		}
	}
	return nil
}
