package warc_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/warc"
)

// written returns the bytes of an archive with some pages.
func written(t testing.TB, ending string, pages int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.warc"+ending)
	l := restored(t, path, answers{}, warc.Options{})
	var ids []string
	for n := range pages {
		ids = append(ids, fmt.Sprint(n))
		download(l, ids[n], fmt.Sprint("http://a.test/", n))
	}
	end(t, l, ids...)
	return readFile(t, path)
}

// place is where a record is.
type place struct{ offset, length int64 }

// readAll returns the records of an archive by their ids, and how many errors there were.
func readAll(t testing.TB, data []byte) (records map[string]place, errs int) {
	records = make(map[string]place)
	var last *warc.Record
	note := func() {
		if last != nil && last.Length > 0 {
			records[last.ID()] = place{last.Offset, last.Length}
		}
		last = nil
	}
	for r, err := range warc.Read(bytes.NewReader(data)) {
		note()
		if err != nil {
			errs++
			continue
		}
		if last = r; errs == 0 {
			if _, err := io.Copy(io.Discard, r.Block); err != nil {
				t.Log(err)
			}
		}
	}
	note()
	return records, errs
}

// Records stand one behind the other, and each can be read alone.
func TestRead(t *testing.T) {
	for _, ending := range []string{"", ".gz", ".zst"} {
		data := written(t, ending, 20)
		records, errs := readAll(t, data)
		var sum int64
		for id, p := range records {
			sum += p.length
			if one, errs := readAll(t, data[p.offset:p.offset+p.length]); errs > 0 || one[id] != (place{0, p.length}) {
				t.Errorf("%q: %s alone is %v, %d errors", ending, id, one, errs)
			}
		}
		if errs > 0 || len(records) != 41 || sum != int64(len(data)) {
			t.Errorf("%q: %d records of %d bytes in %d, %d errors", ending, len(records), sum, len(data), errs)
		}
	}
}

// What is damaged is skipped, and what is behind it is read. It fails if damage to one record costs more than its neighbour.
func TestReadDamaged(t *testing.T) {
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	for _, ending := range []string{"", ".gz", ".zst"} {
		data := written(t, ending, 20)
		whole, _ := readAll(t, data)
		for range 100 {
			damaged := bytes.Clone(data)
			at := random.IntN(len(data) - 50)
			for i := range 20 {
				damaged[at+i] = byte(random.Uint32())
			}
			got, _ := readAll(t, damaged)
			missing := 0
			for id := range whole {
				if _, ok := got[id]; !ok {
					missing++
				}
			}
			if missing > 3 {
				t.Errorf("seed %d, %q: 20 bytes at %d cost %d records", seed, ending, at, missing)
			}
		}
	}
}

// FuzzRead fails if reading panics, does not end, or goes beyond what there is.
func FuzzRead(f *testing.F) {
	for _, ending := range []string{"", ".gz", ".zst"} {
		f.Add(written(f, ending, 2))
	}
	f.Add(packedWith(f, true, pageRecord("http://a.test/", "a")))
	f.Fuzz(func(t *testing.T, data []byte) {
		deep.Growth(t, deep.Stretched(data), func(data []byte) {
			for r, err := range warc.Read(bytes.NewReader(data)) {
				if err == nil {
					_, _ = io.Copy(io.Discard, r.Block)
				}
			}
		})
		end := int64(0)
		for r, err := range warc.Read(bytes.NewReader(data)) {
			if err != nil {
				continue
			}
			if r.Offset < end || r.Offset > int64(len(data)) {
				t.Errorf("a record at %d, behind %d", r.Offset, end)
			}
			end = r.Offset
			if _, err := io.Copy(io.Discard, io.LimitReader(r.Block, 1<<20)); err != nil {
				continue
			}
		}
	})
}
