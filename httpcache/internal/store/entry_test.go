package store_test

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/tegenaria/tegenaria/httpcache/internal/store"
)

// FuzzEntries reads rubbish as the entries of a key: it is refused, or what was read can be written and read again.
func FuzzEntries(f *testing.F) {
	key := keyOf("http://a/")
	f.Add([]byte{})
	f.Add(store.Encode(nil))
	f.Add(store.Encode([]*store.Entry{{}}))
	f.Add(store.Encode([]*store.Entry{entry(key, "Accept", "x"), entry(key)}))
	f.Add(bytes.Repeat([]byte{0xff}, 100))
	f.Fuzz(func(t *testing.T, row []byte) {
		entries, err := store.Decode(key, row)
		if err != nil {
			return
		}
		again, err := store.Decode(key, store.Encode(entries))
		if err != nil || !reflect.DeepEqual(entries, again) {
			t.Errorf("%x: %+v, again %+v, %v", row, entries, again, err)
		}
	})
}

// FuzzKey writes a key as a row and reads that.
func FuzzKey(f *testing.F) {
	f.Add("http://a/", "GET", "", "")
	f.Add("\x00", "\x00\x01", "\xff\x00", "\x01\x00")
	f.Fuzz(func(t *testing.T, url, method, body, identity string) {
		key := store.Key{URL: url, Method: method, Body: body, Identity: identity}
		if again, ok := store.ParseRow(store.Row(key)); !ok || again != key {
			t.Errorf("%q: read as %q, %v", key, again, ok)
		}
	})
}

// Each cut of a row of entries is refused, and so is what is longer.
func TestCutEntries(t *testing.T) {
	key := keyOf("http://a/")
	row := store.Encode([]*store.Entry{entry(key, "Accept", "x"), entry(key)})
	for n := range row {
		if _, err := store.Decode(key, row[:n]); err == nil {
			t.Errorf("the first %d of %d bytes are read", n, len(row))
		}
	}
	if _, err := store.Decode(key, append(row, 0)); err == nil {
		t.Error("one byte more is read")
	}
}
