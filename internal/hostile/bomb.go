package hostile

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
	"sync"
)

// bomb is Bomb zero bytes, packed: a head, one block many times, a tail. It is sent without ever being in
// memory.
type bomb struct {
	head, block, tail string
	times             int
}

func (b bomb) len() int { return len(b.head) + b.times*len(b.block) + len(b.tail) }

func (b bomb) bytes() []byte {
	return []byte(b.head + strings.Repeat(b.block, b.times) + b.tail)
}

// send writes the bomb as the body of a response.
func (b bomb) send(c *connection, coding string) bool {
	header := fmt.Sprintf("Content-Encoding: %s\r\nContent-Length: %d", coding, b.len())
	return c.ok(header, b.head) && c.repeat(b.block, int64(b.times*len(b.block))) && c.send(b.tail)
}

// deflateBomb is a bare deflate stream (RFC 1951). With the window full of zeros each further MiB is packed
// into the same bytes; a flush ends them at a byte.
var deflateBomb = sync.OnceValue(func() bomb {
	const part = 1 << 20
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		panic(err) // the level is wrong
	}
	zeros := make([]byte, part)
	w.Write(zeros)
	w.Flush()
	first := packed.Len()
	w.Write(zeros)
	w.Flush()
	all := packed.String()
	return bomb{head: all[:first], block: all[first:], times: Bomb/part - 1, tail: "\x01\x00\x00\xff\xff"}
})

// gzipBomb is a gzip member (RFC 1952).
var gzipBomb = sync.OnceValue(func() bomb {
	zeros := make([]byte, 1<<20)
	sum := uint32(0)
	for range Bomb / len(zeros) {
		sum = crc32.Update(sum, crc32.IEEETable, zeros)
	}
	b := deflateBomb()
	b.head = "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff" + b.head
	b.tail += string(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, sum), Bomb))
	return b
})

// zlibBomb is what HTTP calls deflate (RFC 1950). Adler-32 of zeros is a 1 and their number.
var zlibBomb = sync.OnceValue(func() bomb {
	b := deflateBomb()
	b.head = "\x78\x9c" + b.head
	b.tail += string(binary.BigEndian.AppendUint32(nil, Bomb%65521<<16|1))
	return b
})

// zstdBomb is a frame of blocks that say "128 KiB of zeros" in four bytes (RFC 8878 §3.1.1).
var zstdBomb = sync.OnceValue(func() bomb {
	const block = 128 << 10
	const last, runLength = 1, 1 << 1
	header := func(bits int) string {
		n := uint32(block<<3 | runLength | bits)
		return string([]byte{byte(n), byte(n >> 8), byte(n >> 16), 0})
	}
	return bomb{head: "\x28\xb5\x2f\xfd\x00\x38", block: header(0), times: Bomb/block - 1, tail: header(last)}
})

// brBomb is a Brotli stream (RFC 7932) of meta-blocks of 16 MiB, made by github.com/andybalholm/brotli v1.2.8 with
// quality 9 and a flush after each: from the second on all are the same.
var brBomb = sync.OnceValue(func() bomb {
	return bomb{head: unhex("cbffff3f002400e2b14072effff8ffff078004401c1680eefd9f01"),
		block: unhex("fcffff034002200e0b40f7fe8fffff7f004800c46101e8deff19"), times: Bomb>>24 - 1, tail: "\x03"}
})

func unhex(s string) string {
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// gzipped packs a bomb once more.
func gzipped(b func() bomb) func() bomb {
	return sync.OnceValue(func() bomb {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(b().bytes())
		w.Close()
		return bomb{head: packed.String()}
	})
}

var gzipTwice = gzipped(gzipBomb)

// packedBomb is one packed body that is a bomb.
type packedBomb struct {
	name, coding string
	make         func() bomb
}

var packedBombs = []packedBomb{
	{"bomb-gzip", "gzip", gzipBomb},
	{"bomb-x-gzip", "x-gzip", gzipBomb},
	{"bomb-deflate", "deflate", zlibBomb},
	{"bomb-deflate-raw", "deflate", deflateBomb},
	{"bomb-br", "br", brBomb},
	{"bomb-zstd", "zstd", zstdBomb},
	{"bomb-gzip-gzip", "gzip, gzip", gzipTwice},
	{"bomb-gzip-gzip-gzip", "gzip, gzip, gzip", gzipped(gzipTwice)},
	{"bomb-deflate-gzip", "deflate, gzip", gzipped(zlibBomb)},
	{"bomb-br-gzip", "br, gzip", gzipped(brBomb)},
	{"bomb-zstd-gzip", "zstd, gzip", gzipped(zstdBomb)},
}

func bombCases() []Case {
	var cases []Case
	for _, b := range packedBombs {
		cases = append(cases, Case{Name: b.name, May: Error,
			Sends:  "1 GiB of zeros with Content-Encoding: " + b.coding,
			script: func(c *connection) bool { return b.make().send(c, b.coding) }})
	}
	return append(cases,
		Case{Name: "bomb-two-lines", May: Error, Sends: "a gzip bomb in a gzip stream, with a Content-Encoding line for each",
			script: func(c *connection) bool {
				return gzipTwice().send(c, "gzip\r\nContent-Encoding: gzip")
			}},
		Case{Name: "codings-many", May: Error, Sends: "a page in 1,000 layers of gzip",
			script: func(c *connection) bool {
				layers := onion(c.page, 1000)
				return c.ok(fmt.Sprintf("Content-Encoding: gzip%s\r\nContent-Length: %d", strings.Repeat(", gzip", 999), len(layers)), layers)
			}})
}

// onion packs a page in many layers; stored blocks do, and do not take long.
func onion(page string, layers int) string {
	w, err := gzip.NewWriterLevel(io.Discard, gzip.NoCompression)
	if err != nil {
		panic(err) // the level is wrong
	}
	for range layers {
		var packed bytes.Buffer
		w.Reset(&packed)
		io.WriteString(w, page)
		w.Close()
		page = packed.String()
	}
	return page
}
