package warc_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/warc"
)

// recordText is a record as it is written: fields are lines.
func recordText(fields, block string) string {
	return fmt.Sprintf("WARC/1.1\r\n%sContent-Length: %d\r\n\r\n%s\r\n\r\n", fields, len(block), block)
}

// A value of many lines is put together. It fails, by its time, if each line copies those before it.
func TestReadContinued(t *testing.T) {
	const lines = 250_000
	text := recordText("WARC-Type: resource\r\nX-Long: a\r\n"+strings.Repeat("\t b\n", lines)+"X-Next: c\r\n d\r\n", "block")
	for r, err := range warc.Read(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Header.Get("X-Long"); got != "a"+strings.Repeat(" b", lines) {
			t.Errorf("%.40q, %d bytes", got, len(got))
		}
		if got := r.Header.Get("X-Next"); got != "c d" {
			t.Errorf("%q", got)
		}
	}
}

// countingFile counts the bytes that are read.
type countingFile struct {
	*bytes.Reader
	read int
}

func (f *countingFile) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	f.read += n
	return n, err
}

// Of a file in which any byte may be the beginning of a long record, a few times its size is read, and a number of bytes beside.
func TestReadAgain(t *testing.T) {
	for name, text := range map[string]string{
		"headers without an end": strings.Repeat("\nWARC/", 1<<17),
		"records without an end": strings.Repeat("WARC/1.1\r\nContent-Length: 999999999\r\n\r\n", 1<<14),
		"gzip":                   strings.Repeat("\x1f\x8b\x08", 1<<17),
	} {
		file := &countingFile{Reader: bytes.NewReader([]byte(text))}
		for range warc.Read(file) {
		}
		if file.read < len(text) || file.read > 8*len(text)+8<<20 {
			t.Errorf("%s: %d bytes are read of %d", name, file.read, len(text))
		}
	}
}

// The boundary of a form that is longer than it may be is none. It fails, by its time, if it is searched for.
func TestIndexLongBoundary(t *testing.T) {
	const long = 300_000
	form := "POST /x HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=" + strings.Repeat("a", long) + "b\r\n\r\n" + strings.Repeat("a", long)
	path := filepath.Join(t.TempDir(), "a.warc")
	writeFile(t, path, []byte(recordText("WARC-Type: request\r\nWARC-Target-URI: http://a.test/x\r\n", form)+
		recordText("WARC-Type: response\r\nContent-Type: application/http\r\nWARC-Target-URI: http://a.test/x\r\n", "HTTP/1.1 200 OK\r\n\r\n")))
	var index bytes.Buffer
	if skipped, err := warc.Index(&index, path); err != nil || skipped.Records > 0 {
		t.Fatal(skipped, err)
	}
	if want := "test,a)/x?&__wb_method=post "; !strings.HasPrefix(index.String(), want) {
		t.Errorf("%.80q, want %q", index.String(), want)
	}
}

// Of captures that are sorted by time the nearest is found, as if all were looked at.
func TestNearestOf(t *testing.T) {
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		dates := make([]int64, 1+random.IntN(6))
		for i := range dates {
			dates[i] = int64(random.IntN(4))
			if i > 0 {
				dates[i] += dates[i-1]
			}
		}
		date, want := int64(random.IntN(24)-2), 0
		for i, d := range dates {
			if abs(d-date) < abs(dates[want]-date) {
				want = i
			}
		}
		if got := warc.NearestOf(dates, date); got != want {
			t.Fatalf("seed %d: of %d the nearest to %d is %d, want %d", seed, dates, date, got, want)
		}
	}
}

func abs(n int64) int64 { return max(n, -n) }
