package httpx

import (
	"io"
	"strings"
)

// AcceptEncoding is the value of an Accept-Encoding header (RFC 9110 §12.5.3) that asks for what
// [NewReader] can decode.
const AcceptEncoding = "gzip, deflate, br, zstd"

// MaxCodings is the largest number of codings that a body may wear, identity not counted. Real ones wear
// one, and two where a server packs what was packed already.
const MaxCodings = 5

// The names of the codings, in the IANA registry that RFC 9110 §16.6 sets up.
const (
	codingGzip     = "gzip"     // RFC 9110 §8.4.1.3, RFC 1952
	codingDeflate  = "deflate"  // RFC 9110 §8.4.1.2, RFC 1950; in the wild RFC 1951 too
	codingBrotli   = "br"       // RFC 7932
	codingZstd     = "zstd"     // RFC 8878, RFC 9659
	codingIdentity = "identity" // RFC 9110 §12.5.3; reserved, and not to be sent
)

// NewReader returns body without the codings of its Content-Encoding headers (RFC 9110 §8.4): the last
// named was put on last, so it comes off first. Names are not case-sensitive, x-gzip is gzip, identity is
// nothing; empty elements of the list are skipped (§5.6.1.2). Without codings the Reader only counts and
// limits.
//
// The error is an [*UnknownCodingError] if one of them is none of ours (then the body can be used as it
// came), or a [*TooManyCodingsError]. NewReader reads nothing.
func (d *Decoders) NewReader(encoding []string, body io.Reader, limits Limits) (*Reader, error) {
	codings, err := parse(encoding)
	if err != nil {
		return nil, err
	}
	return d.newReader(codings, body, limits), nil
}

// NewReader is [Decoders.NewReader] without others to share zstd decoders with.
func NewReader(encoding []string, body io.Reader, limits Limits) (*Reader, error) {
	return new(Decoders).NewReader(encoding, body, limits)
}

// parse lists the codings in the order in which they were put on.
func parse(encoding []string) ([]string, error) {
	var codings []string
	count := 0
	for _, line := range encoding {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.Trim(name, " \t")
			coding, ok := known(name)
			switch {
			case !ok:
				return nil, &UnknownCodingError{Coding: name}
			case coding == codingIdentity:
				continue
			}
			if count++; count <= MaxCodings {
				codings = append(codings, coding)
			}
		}
	}
	if count > MaxCodings {
		return nil, &TooManyCodingsError{Count: count, Limit: MaxCodings}
	}
	return codings, nil
}

// known returns the proper name of a coding that we have a decoder for.
func known(name string) (string, bool) {
	for _, coding := range [...]string{codingGzip, codingBrotli, codingDeflate, codingZstd, codingIdentity} {
		if strings.EqualFold(name, coding) {
			return coding, true
		}
	}
	switch {
	case strings.EqualFold(name, "x-gzip"):
		return codingGzip, true
	case name == "":
		return codingIdentity, true
	}
	return "", false
}

func (d *Decoders) newDecoder(coding string) decoder {
	switch coding {
	case codingGzip:
		return new(gzipDecoder)
	case codingDeflate:
		return new(deflateDecoder)
	case codingBrotli:
		return new(brotliDecoder)
	case codingZstd:
		return &zstdDecoder{pool: &d.zstds}
	}
	return new(identity)
}
