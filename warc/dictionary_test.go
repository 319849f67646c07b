package warc_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/tegenaria/tegenaria/warc"
)

// packedWith packs records by zstd, with a dictionary in the first frame, and another frame without a record behind each.
func packedWith(t testing.TB, pack bool, records ...string) []byte {
	t.Helper()
	var contents [][]byte
	for n := range 200 {
		contents = append(contents, []byte(fmt.Sprintf("%s number %d of %d", records[n%len(records)], n, n*n)))
	}
	content, err := zstd.BuildDict(zstd.BuildDictOptions{ID: 7, Contents: contents, History: []byte(records[0]), Offsets: [3]int{1, 4, 8}})
	if err != nil {
		t.Fatal(err)
	}
	coder, err := zstd.NewWriter(nil, zstd.WithEncoderDict(content))
	if err != nil {
		t.Fatal(err)
	}
	if pack {
		plain, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		content = plain.EncodeAll(content, nil)
	}
	extra := func(kind byte, content []byte) []byte {
		return append(binary.LittleEndian.AppendUint32([]byte{kind, 0x2a, 0x4d, 0x18}, uint32(len(content))), content...)
	}
	data := extra(0x5d, content)
	for _, record := range records {
		data = append(data, coder.EncodeAll([]byte(record), nil)...)
		data = append(data, extra(0x50, []byte("not a record"))...)
	}
	return data
}

func pageRecord(url, title string) string {
	block := "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<title>" + title + "</title>"
	return fmt.Sprintf("WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: %s\r\nWARC-Date: 2026-11-23T01:02:03Z\r\nWARC-Record-ID: <%s>\r\n"+
		"Content-Type: application/http; msgtype=response\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", url, url, len(block), block)
}

// A file whose records are packed with a dictionary is read, replayed in any order, and indexed; in place of the
// dictionary there is an error.
func TestDictionary(t *testing.T) {
	for _, pack := range []bool{false, true} {
		data := packedWith(t, pack, pageRecord("http://a.test/1", "first"), pageRecord("http://a.test/2", "second"))
		records, errs := readAll(t, data)
		if errs > 0 || len(records) != 2 {
			t.Fatalf("packed %t: %v, %d errors", pack, records, errs)
		}
		name := filepath.Join(t.TempDir(), "a.warc.zst")
		writeFile(t, name, data)
		replay := open(t, name)
		for _, page := range [][2]string{{"http://a.test/2", "second"}, {"http://a.test/1", "first"}, {"http://a.test/2", "second"}} {
			if title := titleAt(t, replay, page[0]); title != page[1] {
				t.Errorf("packed %t: %s is %q", pack, page[0], title)
			}
		}
		var text bytes.Buffer
		if skipped, err := warc.Index(&text, name); err != nil || skipped.Records > 0 || bytes.Count(text.Bytes(), []byte("\n")) != 2 {
			t.Errorf("packed %t: %s, %+v, %v", pack, text.Bytes(), skipped, err)
		}
		for id, p := range records {
			if one, _ := readAll(t, data[p.offset:p.offset+p.length]); len(one) > 0 {
				t.Errorf("packed %t: %s is read without the dictionary", pack, id)
			}
		}
		damaged := bytes.Clone(data)
		copy(damaged[8:], "damaged")
		if got, errs := readAll(t, damaged); errs == 0 || len(got) > 0 {
			t.Errorf("packed %t, damaged: %v, %d errors", pack, got, errs)
		}
		behind := bytes.Clone(data)
		copy(behind[records["<http://a.test/1>"].offset+9:], "damaged")
		if got, errs := readAll(t, behind); errs != 1 || len(got) != 1 || !maps.Equal(got, map[string]place{"<http://a.test/2>": records["<http://a.test/2>"]}) {
			t.Errorf("packed %t, a damaged record: %v, %d errors", pack, got, errs)
		}
	}
}
