package tegenaria

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/funcname"
	"github.com/tegenaria/tegenaria/internal/identity"
	"github.com/tegenaria/tegenaria/internal/wire"
)

type metaPoint struct{ X, Y int }

type metaColor string

var testMetaTypes = map[string]reflect.Type{"point": reflect.TypeFor[metaPoint](), "points": reflect.TypeFor[*metaPoint]()}

func testCodec(t testing.TB, durable bool) *codec {
	t.Helper()
	parsers, err := newParserTable(&pointerSpider{BaseSpider: &BaseSpider{}}, []namedParser{{"plain", parsePlain}, {"other", parseOther}})
	if err != nil {
		t.Fatal(err)
	}
	return &codec{durable: durable, parsers: parsers, values: wire.Values{Types: testMetaTypes}, bodyLimit: 1 << 10}
}

// fields lists the fields of a decoded request; funcs by name.
func fields(t *testing.T, c *codec, r *Request) string {
	t.Helper()
	name, ok := c.parsers.Name(r.parser)
	if !ok {
		name = "unnamed"
	}
	if r.named {
		name = r.parserName
	}
	method := r.Method
	if method == "" {
		method = GET
	}
	proxy := "none"
	if r.Proxy != nil {
		proxy = r.Proxy.ProxyUrl
	}
	return fmt.Sprintf("%q %q parser=%q header=%q body=%q params=%q proxy=%q cookies=%q meta=%s redirects=%v/%d/%q timeout=%v allow=%v slot=%q dl=%q conns=%d filter=%v spool=%v partial=%v chain=%v/%v/%x live=%v",
		r.Url, method, name, r.Header, r.Body, r.Params, proxy, r.Cookies, metaString(r.Meta), r.AllowRedirects, r.MaxRedirects, r.Redirects,
		r.extras().Timeout, r.extras().AllowStatus, r.extras().Slot, r.extras().Downloader, r.extras().MaxConns, r.doNotFilter, r.spool, r.partial, r.extras().chain.Filtered, r.extras().chain.SetCookie, r.extras().chain.Keys, r.ResponseWriter)
}

// metaString prints values as they are stored, with their types.
func metaString(v any) string {
	data, err := (&wire.Values{Types: testMetaTypes}).Append(nil, v)
	return fmt.Sprintf("%x %v", data, err)
}

func randomText(rng *rand.Rand) string {
	b := make([]byte, rng.IntN(12))
	for i := range b {
		b[i] = byte(rng.UintN(256))
	}
	return string(b)
}

func randomTexts(rng *rand.Rand) map[string]string {
	m := make(map[string]string)
	for range 1 + rng.IntN(3) {
		m[randomText(rng)] = randomText(rng)
	}
	return m
}

// randomValue makes a value that a durable cache stores; package wire tries them all.
func randomValue(rng *rand.Rand) any {
	return []any{nil, true, randomText(rng), rng.Int() - rng.Int(), []byte(randomText(rng)), time.Unix(rng.Int64N(1<<34), 1).UTC(), metaPoint{1, 2},
		&metaPoint{3, 4}, []any{randomText(rng), nil}, map[string]any{randomText(rng): 1.5}, map[string][]string{"a": {"b"}}}[rng.IntN(11)]
}

// randomRequest sets each field of a request or leaves it.
func randomRequest(rng *rand.Rand) *Request {
	r := NewRequest("http://example.com/"+randomText(rng), []string{GET, GET, POST, "", "get"}[rng.IntN(5)], nil)
	sometimes := func(set func()) {
		if rng.IntN(4) == 0 {
			set()
		}
	}
	sometimes(func() { r.parser = parsePlain })
	sometimes(func() { r.parserName, r.named = []string{"", "other"}[rng.IntN(2)], true })
	sometimes(func() { r.Header = randomTexts(rng) })
	sometimes(func() { r.Body = []byte(randomText(rng)) })
	sometimes(func() { r.Params = randomTexts(rng) })
	sometimes(func() { r.Proxy = &Proxy{ProxyUrl: randomText(rng)} })
	sometimes(func() { r.Cookies = randomTexts(rng) })
	sometimes(func() {
		r.Meta = map[string]any{}
		for range rng.IntN(5) {
			r.Meta[randomText(rng)] = randomValue(rng)
		}
	})
	sometimes(func() { r.AllowRedirects = false })
	sometimes(func() { r.MaxRedirects = rng.IntN(30) - 3 })
	sometimes(func() { r.Redirects = []string{randomText(rng), "http://b/"} })
	sometimes(func() { r.newExtras().Timeout = time.Duration(rng.Int64()) - time.Hour })
	sometimes(func() { r.newExtras().AllowStatus = []uint64{404, rng.Uint64()} })
	sometimes(func() { r.newExtras().Slot = randomText(rng) })
	sometimes(func() { r.newExtras().Downloader = randomText(rng) })
	sometimes(func() { r.newExtras().Variant = randomText(rng) })
	sometimes(func() { r.newExtras().MaxConns = rng.IntN(100) })
	sometimes(func() { r.doNotFilter = true })
	sometimes(func() { r.spool = true })
	sometimes(func() { r.partial = true })
	sometimes(func() { r.newExtras().chain.Filtered = true })
	sometimes(func() { r.newExtras().chain.SetCookie = true })
	sometimes(func() { r.newExtras().chain.Keys = []identity.Key{{byte(rng.Int())}, {2}} })
	return r
}

// Every request that a durable cache accepts is restored exactly.
func TestCodecRoundTrip(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for i := range 3_000 {
		c := testCodec(t, i%2 == 0)
		r := randomRequest(rng)
		ctx := &Context{Request: r, CtxId: []string{uuid.NewString(), "mine", strings.ToUpper(uuid.NewString()), ""}[rng.IntN(4)]}
		users := rng.IntN(2) == 0
		want := fields(t, c, r)
		data, live, err := c.encode([]byte("before"), ctx, users)
		if err != nil || live != nil {
			t.Fatalf("%s: live %v, error %v", want, live, err)
		}
		data, ok := bytes.CutPrefix(data, []byte("before"))
		if !ok {
			t.Fatal("encode did not append")
		}
		back, err := c.decode(data, nil)
		if err != nil {
			t.Fatalf("%s: %v", want, err)
		}
		if got := fields(t, c, back.Request); got != want {
			t.Fatalf("sent %s\nback %s", want, got)
		}
		if back.Request.Header == nil {
			t.Fatal("no Header")
		}
		wantID := ""
		if users {
			wantID = ctx.CtxId
		}
		if back.CtxId != wantID {
			t.Fatalf("CtxId %q, want %q", back.CtxId, wantID)
		}
		again, _, err := c.encode(nil, back, users)
		if err != nil || !bytes.Equal(again, data) {
			t.Fatalf("encoded again: %x, %v; want %x", again, err, data)
		}
		for i := range data { // the bytes may be overwritten afterwards
			data[i] = 'x'
		}
		if got := fields(t, c, back.Request); got != want {
			t.Fatalf("the request has a share in the bytes: %s", got)
		}
	}
}

func TestCodecPlainRequest(t *testing.T) {
	c := testCodec(t, true)
	url := "http://example.com/page"
	own, _ := c.parsers.Lookup("")
	for _, r := range []*Request{NewRequest(url, GET, nil), NewRequest(url, "", nil), NewRequest(url, GET, own), NewRequest(url, GET, parsePlain, RequestWithParserName(""))} {
		data, live, err := c.encode(nil, NewContext(r), false)
		if err != nil || live != nil || len(data) > len(url)+4 {
			t.Errorf("%d bytes, live %v, error %v; want at most %d bytes", len(data), live, err, len(url)+4)
		}
		if fast := wire.AppendPlain(nil, url); !bytes.Equal(fast, data) {
			t.Errorf("AppendPlain %x, encode %x", fast, data)
		}
	}
	named, _, err := c.encode(nil, NewContext(NewRequest(url, GET, parsePlain)), false)
	if err != nil || len(named) > len(url)+1+len("plain")+2 {
		t.Errorf("%d bytes with a parser of 5 letters, %v", len(named), err)
	}
}

func TestCodecRefuses(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = cycle
	url := "http://example.com/"
	meta := func(v any) *Context {
		return NewContext(NewRequest(url, GET, nil, RequestWithRequestMeta(map[string]any{"ok": 1, "x": v})))
	}
	for _, tt := range []struct {
		name   string
		ctx    *Context
		field  string
		remedy string
	}{
		{"ResponseWriter", NewContext(NewRequest(url, GET, nil, RequestWithResponseWriter(&bytes.Buffer{}))), "ResponseWriter", "RequestWithSpool"},
		{"WithContext", NewContext(NewRequest(url, GET, nil), WithContext(context.Background())), "WithContext", "memory cache"},
		{"unnamed parser", NewContext(NewRequest(url, GET, closureOf(1))), "Parser", `("detail", detail)`},
		{"struct", meta(struct{ A int }{1}), "Meta[x]", "EngineWithMetaType"},
		{"deep inside", meta([]any{map[string]any{"y": metaColor("red")}}), "Meta[x]", "EngineWithMetaType"},
		{"cycle", meta(cycle), "Meta[x]", "EngineWithMetaType"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dst := []byte("before")
			data, live, err := testCodec(t, true).encode(dst, tt.ctx, true)
			var re *RequestError
			if unnamed := (*UnnamedParserError)(nil); errors.As(err, &unnamed) { // its requests do not fail one by one
				re = &RequestError{URL: unnamed.URL, Field: "Parser", Remedy: unnamed.Line}
			} else if !errors.As(err, &re) {
				t.Fatalf("error %v, want a RequestError", err)
			}
			if re.Field != tt.field || re.URL != url || !strings.Contains(re.Remedy, tt.remedy) {
				t.Errorf("error %v, want one of field %s and remedy %s", err, tt.field, tt.remedy)
			}
			if live != nil || string(data) != "before" {
				t.Errorf("data %q, live %v beside the error", data, live)
			}

			c := testCodec(t, false)
			data, live, err = c.encode(nil, tt.ctx, true)
			if err != nil || live == nil {
				t.Fatalf("memory cache: live %v, error %v", live, err)
			}
			back, err := c.decode(data, live)
			if err != nil {
				t.Fatal(err)
			}
			r, sent := back.Request, tt.ctx.Request
			if r.ResponseWriter != sent.ResponseWriter || back.Ctx != tt.ctx.Ctx || back.CtxId != tt.ctx.CtxId {
				t.Errorf("back %v, sent %v", back, tt.ctx)
			}
			if sent.parser != nil && funcname.Of(r.parser) != funcname.Of(sent.parser) {
				t.Error("another parser")
			}
			if len(r.Meta) != len(sent.Meta) || reflect.TypeOf(r.Meta["x"]) != reflect.TypeOf(sent.Meta["x"]) || sent.Meta != nil && r.Meta["ok"] != 1 {
				t.Errorf("Meta %v", r.Meta)
			}
		})
	}
}

func TestCodecErrors(t *testing.T) {
	url := "http://example.com/"
	broken := errors.New("broken")
	for _, tt := range []struct {
		name  string
		opt   func() RequestOption
		field string
		is    error
	}{
		{"body too large", func() RequestOption { return RequestWithBodyReader(strings.NewReader(strings.Repeat("x", 1025))) }, "BodyReader", errBodyLimit},
		{"body that cannot be read", func() RequestOption { return RequestWithBodyReader(brokenReader{broken}) }, "BodyReader", broken},
		{"unknown parser", func() RequestOption { return RequestWithParserName("nobody") }, "Parser", nil},
	} {
		for _, durable := range []bool{true, false} {
			_, _, err := testCodec(t, durable).encode(nil, NewContext(NewRequest(url, POST, nil, tt.opt())), false)
			var re *RequestError
			if !errors.As(err, &re) || re.Field != tt.field || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%s: error %v, want one of field %s", tt.name, err, tt.field)
			}
		}
	}

	r := NewRequest(url, POST, nil, RequestWithBodyReader(strings.NewReader(strings.Repeat("x", 1024))))
	c := testCodec(t, true)
	data, _, err := c.encode(nil, NewContext(r), false)
	if err != nil {
		t.Fatal(err)
	}
	if back, err := c.decode(data, nil); err != nil || len(back.Request.Body) != 1024 {
		t.Errorf("body of the limit's size: %v", err)
	}

	// The job is opened by a program that registers less.
	data, _, err = c.encode(nil, NewContext(NewRequest(url, GET, parsePlain)), false)
	if err != nil {
		t.Fatal(err)
	}
	fewer, err := newParserTable(&pointerSpider{BaseSpider: &BaseSpider{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var re *RequestError
	if _, err := (&codec{parsers: fewer}).decode(data, nil); !errors.As(err, &re) || re.Field != "Parser" {
		t.Errorf("a parser that is gone: %v", err)
	}
	data, _, err = c.encode(nil, NewContext(NewRequest(url, GET, nil, RequestWithRequestMeta(map[string]any{"p": metaPoint{}}))), false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (&codec{parsers: fewer}).decode(data, nil); err == nil || !strings.Contains(err.Error(), `"point"`) {
		t.Errorf("a type that is gone: %v", err)
	}
}

// What waits does not change when the sender goes on using its maps and slices.
func TestCodecCopiesMeta(t *testing.T) {
	for _, durable := range []bool{true, false} {
		c := testCodec(t, durable)
		list, body, header := []any{1, "a"}, []byte("body"), map[string]string{"A": "1"}
		meta := map[string]any{"list": list, "map": map[string]int{"a": 1}, "point": metaPoint{1, 2}}
		if !durable {
			meta["odd"] = make(chan int)
		}
		r := NewRequest("http://h/", GET, nil, RequestWithBody(body))
		r.Meta, r.Header = meta, header
		want := metaString(map[string]any{"list": []any{1, "a"}, "map": map[string]int{"a": 1}, "point": metaPoint{1, 2}})
		data, live, err := c.encode(nil, NewContext(r), false)
		if err != nil {
			t.Fatal(err)
		}
		list[0], body[0], header["A"] = 2, 'x', "2"
		meta["map"].(map[string]int)["a"] = 2
		meta["new"] = true
		delete(meta, "odd")
		for range 2 { // a retry decodes it again
			back, err := c.decode(data, live)
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := back.Request.Meta["odd"]; ok == durable {
				t.Errorf("odd value is there: %v", ok)
			}
			delete(back.Request.Meta, "odd")
			if got := metaString(back.Request.Meta); got != want || string(back.Request.Body) != "body" || back.Request.Header["A"] != "1" {
				t.Errorf("Meta %s, body %s, header %v", got, back.Request.Body, back.Request.Header)
			}
			back.Request.Meta["list"].([]any)[0] = 3
		}
	}
}

func BenchmarkCodec(b *testing.B) {
	c := testCodec(b, false)
	meta := map[string]any{"category": "books", "page": 3}
	for _, bench := range []struct {
		name string
		r    *Request
	}{
		{"plain", NewRequest("http://www.example.com/catalogue/page-3.html", GET, nil)},
		{"parser", NewRequest("http://www.example.com/catalogue/page-3.html", GET, parsePlain)},
		{"meta", NewRequest("http://www.example.com/catalogue/page-3.html", GET, parsePlain, RequestWithRequestMeta(meta))},
	} {
		ctx := NewContext(bench.r)
		data, _, err := c.encode(nil, ctx, false)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("encode/"+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 1<<10)
			for b.Loop() {
				c.encode(buf, ctx, false)
			}
		})
		b.Run("decode/"+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.decode(data, nil)
			}
		})
	}
}

// A copy of a request has extras of its own from its first change on.
func TestExtrasOfCopies(t *testing.T) {
	first := NewRequest("http://a.test/", GET, nil, RequestWithTimeout(time.Second), RequestWithSlot("one"))
	second := *first
	RequestWithSlot("two")(&second)
	third := first.clone()
	RequestWithTimeout(time.Minute)(first)
	for _, tt := range []struct {
		r       *Request
		slot    string
		timeout time.Duration
	}{{first, "one", time.Minute}, {&second, "two", time.Second}, {third, "one", time.Second}} {
		if x := tt.r.extras(); x.Slot != tt.slot || x.Timeout != tt.timeout {
			t.Errorf("slot %q, timeout %s; want %q, %s", x.Slot, x.Timeout, tt.slot, tt.timeout)
		}
	}
	if NewRequest("http://a.test/", GET, nil); noExtras.stored() {
		t.Error("the extras of requests without any were changed")
	}
}
