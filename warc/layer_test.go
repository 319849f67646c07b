package warc_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/warc"
)

// create makes an archive.
func create(t testing.TB, path string, o warc.Options) *warc.Archive {
	t.Helper()
	archive, err := warc.Create(path, o)
	if err != nil {
		t.Fatal(err)
	}
	return archive
}

// open opens an archive.
func open(t testing.TB, path string) *warc.Replay {
	t.Helper()
	replay, err := warc.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return replay
}

// restored returns the layer of a new archive, which is ready to record.
func restored(t testing.TB, path string, next tegenaria.Downloader, o warc.Options) layer {
	t.Helper()
	l := create(t, path, o).Layer(next).(layer)
	if err := l.Restore(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return l
}

// begin restores the layer of a new archive with one file, whose name it returns.
func begin(t *testing.T, next tegenaria.Downloader, o warc.Options) (l layer, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "a.warc.gz")
	return restored(t, path, next, o), path
}

// prepare settles requests, and returns the checkpoint.
func prepare(t testing.TB, l layer, ids ...string) []byte {
	t.Helper()
	checkpoint, err := l.Prepare(t.Context(), ids)
	if err != nil {
		t.Fatal(err)
	}
	return checkpoint
}

// end settles requests, and ends the job.
func end(t testing.TB, l layer, ids ...string) {
	t.Helper()
	prepare(t, l, ids...)
	if err := l.Close(t.Context(), "finished"); err != nil {
		t.Fatal(err)
	}
}

// recordOf returns the first record of a type, and its block.
func recordOf(t *testing.T, path, kind string) (*warc.Record, string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for r, err := range warc.Read(file) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Type() == kind {
			block, err := io.ReadAll(r.Block)
			if err != nil {
				t.Fatal(err)
			}
			return r, string(block)
		}
	}
	t.Fatalf("%s has no record of type %s", path, kind)
	return nil, ""
}

// What was staged by an attempt that runs again is forgotten, unless it is to be kept; the robots.txt that was asked for on its way stays.
func TestAttempts(t *testing.T) {
	for keep, want := range map[bool]string{
		false: "response http://a.test/robots.txt, response http://a.test/x",
		true:  "response http://a.test/robots.txt, response http://a.test/x, response http://a.test/x",
	} {
		l, path := begin(t, answers{}, warc.Options{Attempts: keep, Revisits: -1})
		download(l, "1", "http://a.test/robots.txt")
		download(l, "1", "http://a.test/x")
		l.Discard("1")
		download(l, "1", "http://a.test/x")
		end(t, l, "1")
		var got []string
		for _, r := range readRecords(t, path) {
			if strings.HasPrefix(r, "response") {
				got = append(got, r)
			}
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("keep %t: %q", keep, got)
		}
	}
}

// Records say of an exchange how it went over the network, and have what was sent, as it was sent.
func TestRecordedExchange(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Answer", "42")
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusCreated)
		w.(http.Flusher).Flush() // there is no Content-Length: it is chunked
		fmt.Fprint(w, "created")
	}))
	defer server.Close()
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	archive := create(t, path, warc.Options{Info: map[string]string{"operator": "a test\r\nof lines"}, Digest: "sha256"})
	parse := func(ctx *tegenaria.Context, _ chan<- *tegenaria.ItemMeta, _ chan<- *tegenaria.Context) error {
		return archive.Resource(ctx, "urn:picture:1", "image/png", strings.NewReader("a picture"))
	}
	address := strings.Replace(server.URL, "https://", "https://user:secret@", 1)
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithDownloaderLayers(archive.Layer), tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithTLSConfig(server.Client().Transport.(*http.Transport).TLSClientConfig), tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true}),
	)
	engine.RegisterSpiders(tegenaria.NewSpiderOf("one", parse, tegenaria.NewRequest(address+"/a%20path?q=1#part", "POST", nil,
		tegenaria.RequestWithForm(map[string][]string{"name": {"value"}}), tegenaria.RequestWithRequestHeader(map[string]string{"X-Asked": "yes", "Referer": "https://b.test/"}))))
	if err := engine.Run(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	check(t, path)
	request, block := recordOf(t, path, "request")
	for _, want := range []string{"POST /a%20path?q=1 HTTP/1.1\r\nHost: 127.0.0.1:", "\r\nX-Asked: yes\r\n", "\r\nAuthorization: Basic ", "\r\n\r\nname=value"} {
		if !strings.Contains(block, want) {
			t.Errorf("the request has no %q: %q", want, block)
		}
	}
	response, block := recordOf(t, path, "response")
	for _, want := range []string{"HTTP/1.1 201 Created\r\n", "\r\nX-Answer: 42\r\n", "\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n", "\r\n\r\ncreated"} {
		if !strings.Contains(block, want) {
			t.Errorf("the response has no %q: %q", want, block)
		}
	}
	if want := server.URL + "/a%20path?q=1"; response.URL() != want || request.URL() != want {
		t.Errorf("URLs %q, %q, want %q", response.URL(), request.URL(), want)
	}
	if got := request.Header.Get("WARC-Concurrent-To"); got != response.ID() {
		t.Errorf("the request is concurrent to %q, want %q", got, response.ID())
	}
	if got := strings.Join(response.Header.Values("WARC-Protocol"), ", "); got != "h2, tls/1.3" && got != "http/1.1, tls/1.3" {
		t.Errorf("protocol %q", got)
	}
	if got := response.Header.Get("WARC-IP-Address"); got != "127.0.0.1" || time.Since(response.Date()) > time.Hour {
		t.Errorf("address %q, date %s", got, response.Date())
	}
	_, block = recordOf(t, path, "metadata")
	if !strings.Contains(block, "outcome: downloaded\r\ndepth: 0\r\nvia: https://b.test/\r\nfetchTimeMs: ") {
		t.Errorf("metadata %q", block)
	}
	if _, block = recordOf(t, path, "warcinfo"); !strings.Contains(block, "\r\noperator: a test  of lines\r\n") {
		t.Errorf("warcinfo %q", block)
	}
	if r, block := recordOf(t, path, "resource"); block != "a picture" || r.URL() != "urn:picture:1" || r.Header.Get("Content-Type") != "image/png" {
		t.Errorf("resource %+v, %q", r, block)
	}
}

// given is a downloader that gives the same answer to all.
type given struct {
	status int
	header map[string][]string
	body   []byte
}

func (g given) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	ctx.DownloadResult = &tegenaria.RequestResult{Response: tegenaria.NewResponse(ctx.Request, g.status, g.header, g.body)}
	result <- ctx
}

func (given) CheckStatus(uint64, []uint64) bool { return true }

// A body that was written is not written again, wherever it comes from; nothing else is like it.
func TestRevisits(t *testing.T) {
	l, path := begin(t, given{200, nil, bytes.Repeat([]byte("a long body "), 100)}, warc.Options{})
	download(l, "1", "http://a.test/1")
	prepare(t, l, "1")
	download(l, "2", "http://a.test/2")
	end(t, l, "2")
	if got := check(t, path); got != "metadata=2 response=1 revisit=1 warcinfo=1\n" {
		t.Error(got)
	}
	if r, _ := recordOf(t, path, "revisit"); r.Header.Get("WARC-Truncated") != "length" {
		t.Errorf("a record without its body says %+v", r.Header)
	}
	replay := open(t, path)
	resp, err := replay.Answer(tegenaria.NewContext(tegenaria.NewRequest("http://a.test/2", "GET", nil)))
	if err != nil || len(resp.Bytes()) != 1200 {
		t.Errorf("%v, %v", resp, err)
	}
	if file, err := os.ReadFile(path); err != nil || len(file) > 2500 {
		t.Errorf("%d bytes, %v", len(file), err)
	}

	l, path = begin(t, given{http.StatusNotModified, map[string][]string{"Etag": {`"1"`}}, nil}, warc.Options{})
	download(l, "1", "http://a.test/1")
	end(t, l, "1")
	if r, block := recordOf(t, path, "revisit"); !strings.HasSuffix(r.Header.Get("WARC-Profile"), "/server-not-modified") || !strings.Contains(block, `Etag: "1"`) {
		t.Errorf("%+v, %q", r, block)
	}
	check(t, path)
}

// A body of any size goes through files, none of which is left; here one of 3 MB that cannot be packed.
func TestLargeBodies(t *testing.T) {
	large := make([]byte, 3<<20)
	rand.Read(large)
	l, path := begin(t, given{200, nil, large}, warc.Options{Memory: 100_000})
	download(l, "1", "http://a.test/1")
	download(l, "2", "http://a.test/2")
	l.Discard("2")
	end(t, l, "1")
	if got := check(t, path); got != "metadata=1 response=1 warcinfo=1\n" {
		t.Error(got)
	}
	if _, block := recordOf(t, path, "response"); !strings.HasSuffix(block, string(large)) {
		t.Errorf("%d bytes", len(block))
	}
	if all, err := os.ReadDir(filepath.Dir(path)); len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}

// Each mistake is an OptionError that names the option and the remedy. It fails if Create takes a name that Open would not read.
func TestMistakesOfOptions(t *testing.T) {
	for _, tt := range []struct {
		path    string
		options warc.Options
		option  string
		want    string // of the text
	}{
		{"", warc.Options{}, "template", "not the name of a file"},
		{"a/", warc.Options{}, "template", "not the name"},
		{"a\x00.warc", warc.Options{}, "template", "not the name"},
		{"..", warc.Options{}, "template", "not the name"},
		{"{item}.warc", warc.Options{}, "template", "unknown field {item}"},
		{"a}b.warc", warc.Options{}, "template", "a brace that is alone"},
		{"a", warc.Options{}, "template", "ends in .warc.gz, .warc.zst or .warc"},
		{"a.gz", warc.Options{}, "template", "ends in .warc.gz"},
		{"a.warc.zip", warc.Options{}, "template", "ends in .warc.gz"},
		{"a.warc.zst.gz", warc.Options{}, "template", "ends in .warc.gz"},
		{"folder/.warc", warc.Options{}, "template", "ends in .warc.gz"},
		{"{part}warc.gz", warc.Options{}, "template", "ends in .warc.gz"},
		{"a.warc", warc.Options{Digest: "md5"}, "Digest", `"sha1" and "sha256"`},
		{"a.warc", warc.Options{Size: -1}, "Size", "is -1; write a number of bytes, or 0 for 1 GiB"},
		{"a.warc", warc.Options{Memory: -1}, "Memory", "or 0 for 16 MiB"},
	} {
		_, err := warc.Create(tt.path, tt.options)
		var mistake *warc.OptionError
		if !errors.As(err, &mistake) || mistake.Option != tt.option || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q, %+v: %v", tt.path, tt.options, err)
		}
	}
	for _, path := range []string{"a{{1}}-{start}-{part}.warc", "{part}.warc.gz", "x/{spider}.warc.zst"} {
		if _, err := warc.Create(path, warc.Options{Digest: "SHA-256"}); err != nil {
			t.Error(err)
		}
	}
}

// A file that is there, was changed, or cannot be written ends the run with an error that names it.
func TestFilesThatAreNotAsTheyWere(t *testing.T) {
	l, path := begin(t, answers{}, warc.Options{})
	for _, id := range []string{"1", "2", "3"} {
		download(l, id, "http://a.test/"+id)
	}
	checkpoint := prepare(t, l, "1", "2", "3")
	l.Close(incomplete(t), "")
	open := path + ".open"
	whole := readFile(t, open)
	restore := func(checkpoint []byte) error {
		l := create(t, path, warc.Options{}).Layer(answers{}).(layer)
		defer l.Close(incomplete(t), "")
		return l.Restore(t.Context(), checkpoint)
	}
	var corrupt *warc.CorruptError
	var exists *warc.ExistsError
	if err := restore(nil); !errors.As(err, &exists) || exists.Path != open {
		t.Error(err)
	}
	if err := restore([]byte("{}")); !errors.As(err, &corrupt) {
		t.Error(err)
	}
	os.WriteFile(open, whole[:len(whole)-1], 0o600)
	if err := restore(checkpoint); !errors.As(err, &corrupt) || corrupt.Path != open {
		t.Error(err)
	}
	changed := bytes.Clone(whole)
	changed[len(changed)-5] ^= 1
	os.WriteFile(open, changed, 0o600)
	if err := restore(checkpoint); !errors.As(err, &corrupt) {
		t.Error(err)
	}
	os.Remove(open)
	if err := restore(checkpoint); !errors.As(err, &corrupt) || !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	os.WriteFile(open, append(whole, "what a crash has left"...), 0o600)
	if err := restore(checkpoint); err != nil {
		t.Error(err)
	}
	if got, _ := os.ReadFile(open); !bytes.Equal(got, whole) {
		t.Errorf("%d bytes, want %d", len(got), len(whole))
	}
	left := filepath.Join(filepath.Dir(path), ".tegenaria-warc-1.tmp")
	os.WriteFile(left, nil, 0o600)
	if err := restore(checkpoint); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a temporary file of a crash is left: %v", err)
	}
	os.Rename(open, path) // as Close does, before the job is stored as closed
	if err := restore(checkpoint); err != nil {
		t.Error(err)
	}
}

// With a memory cache nothing can be resumed: the file is finished however the run ends, and has what was settled.
func TestRunThatCannotBeResumed(t *testing.T) {
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprintf(w, `<a href="%s1">`, r.URL.Path) }))
	defer site.Close()
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	archive := create(t, path, warc.Options{})
	parse := func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.FollowLinks()
	}
	engine := tegenaria.NewSpiderEngine(tegenaria.EngineWithDownloaderLayers(archive.Layer), tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 10}))
	engine.RegisterSpiders(tegenaria.NewSpider("one", tegenaria.Handle(parse), site.URL+"/"))
	var stopped *tegenaria.StoppedError
	if err := engine.Run(t.Context(), "one"); !errors.As(err, &stopped) {
		t.Error(err)
	}
	responses := 0
	for _, r := range readRecords(t, path) {
		if strings.HasPrefix(r, "response") && !strings.HasSuffix(r, "robots.txt") {
			responses++
		}
	}
	if responses != 10 {
		t.Errorf("%d responses", responses)
	}
}

// A request that was not recorded fails, and says so; of several records one is taken by turn or by time.
func TestWhichRecordAnswers(t *testing.T) {
	bodies := &given{200, nil, nil}
	l, path := begin(t, bodies, warc.Options{})
	var ids []string
	for _, text := range []string{"first", "second", "third"} {
		bodies.body = []byte(text)
		download(l, text, "http://a.test/")
		ids = append(ids, text)
	}
	end(t, l, ids...)
	ask := func(r *warc.Replay, url, method string) string {
		resp, err := r.Answer(tegenaria.NewContext(tegenaria.NewRequest(url, method, nil)))
		if err != nil {
			return err.Error()
		}
		return resp.String()
	}
	replay := open(t, path)
	for _, want := range []string{"first", "second", "third", "third"} {
		if got := ask(replay, "HTTP://A.test:80/#top", "GET"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := ask(replay, "http://a.test/?x", "GET"); !strings.Contains(got, "GET http://a.test/?x is not in the archive") {
		t.Error(got)
	}
	if got := ask(replay, "http://a.test/", "POST"); !strings.Contains(got, "is not in the archive") {
		t.Error(got)
	}
	for when, want := range map[time.Time]string{time.Unix(0, 0): "first", time.Now().Add(time.Hour): "third"} {
		near, err := warc.Open(path, warc.Nearest(when))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got := ask(near, "http://a.test/", "GET"); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	if _, err := warc.Open(t.TempDir()); err == nil {
		t.Error("an empty folder was opened")
	}
}

// variants is a downloader that answers with the variant of the request; without one it fails at /fails.
type variants struct{ given }

func (variants) Download(ctx *tegenaria.Context, result chan<- *tegenaria.Context) {
	r := ctx.Request
	ctx.DownloadResult = new(tegenaria.RequestResult)
	if strings.HasSuffix(r.Url, "/fails") && r.Variant() == "" {
		ctx.DownloadResult.Error = tegenaria.NewError(ctx.CtxId, errors.New("no page without a variant"))
	} else {
		ctx.DownloadResult.Response = tegenaria.NewResponse(r, 200, nil, []byte("as "+r.Variant()))
	}
	result <- ctx
}

// A record answers only requests of its variant, be it of a response, of a revisit or of a failure.
func TestVariants(t *testing.T) {
	long := strings.Repeat("a\r\nb: ", 200)
	l, path := begin(t, variants{}, warc.Options{})
	for _, r := range []struct{ url, variant string }{
		{"http://a.test/", ""}, {"http://a.test/", "browser"}, {"http://a.test/", long}, {"http://a.test/again", long},
		{"http://a.test/fails", ""}, {"http://a.test/fails", "browser"},
	} {
		got := make(chan *tegenaria.Context, 1)
		ctx := tegenaria.NewContext(tegenaria.NewRequest(r.url, "GET", nil, tegenaria.RequestWithVariant(r.variant)))
		ctx.CtxId = "1"
		l.Download(ctx, got)
		<-got
		prepare(t, l, "1")
	}
	end(t, l)
	check(t, path)
	replay := open(t, path)
	for _, want := range []struct{ url, variant, text string }{
		{"http://a.test/", "browser", "as browser"},
		{"http://a.test/", "", "as "},
		{"http://a.test/", long, "as " + long},
		{"http://a.test/again", long, "as " + long},
		{"http://a.test/", "other", "not in the archive"},
		{"http://a.test/again", "", "not in the archive"},
		{"http://a.test/fails", "", "no page without a variant"},
		{"http://a.test/fails", "browser", "as browser"},
	} {
		resp, err := replay.Answer(tegenaria.NewContext(tegenaria.NewRequest(want.url, "GET", nil, tegenaria.RequestWithVariant(want.variant))))
		switch {
		case err != nil && !strings.Contains(err.Error(), want.text):
			t.Errorf("%s, %.10q: %v", want.url, want.variant, err)
		case err == nil && resp.String() != want.text:
			t.Errorf("%s, %.10q: %.20q", want.url, want.variant, resp.String())
		}
	}
}
