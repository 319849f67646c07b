package warc

import (
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // what every reader of WARC knows; it protects against damage, not against forgery
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// compression is how records are packed.
type compression uint8

const (
	uncompressed compression = iota
	gzipped
	zstandard
)

// compressionOf returns the compression that a file's name says.
func compressionOf(name string) compression {
	switch {
	case strings.HasSuffix(name, ".gz"):
		return gzipped
	case strings.HasSuffix(name, ".zst"):
		return zstandard
	}
	return uncompressed
}

// newRecord is a record that is to be written. Its block is head and then body.
type newRecord struct {
	kind   string // WARC-Type
	id     string // WARC-Record-ID
	date   time.Time
	fields []field // the other ones
	media  string  // Content-Type of the block; "" if there is no block

	head   []byte
	body   io.Reader // of exactly size bytes; nil: none
	size   int64
	digest string // WARC-Block-Digest; "": it is made of head, so there must be no body
}

// field is a named field of a record.
type field struct{ name, value string }

// stampFormat is how WARC-Date is written (ISO 28500 §5.4): with fractions of a second, which version 1.1 allows.
const stampFormat = "2006-01-02T15:04:05.000000Z"

// packer packs records, each into a member of gzip or a frame of zstd of its own, so that each can be read alone. It
// may not be used concurrently.
type packer struct {
	how     compression
	gz      *gzip.Writer
	zs      *zstd.Encoder
	scratch []byte
	copying []byte
}

func newPacker(how compression) *packer {
	p := &packer{how: how, copying: make([]byte, 32<<10)}
	switch how {
	case gzipped:
		p.gz = gzip.NewWriter(io.Discard)
	case zstandard:
		// One goroutine, and the smallest window that keeps the size: a packer is kept for each fetch worker.
		p.zs, _ = zstd.NewWriter(io.Discard, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // these options are valid
	}
	return p
}

// write packs a record to w. Nothing of it counts if that fails.
func (p *packer) write(w io.Writer, r *newRecord) error {
	to := w
	switch p.how {
	case gzipped:
		p.gz.Reset(w)
		to = p.gz
	case zstandard:
		p.zs.Reset(w)
		to = p.zs
	}
	p.scratch = r.appendHeader(p.scratch[:0])
	p.scratch = append(p.scratch, r.head...)
	if _, err := to.Write(p.scratch); err != nil {
		return err
	}
	if r.body != nil {
		n, err := io.CopyBuffer(to, onlyReader{io.LimitReader(r.body, r.size+1)}, p.copying)
		if err == nil && n != r.size {
			err = fmt.Errorf("a block has %d bytes, and should have %d", n, r.size)
		}
		if err != nil {
			return err
		}
	}
	if _, err := io.WriteString(to, "\r\n\r\n"); err != nil {
		return err
	}
	if closer, ok := to.(io.Closer); ok && p.how != uncompressed {
		return closer.Close()
	}
	return nil
}

// onlyReader hides the other methods of a reader, so that the buffer is used.
type onlyReader struct{ io.Reader }

// appendHeader appends the header of the record, and the empty line behind it.
func (r *newRecord) appendHeader(b []byte) []byte {
	b = append(b, "WARC/1.1\r\n"...)
	b = appendField(b, "WARC-Type", r.kind)
	b = appendField(b, "WARC-Record-ID", r.id)
	b = append(b, "WARC-Date: "...)
	b = append(r.date.UTC().AppendFormat(b, stampFormat), "\r\n"...)
	for _, f := range r.fields {
		b = appendField(b, f.name, f.value)
	}
	if r.digest != "" {
		b = appendField(b, "WARC-Block-Digest", r.digest)
	}
	if r.media != "" {
		b = appendField(b, "Content-Type", r.media)
	}
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(len(r.head))+r.size, 10)
	return append(b, "\r\n\r\n"...)
}

// appendField appends a field. A line end in a value would begin another field: it becomes a space.
func appendField(b []byte, name, value string) []byte {
	b = append(append(b, name...), ": "...)
	return append(appendLine(b, value), "\r\n"...)
}

func appendLine(b []byte, value string) []byte {
	if strings.IndexByte(value, '\n') < 0 && strings.IndexByte(value, '\r') < 0 && strings.IndexByte(value, 0) < 0 {
		return append(b, value...)
	}
	for i := range len(value) {
		if c := value[i]; c == '\n' || c == '\r' || c == 0 {
			b = append(b, ' ')
		} else {
			b = append(b, c)
		}
	}
	return b
}

// newID makes the id of a record: a random UUID (RFC 9562 §5.4).
func newID() string {
	var u [16]byte
	_, _ = rand.Read(u[:]) // never fails
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	const prefix, dash = "<urn:uuid:", '-'
	b := make([]byte, 0, len(prefix)+37)
	b = append(b, prefix...)
	for i, part := range [...][]byte{u[:4], u[4:6], u[6:8], u[8:10], u[10:]} {
		if i > 0 {
			b = append(b, dash)
		}
		b = hex.AppendEncode(b, part)
	}
	return string(append(b, '>'))
}

// digests makes the digests of records.
type digests struct {
	name string // "sha1"
	make func() hash.Hash
}

var errDigest = errors.New(`there are "sha1" and "sha256"`)

// digestsOf returns the algorithm of a name; "" is SHA-1.
func digestsOf(name string) (digests, error) {
	switch strings.ToLower(name) {
	case "", "sha1", "sha-1":
		return digests{"sha1", sha1.New}, nil
	case "sha256", "sha-256":
		return digests{"sha256", sha256.New}, nil
	}
	return digests{}, errDigest
}

// text is a digest as WARC writes it: SHA-1 in base 32, as all others do, SHA-256 in hexadecimal digits, which CDXJ and WACZ expect.
func (d digests) text(h hash.Hash) string {
	sum := h.Sum(make([]byte, 0, 32))
	if d.name == "sha1" {
		return "sha1:" + base32.StdEncoding.EncodeToString(sum)
	}
	return d.name + ":" + hex.EncodeToString(sum)
}

// of returns the digest of bytes.
func (d digests) of(b []byte) string {
	h := d.make()
	h.Write(b)
	return d.text(h)
}
