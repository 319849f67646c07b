package wire_test

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/internal/wire"
)

const stored = "\x01\x04POST\x02\x05other\x03\x02\x01A\x00\x06Accept\x03*/*\x04\x03q=1\x05\x01\x01p\x012\x06\x0ehttp://proxy:1\a\x01\x01c\x013" +
	"\b\x06\x04list\x03\x02\x04\x06\x01a\x0e\a\x03\x0e\x03\x01\x02\x01m\x04\x03\x13\x03\x01f\x02\x00\x00\x00\x00\x00\x00\xf8?\x01g\x00\x01n\b\t\x03nil\x00" +
	"\x01p\x01\x05point\r{\"X\":1,\"Y\":2}\x01t\a\x0f\x01\x00\x00\x00\x0e\xdc\xe5\xe8\x00\x00\x00\x00\x05\xff\xff\t?\n\x01\v\x01\x11http://b.example/" +
	"\f\x80\xf8\x82\xad\x16\r\x02\x94\x03\xf4\x03\x0e\x01s\x0f\x01d\x10\b\x11\x02\x01\x02\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\t"

// full has a value in each field.
func full() wire.Request {
	proxy := "http://proxy:1"
	return wire.Request{
		URL: "http://a.example/x?y=1", Method: "POST", Parser: "other", Header: map[string]string{"Accept": "*/*", "A": ""}, Body: []byte("q=1"),
		Params: map[string]string{"p": "2"}, Proxy: &proxy, Cookies: map[string]string{"c": "3"},
		Meta: map[string]any{
			"nil": nil, "n": -5, "list": []any{"a", uint8(7), []byte{1, 2}}, "m": map[string][]float64{"f": {1.5}, "g": nil},
			"t": time.Unix(1700000000, 5).UTC(), "p": point{1, 2},
		},
		Flags:        wire.Flags{NoRedirects: true, DoNotFilter: true, Spool: true, ChainFiltered: true, ChainSetCookie: true, Partial: true},
		MaxRedirects: -1, Redirects: []string{"http://b.example/"}, Chain: [][16]byte{{1, 2, 3}, {15: 9}},
		Extras: wire.Extras{Timeout: 3 * time.Second, AllowStatus: []uint64{404, 500}, Slot: "s", Downloader: "d", MaxConns: 4, Variant: "v", Session: "s2"},
	}
}

func refuse(_ string, err error) error { return err }

// Jobs are stored for years: these bytes were written by a version before this package was. It fails when a tag, a type of
// values or the form of a field changes.
func TestStoredRequest(t *testing.T) {
	for _, tt := range []struct {
		id   string
		uuid uuid.UUID
		tail string
	}{
		{id: "", tail: ""},
		{id: "mine", tail: "\x13\x04mine"},
		{id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", tail: "\x12k\xa7\xb8\x10\x9d\xad\x11р\xb4\x00\xc0O\xd40\xc8"},
		{id: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", uuid: uuid.MustParse("6ba7b810-9dad-11d1-80b4-00c04fd430c8"), tail: "\x12k\xa7\xb8\x10\x9d\xad\x11р\xb4\x00\xc0O\xd40\xc8"},
		{id: "6BA7B810-9DAD-11D1-80B4-00C04FD430C8", tail: "\x13\x246BA7B810-9DAD-11D1-80B4-00C04FD430C8"}, // not its usual form
	} {
		r := full()
		r.CtxID, r.UUID = tt.id, tt.uuid
		want := stored + tt.tail + "\x15\x01v\x16\x02s2\x00http://a.example/x?y=1"
		data, err := r.Append([]byte("before"), values, refuse)
		if err != nil || string(data) != "before"+want {
			t.Errorf("CtxID %q: %q, %v; want %q", tt.id, data, err, want)
		}
		var back wire.Request
		if err := back.Read([]byte(want), values); err != nil {
			t.Fatal(err)
		}
		if r.UUID = (uuid.UUID{}); !reflect.DeepEqual(back, r) {
			t.Errorf("read %+v, want %+v", back, r)
		}
	}
}

// A request that has only its URL takes one byte more than that, and a reader need not decode it.
func TestPlainRequest(t *testing.T) {
	const url = "http://a.example/"
	r := wire.Request{URL: url, MaxRedirects: wire.DefaultMaxRedirects}
	data, err := r.Append(nil, values, refuse)
	if err != nil || string(data) != "\x00"+url || !bytes.Equal(data, wire.AppendPlain(nil, url)) {
		t.Errorf("%q, %v", data, err)
	}
	if parser, got, plain := wire.IsPlain(data); !plain || string(got) != url || len(parser) != 0 {
		t.Errorf("%q, %q, %v", parser, got, plain)
	}
	r.Parser = "list"
	if data, err = r.Append(nil, values, refuse); err != nil || !bytes.Equal(data, wire.AppendNamed(nil, "list", url)) {
		t.Errorf("%q, %v", data, err)
	}
	if parser, got, plain := wire.IsPlain(data); !plain || string(got) != url || string(parser) != "list" {
		t.Errorf("%q, %q, %v", parser, got, plain)
	}
	for _, parser := range []string{"", "list"} {
		marked := wire.Request{URL: url, Parser: parser, MaxRedirects: wire.DefaultMaxRedirects, UUID: uuid.UUID{1: 2, 15: 3}}
		if long, err := marked.Append(nil, values, refuse); err != nil || !bytes.Equal(long, wire.AppendMarked(nil, parser, marked.UUID, url)) {
			t.Errorf("with a CtxID: %q, %v", long, err)
		}
	}
	for cut := range len(data) - len(url) {
		if _, _, plain := wire.IsPlain(data[:cut]); plain {
			t.Errorf("%q is plain", data[:cut])
		}
	}
	whole := full()
	if data, err = whole.Append(nil, values, refuse); err != nil {
		t.Fatal(err)
	}
	for _, data := range [][]byte{data, nil} {
		if _, _, plain := wire.IsPlain(data); plain {
			t.Errorf("%q is plain", data)
		}
	}
}

// Whoever writes decides about a value that does not fit: it is left out, or nothing is written. It fails if the number of
// values stays what it was.
func TestUnfitMeta(t *testing.T) {
	for most := range 200 {
		r := wire.Request{URL: "u", Meta: map[string]any{"unfit": make(chan int)}}
		for i := range most {
			r.Meta[string(rune('a'+i%26))+string(rune('a'+i/26))] = i
		}
		var asked []string
		data, err := r.Append(nil, values, func(key string, err error) error { asked = append(asked, key); return nil })
		if err != nil || !slices.Equal(asked, []string{"unfit"}) {
			t.Fatal(asked, err)
		}
		var back wire.Request
		if err := back.Read(data, values); err != nil {
			t.Fatal(err)
		}
		if delete(r.Meta, "unfit"); !reflect.DeepEqual(back.Meta, r.Meta) {
			t.Fatalf("%d values: %v", most, back.Meta)
		}
	}
	r, no := full(), errors.New("no")
	r.Meta["unfit"] = make(chan int)
	if data, err := r.Append([]byte("before"), values, func(string, error) error { return no }); err != no || string(data) != "before" {
		t.Errorf("%q, %v", data, err)
	}
}

// FuzzRequest reads bytes that nobody wrote.
func FuzzRequest(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		r := full()
		r.Meta["random"] = randomValue(rng, 0)
		data, err := r.Append(nil, values, refuse)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	huge := wire.AppendUint(nil, math.MaxUint64)
	for tag := range byte(22) {
		f.Add(append([]byte{tag}, huge...))
	}
	const meta, slice, dictionary, scalar, anything = 8, 3, 4, 5, 2
	f.Add([]byte{meta, 1, 1, 'x', slice, dictionary, slice, scalar, 0xff, 0xff, 0x7f})
	f.Add(append([]byte{meta, 1, 1, 'x'}, bytes.Repeat([]byte{slice}, 1000)...))
	f.Add(append([]byte{meta, 1, 1, 'x'}, bytes.Repeat([]byte{slice, anything, 2}, 1000)...))
	f.Add([]byte{10, 20, 0}) // ten redirects, which is the default
	f.Fuzz(func(t *testing.T, data []byte) {
		r := wire.Request{Method: wire.DefaultMethod, MaxRedirects: wire.DefaultMaxRedirects} // what a field has that is not written
		back := r
		if r.Read(data, values) != nil {
			return
		}
		once, err := r.Append(nil, values, refuse)
		if err != nil {
			return // such as values nested to the very limit
		}
		if err := back.Read(once, values); err != nil {
			t.Fatalf("what was read cannot be written and read: %v", err)
		}
		if twice, err := back.Append(nil, values, refuse); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("written %x, then %x, %v", once, twice, err)
		}
	})
}

// Bytes that announce more than they have take little memory. It fails if a list is made as long as its number says.
func TestReadIsBounded(t *testing.T) {
	if israce.Enabled {
		t.Skip("the race detector allocates")
	}
	huge, filler := wire.AppendUint(nil, math.MaxUint64>>1), make([]byte, 1<<10)
	for tag := range byte(22) {
		for _, size := range [][]byte{huge, {0xff, 0x07}} {
			data := append(append([]byte{tag}, size...), filler...)
			if n := allocated(func() { new(wire.Request).Read(data, values) }); deep.Checks() && n > 256<<10 {
				t.Errorf("tag %d: %d bytes allocated for %d", tag, n, len(data))
			}
		}
	}
}

// allocated returns how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Each flag has its own bit for ever, and comes back.
func TestFlags(t *testing.T) {
	for bit, flags := range []wire.Flags{{NoRedirects: true}, {DoNotFilter: true}, {Spool: true}, {ChainFiltered: true}, {ChainSetCookie: true}, {Partial: true}} {
		w := wire.Request{URL: "http://a.example/", Method: wire.DefaultMethod, MaxRedirects: wire.DefaultMaxRedirects, Flags: flags}
		data, err := w.Append(nil, &wire.Values{}, refuse)
		if err != nil || !bytes.Contains(data, []byte{1 << bit}) {
			t.Errorf("%+v is stored as %q, %v", flags, data, err)
		}
		var back wire.Request
		if err := back.Read(data, &wire.Values{}); err != nil || back.Flags != flags {
			t.Errorf("%+v comes back as %+v, %v", flags, back.Flags, err)
		}
	}
}
