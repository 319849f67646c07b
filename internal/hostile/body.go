package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math"
	"strings"
	"time"
)

const (
	chunked   = "Transfer-Encoding: chunked"
	closes    = "Connection: close"
	lastChunk = "0\r\n\r\n"
)

// chunk is a body's part with its size.
func chunk(s string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(s), s) }

// half is the beginning of the page.
func (c *connection) half() string { return c.page[:len(c.page)/2] }

// bodyCases are those that never end, come slowly or break off.
func bodyCases() []Case {
	const noEnd = Error | Partial
	return []Case{
		{Name: "endless", Sends: "a body of unknown length that does not end", May: noEnd,
			script: func(c *connection) bool { return c.ok(closes) && c.repeat(c.page, -1) }},
		{Name: "endless-chunked", Sends: "chunks without end", May: noEnd,
			script: func(c *connection) bool { return c.ok(chunked) && c.repeat(chunk(c.page), -1) }},
		{Name: "endless-small-chunks", Sends: "chunks of one byte without end", May: noEnd, Bytes: 6*Limit + mostBytes,
			script: func(c *connection) bool { return c.ok(chunked) && c.repeat(chunk("x"), -1) }},
		{Name: "endless-chunk-extension", Sends: "a chunk size with an extension that does not end", May: noEnd,
			script: func(c *connection) bool { return c.ok(chunked, chunk(c.page), "5;") && c.repeat("x=y;", -1) }},
		{Name: "endless-chunk-size", Sends: "a chunk size of zeros that do not end", May: noEnd,
			script: func(c *connection) bool { return c.ok(chunked) && c.repeat("0", -1) }},
		{Name: "endless-trailer", Sends: "a page in chunks, and trailer lines without end", May: noEnd,
			script: func(c *connection) bool {
				return c.ok(chunked, chunk(c.page), "0\r\n") && c.repeat("X-Trailer: x\r\n", -1)
			}},
		{Name: "slow-body", Sends: "one byte of the body in a second", May: noEnd, Stalls: true,
			script: func(c *connection) bool { return c.ok("Content-Length: 1000000") && c.drip(time.Second, "x") }},
		{Name: "slow-chunks", Sends: "a chunk of one byte in 100 ms", May: noEnd, Stalls: true,
			script: func(c *connection) bool { return c.ok(chunked) && c.drip(100*time.Millisecond, chunk("x")) }},
		{Name: "silent-body", Sends: "half of the page, and then nothing", May: noEnd, Stalls: true,
			script: func(c *connection) bool { return c.ok(c.length(0), c.half()) && c.hold() }},
		{Name: "silent-chunks", Sends: "a chunk, and then nothing", May: noEnd, Stalls: true,
			script: func(c *connection) bool { return c.ok(chunked, chunk(c.half())) && c.hold() }},
		{Name: "truncated", Sends: "half of the page that was announced, and the connection's end", May: noEnd,
			script: func(c *connection) bool { c.ok(c.length(0), c.half()); return false }},
		{Name: "truncated-chunked", Sends: "a chunk, and the connection's end without the last one", May: noEnd,
			script: func(c *connection) bool { c.ok(chunked, chunk(c.half())); return false }},
		{Name: "truncated-in-chunk", Sends: "half of a chunk, and the connection's end", May: noEnd,
			script: func(c *connection) bool { c.ok(chunked, fmt.Sprintf("%x\r\n", len(c.page)), c.half()); return false }},
		{Name: "truncated-gzip", Sends: "a gzip stream that breaks off, of the length that was announced", May: noEnd | OK, Damaged: true,
			script: func(c *connection) bool {
				packed := gzipOf(c.page)
				packed = packed[:len(packed)-10]
				return c.ok(fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d", len(packed)), packed)
			}},
		{Name: "broken-gzip", Sends: "a gzip stream with a wrong checksum", May: noEnd | OK, Damaged: true,
			script: func(c *connection) bool {
				packed := []byte(gzipOf(c.page))
				packed[len(packed)-8] ^= 1
				return c.ok(fmt.Sprintf("Content-Encoding: gzip\r\nContent-Length: %d", len(packed)), string(packed))
			}},
		{Name: "not-gzip", Sends: "a page that says it is gzip and is not", May: noEnd,
			script: func(c *connection) bool {
				return c.ok("Content-Encoding: gzip\r\n"+c.length(0), c.page)
			}},
		{Name: "reset-in-body", Sends: "half of the page, and an RST", May: noEnd,
			script: func(c *connection) bool { c.ok(c.length(0), c.half()); return c.reset() }},
	}
}

func gzipOf(page string) string {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	io.WriteString(w, page)
	w.Close()
	return packed.String()
}

// lengthCases are those whose framing contradicts itself (RFC 9112 §6.3).
func lengthCases() []Case {
	framed := func(name, sends string, may Outcome, header func(c *connection) string) Case {
		return Case{Name: name, Sends: sends, May: may,
			script: func(c *connection) bool { return c.ok(header(c), c.page) }}
	}
	length := func(name, value string) Case {
		return framed(name, "Content-Length: "+value, Error, func(*connection) string { return "Content-Length: " + value })
	}
	inChunks := func(name, sends, header string) Case {
		return Case{Name: name, Sends: sends, May: Error,
			script: func(c *connection) bool { return c.ok(header, chunk(c.page), lastChunk) }}
	}
	return []Case{
		{Name: "length-too-large", Sends: "a Content-Length that is larger than the body, and the connection's end", May: Partial,
			script: func(c *connection) bool { c.ok(c.length(13), c.page); return false }},
		{Name: "length-too-large-open", Sends: "a Content-Length that is larger than the body, on an open connection",
			May: Error | Partial, Stalls: true,
			script: func(c *connection) bool { return c.ok(c.length(13), c.page) && c.hold() }},
		{Name: "length-huge", Sends: "a Content-Length of 2^63-1, a page, and the connection's end", May: Error | Partial,
			script: func(c *connection) bool {
				c.ok(fmt.Sprint("Content-Length: ", int64(math.MaxInt64)), c.page)
				return false
			}},
		length("length-overflow", "99999999999999999999"),
		length("length-negative", "-1"),
		length("length-with-sign", "+5"),
		length("length-with-unit", "12abc"),
		length("length-hexadecimal", "0x10"),
		length("length-fraction", "5.0"),
		framed("two-lengths", "two lines of Content-Length that differ", Error,
			func(c *connection) string { return c.length(0) + "\r\n" + c.length(-3) }),
		framed("two-lengths-list", "one line of two Content-Lengths that differ", Error,
			func(c *connection) string { return fmt.Sprintf("%s, %d", c.length(0), len(c.page)-3) }),
		framed("two-same-lengths", "two lines of the same Content-Length", Error|OK,
			func(c *connection) string { return c.length(0) + "\r\n" + c.length(0) }),
		inChunks("chunked-and-length", "Transfer-Encoding: chunked and a Content-Length", chunked+"\r\nContent-Length: 5"),
		inChunks("length-and-chunked", "a Content-Length and Transfer-Encoding: chunked", "Content-Length: 5\r\n"+chunked),
		inChunks("chunked-twice", "two lines of Transfer-Encoding: chunked", chunked+"\r\n"+chunked),
		inChunks("chunked-list-twice", "Transfer-Encoding: chunked, chunked", chunked+", chunked"),
		inChunks("unknown-transfer-coding", "Transfer-Encoding: cow", "Transfer-Encoding: cow"),
		inChunks("chunked-not-last", "Transfer-Encoding: chunked, identity", chunked+", identity"),
		inChunks("chunked-vertical-tab", "Transfer-Encoding: \\vchunked", "Transfer-Encoding: \vchunked"),
	}
}

// chunkCases are those whose chunks are broken (RFC 9112 §7.1).
func chunkCases() []Case {
	broken := func(name, sends string, body func(c *connection) string) Case {
		return Case{Name: name, Sends: sends, May: Error | Partial,
			script: func(c *connection) bool { return c.ok(chunked, body(c)) && c.hold() }}
	}
	sized := func(name, size string) Case {
		return broken(name, "a chunk size of "+size, func(c *connection) string {
			return chunk(c.half()) + size + "\r\n" + strings.TrimPrefix(c.page, c.half()) + "\r\n" + lastChunk
		})
	}
	return []Case{
		sized("chunk-size-letters", "xyz"),
		sized("chunk-size-negative", "-5"),
		sized("chunk-size-prefixed", "0x5"),
		sized("chunk-size-overflow", "FFFFFFFFFFFFFFFFF"),
		sized("chunk-size-missing", ""),
		sized("chunk-size-too-small", "5"),
		broken("chunk-without-crlf", "a chunk that is followed by other bytes than CR LF", func(c *connection) string {
			return fmt.Sprintf("%x\r\n%sXX%s", len(c.page), c.page, lastChunk)
		}),
	}
}

// keptCases are those that leave something on a kept connection, which the next request must not take for
// its answer (response splitting and desynchronising).
func keptCases() []Case {
	unasked := func(name string) string {
		const page = "This is a page that nobody has asked for.\n"
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nX-Case: %s\r\nContent-Length: %d\r\n\r\n%s", name, len(page), page)
	}
	return []Case{
		{Name: "length-too-small", Sends: "a Content-Length that is smaller than what comes", May: OK,
			script: func(c *connection) bool { return c.ok(c.length(0), c.page, "and more of it\r\n\r\n") }},
		{Name: "trailing-garbage", Sends: "a page with its length, and other bytes after it", May: OK,
			script: func(c *connection) bool { return c.ok(c.length(0), c.page, "\x00\xff garbage") }},
		{Name: "trailing-lines", Sends: "a page with its length, and empty lines after it", May: OK,
			script: func(c *connection) bool { return c.ok(c.length(0), c.page, "\r\n\r\n") }},
		{Name: "trailing-after-chunks", Sends: "a page in chunks, and other bytes after the last one", May: OK,
			script: func(c *connection) bool { return c.ok(chunked, chunk(c.page), lastChunk, "garbage") }},
		{Name: "extra-response", Sends: "two responses for one request", May: OK,
			script: func(c *connection) bool { return c.ok(c.length(0), c.page, unasked("extra-response")) }},
		{Name: "extra-response-chunked", Sends: "two responses for one request, the first one in chunks", May: OK,
			script: func(c *connection) bool {
				return c.ok(chunked, chunk(c.page), lastChunk, unasked("extra-response-chunked"))
			}},
		{Name: "extra-response-late", Sends: "a second response when nothing was asked for 20 ms", May: OK,
			script: func(c *connection) bool {
				if !c.ok(c.length(0), c.page) || !c.wait(20*time.Millisecond) {
					return false
				}
				return c.in.Buffered() > 0 || c.send(unasked("extra-response-late"))
			}},
		{Name: "no-content-with-body", Status: 204, Empty: true, Sends: "a 204 with a body, which has none (RFC 9110 §15.3.5)", May: Error | OK,
			script: func(c *connection) bool {
				return c.send("HTTP/1.1 204 No Content\r\n", c.length(0), "\r\n\r\n", c.page)
			}},
		{Name: "no-content-extra-response", Status: 204, Empty: true, Sends: "a 204 whose body is a response", May: Error | OK,
			script: func(c *connection) bool { return c.send("HTTP/1.1 204 No Content\r\n\r\n", unasked("204")) }},
		{Name: "not-modified-with-body", Status: 304, Empty: true, Sends: "a 304 with a body, which has none (RFC 9110 §15.4.5)", May: Error | OK,
			script: func(c *connection) bool {
				return c.send("HTTP/1.1 304 Not Modified\r\n", c.length(0), "\r\n\r\n", c.page)
			}},
		{Name: "head-with-body", Method: "HEAD", Empty: true, Sends: "a body for a HEAD (RFC 9110 §9.3.2)", May: Error | OK,
			script: func(c *connection) bool { return c.ok(c.length(0), c.page) }},
		{Name: "head-extra-response", Method: "HEAD", Empty: true, Sends: "a body for a HEAD that is a response", May: Error | OK,
			script: func(c *connection) bool { return c.ok(c.length(0), unasked("HEAD")) }},
	}
}
