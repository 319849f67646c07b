package warc

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// dictionary is what the records of a file that is packed by zstd may refer to. It is the content of the first frame of the file (Zstandard
// Compression for WARC Files 1.0, of the IIPC), packed or as it is.
type dictionary struct{ content []byte }

// mostDictionary is how large a dictionary may be.
const mostDictionary = 16 << 20

// dictionaryMagic is how a frame with a dictionary begins.
var dictionaryMagic = []byte{0x5d, 0x2a, 0x4d, 0x18}

// isExtra reports whether a frame of zstd has no record in it: a dictionary, or an extension that readers skip (RFC 8878 §3.1.2).
func isExtra(magic []byte) bool {
	return len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], dictionaryMagic[1:])
}

// skipExtra reads over a frame that has no record in it, and keeps the dictionary if it has one.
func (r *reader) skipExtra() error {
	r.begin = r.from.n
	var head [8]byte
	if _, err := io.ReadFull(r.from, head[:]); err != nil {
		return noEOF(err)
	}
	body := io.LimitReader(r.from, int64(binary.LittleEndian.Uint32(head[4:])))
	if r.begin == 0 && bytes.Equal(head[:4], dictionaryMagic) {
		var err error
		if r.dict, err = readDictionary(body); err != nil {
			return err
		}
	}
	size := int64(binary.LittleEndian.Uint32(head[4:]))
	if _, err := io.Copy(io.Discard, body); err != nil {
		return err
	}
	if r.from.n-r.begin < 8+size {
		return io.ErrUnexpectedEOF
	}
	return nil
}

// readDictionary reads a dictionary, which may be packed itself.
func readDictionary(from io.Reader) (*dictionary, error) {
	content, err := readAtMost(from, mostDictionary)
	if err == nil && bytes.HasPrefix(content, zstdMagic) {
		var z *zstd.Decoder
		if z, err = newDecoder(nil); err != nil {
			return nil, err
		}
		defer z.Close()
		if err = z.Reset(bytes.NewReader(content)); err == nil {
			content, err = readAtMost(z, mostDictionary)
		}
	}
	if err == nil {
		var z *zstd.Decoder
		if z, err = newDecoder(&dictionary{content}); err == nil {
			z.Close()
			return &dictionary{content}, nil
		}
	}
	return nil, fmt.Errorf("the dictionary: %w", err)
}

func readAtMost(from io.Reader, most int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(from, most+1))
	if err == nil && int64(len(content)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return content, err
}

// newDecoder makes a decoder of zstd. dict is nil if there is no dictionary.
func newDecoder(dict *dictionary) (*zstd.Decoder, error) {
	options := []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)}
	if dict != nil {
		options = append(options, zstd.WithDecoderDicts(dict.content))
	}
	return zstd.NewReader(nil, options...)
}
