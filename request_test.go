package tegenaria_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"maps"
	"slices"
	"sync"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/enginetest"
)

// fetchOne sends one request through an engine and returns what came of it.
func fetchOne(t *testing.T, r *tegenaria.Request, opts ...tegenaria.EngineOption) (ctx *tegenaria.Context, herr *tegenaria.HandleError) {
	t.Helper()
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) { req <- tegenaria.NewContext(r) }
	s.Parse = parserOf(func(got *tegenaria.Context) error { ctx = got; return nil })
	enginetest.MustRun(t, enginetest.NewEngine(nil, s, opts...))
	if errs := s.Errors(); len(errs) > 0 {
		herr = errs[0]
	}
	return ctx, herr
}

// What each option makes the server see.
func TestRequestOptions(t *testing.T) {
	server, _ := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		cookies := map[string]string{}
		for _, c := range r.Cookies() {
			cookies[c.Name] = c.Value
			http.SetCookie(w, c)
		}
		json.NewEncoder(w).Encode(map[string]any{"method": r.Method, "target": r.RequestURI, "body": string(body), "type": r.Header.Get("Content-Type"),
			"own": r.Header.Get("X-Own"), "cookies": cookies})
	})
	for _, tt := range []struct {
		name   string
		method string
		path   string
		opts   []tegenaria.RequestOption
		want   string // of the answer, as JSON; what is not named is ""
	}{
		{"GET", "GET", "/", nil, `{"method":"GET","target":"/"}`},
		{"empty method", "", "/", nil, `{"method":"GET","target":"/"}`},
		{"header", "GET", "/", []tegenaria.RequestOption{tegenaria.RequestWithRequestHeader(map[string]string{"X-Own": "1"})}, `{"method":"GET","target":"/","own":"1"}`},
		{"POST of a map", "POST", "/", []tegenaria.RequestOption{tegenaria.RequestWithRequestBody(map[string]any{"a": []int{1, 2}})},
			`{"method":"POST","target":"/","body":"{\"a\":[1,2]}","type":"application/json"}`},
		{"PUT of JSON", "PUT", "/", []tegenaria.RequestOption{tegenaria.RequestWithJSON("x")}, `{"method":"PUT","target":"/","body":"\"x\"","type":"application/json"}`},
		{"PATCH of bytes", "PATCH", "/", []tegenaria.RequestOption{tegenaria.RequestWithBody([]byte("raw"))}, `{"method":"PATCH","target":"/","body":"raw"}`},
		{"POST of a reader", "POST", "/", []tegenaria.RequestOption{tegenaria.RequestWithBodyReader(strings.NewReader("stream"))}, `{"method":"POST","target":"/","body":"stream"}`},
		{"POST of a form", "POST", "/", []tegenaria.RequestOption{tegenaria.RequestWithForm(url.Values{"a": {"1", "2"}})},
			`{"method":"POST","target":"/","body":"a=1\u0026a=2","type":"application/x-www-form-urlencoded"}`},
		{"own Content-Type", "POST", "/", []tegenaria.RequestOption{tegenaria.RequestWithRequestHeader(map[string]string{"content-type": "text/x"}), tegenaria.RequestWithJSON(1)},
			`{"method":"POST","target":"/","body":"1","type":"text/x"}`},
		{"DELETE", "DELETE", "/", nil, `{"method":"DELETE","target":"/"}`},
		{"params", "GET", "/?a=1&b=2#frag", []tegenaria.RequestOption{tegenaria.RequestWithRequestParams(map[string]string{"b": "3", "c": "x y"})},
			`{"method":"GET","target":"/?a=1\u0026b=3\u0026c=x+y"}`},
		{"cookies", "GET", "/", []tegenaria.RequestOption{tegenaria.RequestWithRequestCookies(map[string]string{"a": "1"}), tegenaria.RequestWithRequestCookies(map[string]string{"b": "2"})},
			`{"method":"GET","target":"/","cookies":{"a":"1","b":"2"}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, herr := fetchOne(t, tegenaria.NewRequest(server+tt.path, tt.method, nil, tt.opts...))
			if herr != nil {
				t.Fatal(herr)
			}
			got := ctx.Response().Json()
			want := map[string]any{"method": "", "target": "", "body": "", "type": "", "own": "", "cookies": map[string]any{}}
			if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
				t.Fatal(err)
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got  %v\nwant %v", got, want)
			}
			if n := len(ctx.Response().Header["Set-Cookie"]); n != len(want["cookies"].(map[string]any)) {
				t.Errorf("%d Set-Cookie", n)
			}
		})
	}
}

// Meta travels with the request.
func TestRequestMeta(t *testing.T) {
	type own struct{ n int }
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	meta := map[string]any{"s": "x", "n": 1, "u": uint8(2), "f": 2.5, "b": []byte("y"), "t": time.Unix(1, 0).UTC(), "own": &own{7},
		"list": []string{"a"}, "map": map[string]any{"k": int64(1)}}
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- enginetest.Send("http://a.test/", tegenaria.RequestWithRequestMeta(meta))
	}
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		got := ctx.Request.Meta
		for k, v := range meta {
			if fmt.Sprintf("%T %v", got[k], got[k]) != fmt.Sprintf("%T %v", v, v) {
				t.Errorf("Meta[%s] is %T %v, want %T %v", k, got[k], got[k], v, v)
			}
		}
		if len(got) != len(meta) {
			t.Errorf("Meta has %d entries", len(got))
		}
		return nil
	})
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
}

// The defaults of a request, and that user hands never see a nil Header.
func TestRequestDefaults(t *testing.T) {
	r := tegenaria.NewRequest("http://a.test/", "GET", nil)
	if r.Header == nil || !r.AllowRedirects || r.MaxRedirects != 10 || r.Priority != 0 || r.Depth != 0 {
		t.Errorf("NewRequest made %+v", r)
	}
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- &tegenaria.Context{Request: &tegenaria.Request{Url: "http://a.test/"}}
	}
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		if ctx.Request.Header == nil || ctx.CtxId == "" {
			t.Errorf("the parser got %+v", ctx.Request)
		}
		return nil
	})
	enginetest.MustRun(t, enginetest.NewEngine(w, s))
}

// The body goes to the ResponseWriter as it comes, however large.
func TestResponseWriter(t *testing.T) {
	body := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	server, _ := enginetest.Serve(t, map[string]string{"/": body})
	path := filepath.Join(t.TempDir(), "body")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, herr := fetchOne(t, tegenaria.NewRequest(server+"/", "GET", nil, tegenaria.RequestWithResponseWriter(f)),
		tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1024}))
	if herr != nil {
		t.Fatal(herr)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != body {
		t.Errorf("the file has %d bytes, %v", len(got), err)
	}
	if r := ctx.Response(); r.ContentLength != len(body) || r.Buffer == nil || r.Buffer.Len() != 0 {
		t.Errorf("the response has %d bytes, ContentLength %d", r.Buffer.Len(), r.ContentLength)
	}
}

// A proxy is asked for the whole URL, with and without a timeout.
func TestRequestProxy(t *testing.T) {
	proxy, log := enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, "by proxy: %s", r.URL) })
	for name, opts := range map[string][]tegenaria.RequestOption{
		"plain": nil, "with a timeout": {tegenaria.RequestWithTimeout(10 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			opts := append(opts, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: proxy}))
			ctx, herr := fetchOne(t, tegenaria.NewRequest("http://a.test/x", "GET", nil, opts...))
			if herr != nil || ctx.Response().String() != "by proxy: http://a.test/x" {
				t.Errorf("%v, %v, log %v", ctx, herr, log())
			}
		})
	}
	for _, bad := range []string{"://", "ftp://a.test", "http://", "a.test:3128"} {
		_, herr := fetchOne(t, tegenaria.NewRequest("http://a.test/", "GET", nil, tegenaria.RequestWithRequestProxy(tegenaria.Proxy{ProxyUrl: bad})))
		var refused *tegenaria.RequestError
		if !errors.As(herr, &refused) || refused.Field != "Proxy" || refused.Remedy == "" {
			t.Errorf("proxy %q: %v", bad, herr)
		}
	}
}

// The timeout spans the whole exchange; what is too slow is an error without a response.
func TestRequestTimeout(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			io.WriteString(w, "first")
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(release)
	for _, path := range []string{"/header", "/body"} {
		ctx, herr := fetchOne(t, tegenaria.NewRequest(server.URL+path, "GET", nil, tegenaria.RequestWithTimeout(50*time.Millisecond)))
		var timeout *tegenaria.TimeoutError
		if ctx != nil || !errors.As(herr, &timeout) || timeout.Limit != 50*time.Millisecond || herr.Response != nil || !strings.Contains(herr.Error(), "RequestWithTimeout") {
			t.Errorf("%s: %v, %v", path, ctx, herr)
		}
	}
}

// Status codes of 400 and over are failures unless request or engine allows them.
func TestAllowedStatusCodes(t *testing.T) {
	for _, tt := range []struct {
		status          int
		request, engine []uint64
		ok              bool
	}{
		{200, nil, nil, true}, {304, nil, nil, true}, {399, nil, nil, true}, {400, nil, nil, false}, {404, nil, nil, false},
		{404, []uint64{404}, nil, true}, {404, nil, []uint64{404}, true}, {404, []uint64{403}, []uint64{500}, false},
		{500, []uint64{404}, []uint64{500}, true}, {404, []uint64{404}, []uint64{500}, true}, {200, []uint64{404}, nil, true},
	} {
		w := enginetest.NewWorld().Page("http://a.test/", enginetest.Status(tt.status))
		s := enginetest.NewSpider()
		s.Start = func(req chan<- *tegenaria.Context) {
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithAllowedStatusCode(tt.request))
		}
		parsed := false
		s.Parse = parserOf(func(*tegenaria.Context) error { parsed = true; return nil })
		enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithAllowStatusCode(tt.engine)))
		if parsed != tt.ok || (len(s.Errors()) == 0) != tt.ok {
			t.Errorf("%+v: parsed %t, errors %v", tt, parsed, s.Errors())
			continue
		}
		if tt.ok {
			continue
		}
		herr := s.OnlyError(t)
		var refused *tegenaria.StatusError
		if !errors.As(herr, &refused) || refused.Status != tt.status || herr.Stage != tegenaria.StageStatus || herr.Response == nil || herr.Response.String() != http.StatusText(tt.status) {
			t.Errorf("ErrorHandler got %+v", herr)
		}
	}
}

// NotBefore keeps a request waiting; DoNotFilter lets it pass again.
func TestDoNotFilter(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Parse = enginetest.Nothing
	s.Start = func(req chan<- *tegenaria.Context) {
		for range 3 {
			req <- enginetest.Send("http://a.test/")
			req <- enginetest.Send("http://a.test/", tegenaria.RequestWithDoNotFilter(true))
		}
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	enginetest.WantOutcomes(t, stats, map[tegenaria.Outcome]int64{tegenaria.Fetched: 4, tegenaria.Duplicate: 2})
}

// A request that is kept and sent twice is the same one.
func TestSameRequestTwice(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", echoBody)
	r := tegenaria.NewRequest("http://a.test/", "POST", nil, tegenaria.RequestWithBodyReader(bytes.NewReader([]byte("b"))))
	s := enginetest.NewSpider()
	var bodies []string
	s.Parse = parserOf(func(ctx *tegenaria.Context) error { bodies = append(bodies, ctx.Response().String()); return nil })
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(r)
		req <- tegenaria.NewContext(r)
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s))
	if stats.Outcomes[tegenaria.Duplicate] != 1 || len(bodies) != 1 || bodies[0] != "POST b" {
		t.Errorf("outcomes %v, bodies %q", stats.Outcomes, bodies)
	}
}

// DownloadResult and the Context's methods outside of a run.
func TestContextOutsideOfARun(t *testing.T) {
	var none *tegenaria.Context
	if none.Response() != nil || none.Err() != nil || none.Done() != nil || none.Value("k") != nil {
		t.Error("a nil Context is not an empty one")
	}
	ctx := tegenaria.NewContext(nil)
	if ctx.Response() != nil || ctx.CtxId == "" || ctx.Err() != nil {
		t.Errorf("NewContext(nil) made %+v", ctx)
	}
	ctx.SlotDelay(time.Second)
	var _ context.Context = ctx
}

func TestAllowsStatus(t *testing.T) {
	r := tegenaria.NewRequest("http://a.test/", tegenaria.GET, nil, tegenaria.RequestWithAllowedStatusCode([]uint64{304, 404}))
	for code, want := range map[int]bool{304: true, 404: true, 200: false, -404: false} {
		if got := r.AllowsStatus(code); got != want {
			t.Errorf("AllowsStatus(%d) is %v", code, got)
		}
	}
}

func TestRequestWithSameDepth(t *testing.T) {
	w := enginetest.NewWorld().
		Page("http://a.test/", enginetest.Page()).
		Page("http://a.test/same", enginetest.Redirect(302, "http://a.test/moved")).
		Page("http://a.test/moved", enginetest.Page()).
		Page("http://a.test/child", enginetest.Page()).
		Page("http://a.test/grandchild", enginetest.Page())
	s := enginetest.NewSpider("http://a.test/")
	s.Parse = func(resp *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
		send := func(url string, opts ...tegenaria.RequestOption) {
			req <- tegenaria.NewContext(tegenaria.NewRequest(url, tegenaria.GET, nil, opts...))
		}
		switch resp.Request.Url {
		case "http://a.test/":
			send("http://a.test/same", tegenaria.RequestWithSameDepth())
		case "http://a.test/moved":
			send("http://a.test/child")
		case "http://a.test/child":
			send("http://a.test/grandchild")
		}
		return nil
	}
	stats := enginetest.MustRun(t, enginetest.NewEngine(w, s, tegenaria.EngineWithLimits(tegenaria.Limits{Depth: 1})))
	want := map[string]int{"http://a.test/": 0, "http://a.test/same": 0, "http://a.test/moved": 0, "http://a.test/child": 1}
	visits := w.Visits()
	for _, v := range visits {
		if depth, ok := want[v.Url]; !ok || v.Req.Depth != depth {
			t.Errorf("%s has depth %d", v.Url, v.Req.Depth)
		}
	}
	if len(visits) != len(want) || stats.Reasons["filtered: depth"] != 1 {
		t.Errorf("asked for %v, reasons %v", w.Urls(), stats.Reasons)
	}
}

// What docs/options.md says about requests written by hand: they work, and follow no redirects.
func TestRequestByHand(t *testing.T) {
	w := enginetest.NewWorld().Page("http://a.test/", enginetest.Redirect(302, "/2")).Page("http://a.test/2", enginetest.Text("x"))
	s := enginetest.NewSpider()
	s.Start = func(req chan<- *tegenaria.Context) {
		req <- tegenaria.NewContext(&tegenaria.Request{Url: "http://a.test/"})
	}
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		if r := ctx.Request; ctx.Response().Status != 302 || r.Header == nil {
			t.Errorf("the parser got %d, header %v", ctx.Response().Status, r.Header)
		}
		return nil
	})
	enginetest.WantOutcomes(t, enginetest.MustRun(t, enginetest.NewEngine(w, s)), map[tegenaria.Outcome]int64{tegenaria.Fetched: 1})
}

// methodsAsked serves a site that writes down the methods by which its paths were asked for.
func methodsAsked(t *testing.T) (site string, asked func() map[string]string) {
	var mu sync.Mutex
	methods := make(map[string]string)
	site, _ = enginetest.ServeFunc(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if methods[r.URL.Path] != "" {
			methods[r.URL.Path] += " "
		}
		methods[r.URL.Path] += r.Method
	})
	return site, func() map[string]string {
		mu.Lock()
		defer mu.Unlock()
		methods := maps.Clone(methods)
		delete(methods, "/robots.txt")
		return methods
	}
}

// A request with a body and no method is a POST, whichever way it is made and sent, and with each cache. A GET that was asked for
// stays. It fails if a form is sent by GET because nobody named a method.
func TestMethodOfABody(t *testing.T) {
	form := tegenaria.RequestWithForm(url.Values{"q": {"x"}})
	method := tegenaria.RequestWithMethod
	type handle struct {
		site string
		r    *tegenaria.Response
		out  *tegenaria.Output[any]
	}
	newRequest := func(m string, opts ...tegenaria.RequestOption) func(string, handle) error {
		return func(path string, h handle) error {
			return h.out.Request(tegenaria.NewRequest(h.site+path, m, nil, opts...))
		}
	}
	follow := func(opts ...tegenaria.RequestOption) func(string, handle) error {
		return func(path string, h handle) error { return h.out.Follow(path, opts...) }
	}
	request := func(change func(r *tegenaria.Request), opts ...tegenaria.RequestOption) func(string, handle) error {
		return func(path string, h handle) error {
			r, err := h.r.Follow(path, opts...)
			if err != nil {
				return err
			}
			change(r)
			return h.out.Request(r)
		}
	}
	ways := map[string]struct {
		send func(path string, h handle) error
		want string
	}{
		"/new/empty":          {newRequest(""), "GET"},
		"/new/form":           {newRequest("", form), "POST"},
		"/new/emptyform":      {newRequest("", tegenaria.RequestWithForm(nil)), "POST"},
		"/new/nobody":         {newRequest("", tegenaria.RequestWithBody(nil)), "GET"},
		"/new/json":           {newRequest("", tegenaria.RequestWithJSON(1)), "POST"},
		"/new/map":            {newRequest("", tegenaria.RequestWithRequestBody(map[string]any{"a": 1})), "POST"},
		"/new/bytes":          {newRequest("", tegenaria.RequestWithBody([]byte("x"))), "POST"},
		"/new/reader":         {newRequest("", tegenaria.RequestWithBodyReader(strings.NewReader("x"))), "POST"},
		"/new/get":            {newRequest("GET", form), "GET"},
		"/new/put":            {newRequest("PUT", form), "PUT"},
		"/new/option":         {newRequest("", method("PUT"), form), "PUT"},
		"/new/replaced":       {newRequest("POST", form, method("get")), "GET"},
		"/new/lower":          {newRequest("post", form), "POST"},
		"/new/own":            {newRequest("Purge"), "Purge"},
		"/follow/plain":       {follow(), "GET"},
		"/follow/option":      {follow(tegenaria.RequestWithPriority(1)), "GET"},
		"/follow/form":        {follow(form), "POST"},
		"/follow/json":        {follow(tegenaria.RequestWithJSON(1)), "POST"},
		"/follow/get":         {follow(method("GET"), form), "GET"},
		"/follow/getlast":     {follow(form, method("get")), "GET"},
		"/follow/patch":       {follow(form, method("patch")), "PATCH"},
		"/response/form":      {request(func(*tegenaria.Request) {}, form), "POST"},
		"/response/get":       {request(func(r *tegenaria.Request) { r.Method = tegenaria.GET }, form), "GET"},
		"/response/put":       {request(func(r *tegenaria.Request) { r.Method = "put" }, form), "PUT"},
		"/response/bodylater": {request(func(r *tegenaria.Request) { r.Method, r.Body = tegenaria.POST, []byte("x") }), "POST"},
		"/literal/none":       {func(path string, h handle) error { return h.out.Request(&tegenaria.Request{Url: h.site + path}) }, "GET"},
		"/literal/body": {func(path string, h handle) error {
			return h.out.Request(&tegenaria.Request{Url: h.site + path, Body: []byte("x")})
		}, "POST"},
		"/literal/get": {func(path string, h handle) error {
			return h.out.Request(&tegenaria.Request{Url: h.site + path, Method: tegenaria.GET, Body: []byte("x")})
		}, "GET"},
		"/fetch/form": {func(path string, h handle) error {
			_, err := h.out.Fetch(tegenaria.NewRequest(h.site+path, "", nil, form))
			return err
		}, "POST"},
		"/fetch/lower": {func(path string, h handle) error {
			_, err := h.out.Fetch(tegenaria.NewRequest(h.site+path, "head", nil))
			return err
		}, "HEAD"},
	}
	site, asked := methodsAsked(t)
	spider := tegenaria.NewSpider("test", tegenaria.Handle(func(_ context.Context, r *tegenaria.Response, out *tegenaria.Output[any]) error {
		if r.Request().Url != site+"/" {
			return nil
		}
		for path, way := range ways {
			if err := way.send(path, handle{site, r, out}); err != nil {
				return err
			}
		}
		return nil
	}), site+"/")
	enginetest.MustRun(t, tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider)))
	got := asked()
	for path, way := range ways {
		if got[path] != way.want {
			t.Errorf("%s: asked by %q, want %q", path, got[path], way.want)
		}
	}
}

// One method has one identity, however it is written, and unknown ones are sent as they are. It fails if a page is asked for twice, by
// "post" and by POST, or if "purge" is sent as PURGE.
func TestMethodsAreNormalisedBeforeIdentity(t *testing.T) {
	standard := []string{"get", "post", "put", "patch", "delete", "head", "options", "trace"}
	site, asked := methodsAsked(t)
	s := enginetest.NewSpider()
	var told []string
	s.Start = func(req chan<- *tegenaria.Context) {
		for _, m := range standard {
			for _, spelt := range []string{m, strings.ToUpper(m), strings.ToUpper(m[:1]) + m[1:]} {
				req <- tegenaria.NewContext(tegenaria.NewRequest(site+"/"+m, spelt, nil))
			}
		}
		req <- tegenaria.NewContext(tegenaria.NewRequest(site+"/own", "purge", nil))
	}
	var mu sync.Mutex
	s.Parse = parserOf(func(ctx *tegenaria.Context) error {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, ctx.Request.Method)
		return nil
	})
	enginetest.MustRun(t, enginetest.NewEngine(nil, s))
	got := asked()
	for _, m := range standard {
		if want := strings.ToUpper(m); got["/"+m] != want || !slices.Contains(told, want) {
			t.Errorf("%s: asked by %q and told as one of %q, want %q, once", m, got["/"+m], told, want)
		}
	}
	if got["/own"] != "purge" {
		t.Errorf("a method of one's own: asked by %q, want purge", got["/own"])
	}
	filter := tegenaria.NewRFPDupeFilter(1<<10, 3)
	fingerprint := func(method string) []byte {
		key, err := filter.Fingerprint(&tegenaria.Request{Url: site, Method: method, Body: []byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	if want := fingerprint("POST"); !bytes.Equal(fingerprint("post"), want) || !bytes.Equal(fingerprint(""), want) || bytes.Equal(fingerprint("GET"), want) {
		t.Error("Fingerprint does not take post, and a body without a method, for POST, or takes GET for it")
	}
}

// A middleware's method is sent as any other.
func TestMethodOfAMiddleware(t *testing.T) {
	site, asked := methodsAsked(t)
	s := enginetest.NewSpider(site + "/a")
	mw := tegenaria.MiddlewareFuncs{Request: func(ctx *tegenaria.Context) error { ctx.Request.Method = "put"; return nil }}
	enginetest.MustRun(t, enginetest.NewEngine(nil, s, tegenaria.EngineWithMiddlewares(mw)))
	if got := asked()["/a"]; got != "PUT" {
		t.Errorf("asked by %q, want PUT", got)
	}
}

// What is no token is refused when the request is sent, before any server is asked. It fails if the error does not show the method,
// or does not say what one is.
func TestMethodThatIsNoToken(t *testing.T) {
	site, asked := methodsAsked(t)
	for _, m := range []string{"GET IT", " GET", "GET\r\nX: y", "GET/", "poſt", "G\x00T"} {
		for name, r := range map[string]*tegenaria.Request{
			"NewRequest":        tegenaria.NewRequest(site, m, nil),
			"RequestWithMethod": tegenaria.NewRequest(site, tegenaria.GET, nil, tegenaria.RequestWithMethod(m)),
		} {
			_, herr := fetchOne(t, r, tegenaria.EngineWithEmptyOK())
			var wrong *tegenaria.RequestError
			switch {
			case herr == nil || !errors.As(herr, &wrong):
				t.Errorf("%s %q: %v, want a RequestError", name, m, herr)
			case wrong.Field != "Method" || wrong.URL != site || herr.Stage != tegenaria.StageAccept:
				t.Errorf("%s %q: field %s of %s at the stage %s", name, m, wrong.Field, wrong.URL, herr.Stage)
			case !strings.Contains(wrong.Error(), "RFC 9110") || !strings.Contains(wrong.Error(), "GET or POST"):
				t.Errorf("%s %q: %v", name, m, wrong)
			}
		}
	}
	if got := asked(); len(got) > 0 {
		t.Errorf("the server was asked: %v", got)
	}
}

// Every POST body was lost: the fingerprint read it and did not rewind. Fails if Request.readBody does not keep
// what it has read in Body.
func TestBodiesSurviveTheFingerprint(t *testing.T) {
	server, log := enginetest.Serve(t, map[string]string{"/": "ok"})
	for _, tt := range []struct {
		name string
		opt  tegenaria.RequestOption
		want string
	}{
		{"bytes", tegenaria.RequestWithBody([]byte("hello")), "hello"},
		{"reader", tegenaria.RequestWithBodyReader(strings.NewReader("hello")), "hello"},
		{"map", tegenaria.RequestWithRequestBody(map[string]any{"a": 1}), `{"a":1}`},
		{"form", tegenaria.RequestWithForm(url.Values{"a": {"1 2"}}), "a=1+2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			before := len(log())
			s := enginetest.NewSpider()
			s.Start = func(req chan<- *tegenaria.Context) {
				req <- tegenaria.NewContext(tegenaria.NewRequest(server+"/", tegenaria.POST, enginetest.Nothing, tt.opt))
			}
			enginetest.MustRun(t, enginetest.NewEngine(nil, s))
			if got := log()[before:]; len(got) != 1 || got[0].Method != "POST" || got[0].Body != tt.want {
				t.Errorf("the server got %+v, want one POST of %q", got, tt.want)
			}
		})
	}
}

// A value of a struct that JSON shows nothing of is refused, not sent empty.
func TestDataWithoutExportedFields(t *testing.T) {
	type hidden struct{ price string }
	type shown struct{ Price string }
	for value, want := range map[any]bool{hidden{"1"}: false, &hidden{"1"}: false, shown{"1"}: true, struct{}{}: true, time.Now(): true} {
		var err error
		switch v := value.(type) {
		case hidden:
			err = errorOf(t, tegenaria.RequestWithData(v))
		case *hidden:
			err = errorOf(t, tegenaria.RequestWithData(v))
		case shown:
			err = errorOf(t, tegenaria.RequestWithData(v))
		case struct{}:
			err = errorOf(t, tegenaria.RequestWithData(v))
		case time.Time:
			err = errorOf(t, tegenaria.RequestWithData(v))
		}
		var refused *tegenaria.DataError
		if got := !errors.As(err, &refused); got != want {
			t.Errorf("%T: %v", value, err)
		}
	}
}
