package warc_test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/warc"
)

// Keys of an index.
func TestKeys(t *testing.T) {
	for url, want := range map[string]string{
		"http://Example.com":                       "com,example)/",
		"https://www2.example.com:8443/A/b?c=D&a=": "com,example:8443)/a/b?a=&c=d",
		"http://user:pass@a.b.example.com/%7Ex?#f": "com,example,b,a)/%7ex",
		"http://www.example.com:80/?b&a":           "com,example)/?a&b",
		"http://127.0.0.1:8080/x":                  "1,0,0,127:8080)/x",
		"http://[::1]:8080/x y":                    "[::1]:8080)/x%20y",
		"https://bücher.example/ü":                 "example,xn--bcher-kva)/%C3%BC",
		"urn:picture:X":                            "urn:picture:X",
		"http://":                                  "http://",
	} {
		if got := warc.Surt(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
	}
}

// Lines are sorted in any order in which they come, however little of them fits into memory.
func TestSorter(t *testing.T) {
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	for _, most := range []int{0, 200, 5000} {
		var want []string
		for range 3000 {
			want = append(want, strings.Repeat(string(rune('a'+random.IntN(26))), random.IntN(9))+fmt.Sprint(random.IntN(1000)))
		}
		got, err := warc.SortLines(most, want)
		slices.Sort(want)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("seed %d, %d bytes: %d lines of %d, %v", seed, most, len(got), len(want), err)
		}
	}
}

// recorded records the shop and some exchanges that are special, and returns the folder of the archive.
func recorded(t *testing.T) (folder string, urls []string, live *crawled) {
	t.Helper()
	site := demosite.MustStart()
	defer site.Close()
	special := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "<title>  A &amp; B </title>%s %s", r.Method, r.URL)
	}))
	defer special.Close()
	folder = filepath.Join(t.TempDir(), "archive")
	archive := create(t, filepath.Join(folder, "{spider}-{part}.warc.gz"), warc.Options{Size: 100_000})
	urls = []string{site.URL() + "/"}
	live = crawl(t, urls, tegenaria.EngineWithDownloaderLayers(archive.Layer))
	other := create(t, filepath.Join(folder, "special.warc"), warc.Options{Digest: "sha256"})
	spider := tegenaria.NewSpiderOf("special", tegenaria.Handle(func(context.Context, *tegenaria.Response, *tegenaria.Output[any]) error { return nil }),
		tegenaria.NewRequest(special.URL+"/?b=2&a=1", tegenaria.GET, nil),
		tegenaria.NewRequest(special.URL+"/form", tegenaria.POST, nil, tegenaria.RequestWithForm(map[string][]string{"q": {"a b"}, "x": {"ü&"}})),
		tegenaria.NewRequest(special.URL+"/json?k=v", tegenaria.POST, nil, tegenaria.RequestWithJSON(map[string]any{"a": 1.5, "b": []any{"x", "y", true, nil}, "c": map[string]any{"a": "again", "e": ""}})),
		tegenaria.NewRequest(special.URL+"/raw", tegenaria.POST, nil, tegenaria.RequestWithBody([]byte("\x00\xff~*")), tegenaria.RequestWithRequestHeader(map[string]string{"Content-Type": "application/octet-stream"})),
		tegenaria.NewRequest(special.URL+"/empty", tegenaria.POST, nil),
		tegenaria.NewRequest(special.URL+"/head", tegenaria.HEAD, nil),
	)
	if err := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), tegenaria.EngineWithQuiet(), tegenaria.EngineWithEmptyOK(),
		tegenaria.EngineWithDownloaderLayers(other.Layer)).Run(t.Context(), "special"); err != nil {
		t.Fatal(err)
	}
	return folder, urls, live
}

// An index has a line for each response, sorted, and each line leads to its record.
func TestIndex(t *testing.T) {
	folder, _, _ := recorded(t)
	var text bytes.Buffer
	skipped, err := warc.Index(&text, folder)
	if err != nil || skipped.Records > 0 {
		t.Fatalf("%+v, %v", skipped, err)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if !slices.IsSorted(lines) {
		t.Error("the lines are not sorted")
	}
	want := 0
	for _, name := range archives(t, folder) {
		for r, err := range warc.Read(bytes.NewReader(readFile(t, name))) {
			if err != nil {
				t.Fatal(err)
			}
			if r.Type() == "response" || r.Type() == "revisit" {
				want++
			}
		}
	}
	if len(lines) != want || want < 100 {
		t.Errorf("%d lines, %d responses", len(lines), want)
	}
	for _, line := range lines {
		var l struct{ URL, Offset, Length, Filename, Status, Mime, Method string }
		_, rest, _ := strings.Cut(line, " ")
		date, object, _ := strings.Cut(rest, " ")
		if err := json.Unmarshal([]byte(object), &l); err != nil || len(date) != 14 {
			t.Fatalf("%s: %v", line, err)
		}
		var offset, length int64
		fmt.Sscan(l.Offset, &offset)
		fmt.Sscan(l.Length, &length)
		data := readFile(t, filepath.Join(folder, l.Filename))[offset:][:length]
		n := 0
		for r, err := range warc.Read(bytes.NewReader(data)) {
			if n++; err != nil || r.URL() != l.URL || n > 1 {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

// An archive that was packed is replayed as it is, from the package and from a folder that has it.
func TestPack(t *testing.T) {
	folder, urls, live := recorded(t)
	name := filepath.Join(t.TempDir(), "shop.wacz")
	if skipped, err := warc.Pack(name, warc.PackOptions{Title: "Shop", MainPage: "http://shop.test/"}, folder); err != nil || skipped.Records > 0 {
		t.Fatalf("%+v, %v", skipped, err)
	}
	if err := warc.Verify(name); err != nil {
		t.Error(err)
	}
	replay := open(t, name)
	again := crawl(t, urls, tegenaria.EngineWithDownloader(replay))
	sameCrawl(t, again, live)

	members := unzip(t, name)
	var pages []string
	for line := range bytes.Lines(members["pages/pages.jsonl"]) {
		var page struct{ URL, Title, TS, ID string }
		if err := json.Unmarshal(line, &page); err != nil {
			t.Fatal(err)
		}
		pages = append(pages, page.Title)
	}
	if !slices.Contains(pages, "A & B") || len(pages) < 50 {
		t.Errorf("%d pages: %q", len(pages), pages)
	}
	for _, name := range archives(t, folder) {
		if !bytes.Equal(members["archive/"+filepath.Base(name)], readFile(t, name)) {
			t.Errorf("%s has changed", name)
		}
	}
	var text bytes.Buffer
	if _, err := warc.Index(&text, folder); err != nil || !bytes.Equal(text.Bytes(), members["indexes/index.cdx"]) {
		t.Errorf("the index of the package differs: %v", err)
	}
	text.Reset()
	if _, err := warc.Index(&text, name); err != nil || !bytes.Equal(text.Bytes(), members["indexes/index.cdx"]) {
		t.Errorf("the index made of the package differs: %v", err)
	}
	if _, err := warc.Pack(name, warc.PackOptions{}, folder, folder); err == nil || !strings.Contains(err.Error(), "two files are called") {
		t.Error(err)
	}
	if left := archives(t, filepath.Dir(name)); len(left) != 1 {
		t.Errorf("left: %q", left)
	}
}

// A package that is damaged is refused with an error that names it and the part.
func TestDamagedPackages(t *testing.T) {
	folder, _, _ := recorded(t)
	name := filepath.Join(t.TempDir(), "shop.wacz")
	if _, err := warc.Pack(name, warc.PackOptions{}, folder); err != nil {
		t.Fatal(err)
	}
	members := unzip(t, name)
	special := "archive/special.warc"
	for _, tt := range []struct {
		what, member, want string
		change             func(m map[string][]byte)
		method             uint16
		opened             bool // by Open; else it is verified
	}{
		{"a changed archive", special, "has changed since it was packed", func(m map[string][]byte) { m[special] = bytes.Replace(m[special], []byte("POST"), []byte("PAST"), 1) }, zip.Store, false},
		{"a longer archive", special, "bytes, and should have", func(m map[string][]byte) { m[special] = append(m[special], 'x') }, zip.Store, false},
		{"a missing archive", special, "it is not there", func(m map[string][]byte) { delete(m, special) }, zip.Store, false},
		{"a changed description", "datapackage.json", "has changed since it was packed", func(m map[string][]byte) { m["datapackage.json"] = append(m["datapackage.json"], ' ') }, zip.Store, false},
		{"no description", "datapackage.json", "unexpected end", func(m map[string][]byte) { m["datapackage.json"] = nil; delete(m, "datapackage-digest.json") }, zip.Store, false},
		{"a compressed archive", "archive/linksrus", "it is compressed", nil, zip.Deflate, true},
		{"a part named twice", special, "names it twice", func(m map[string][]byte) {
			first := fmt.Sprintf(`"resources": [{"path": %q, "bytes": %d},`, special, len(m[special]))
			m["datapackage.json"] = bytes.Replace(m["datapackage.json"], []byte(`"resources": [`), []byte(first), 1)
			delete(m, "datapackage-digest.json")
		}, zip.Store, false},
		{"no archive", "", "it has no archive", func(m map[string][]byte) { clear(m) }, zip.Store, true},
	} {
		t.Run(tt.what, func(t *testing.T) {
			changed := maps.Clone(members)
			for name, text := range changed {
				changed[name] = bytes.Clone(text)
			}
			if tt.change != nil {
				tt.change(changed)
			}
			name := filepath.Join(t.TempDir(), "changed.wacz")
			file, err := os.Create(name)
			if err != nil {
				t.Fatal(err)
			}
			z := zip.NewWriter(file)
			for _, member := range slices.Sorted(maps.Keys(changed)) {
				to, err := z.CreateHeader(&zip.FileHeader{Name: member, Method: tt.method})
				if err == nil {
					_, err = to.Write(changed[member])
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(z.Close(), file.Close()); err != nil {
				t.Fatal(err)
			}
			check := warc.Verify
			if tt.opened {
				check = func(name string) error { _, err := warc.Open(name); return err }
			}
			err = check(name)
			var bad *warc.PackageError
			if !errors.As(err, &bad) || bad.Path != name || !strings.Contains(err.Error(), tt.want) || tt.method == zip.Store && bad.Member != tt.member {
				t.Errorf("%v", err)
			}
		})
	}
	cut := filepath.Join(t.TempDir(), "cut.wacz")
	whole := readFile(t, name)
	writeFile(t, cut, whole[:len(whole)/2])
	if _, err := warc.Open(cut); err == nil || !strings.Contains(err.Error(), cut) {
		t.Error(err)
	}
}

// A package whose list names the same bytes again and again is refused, before any of them is read.
func TestPackageThatSharesBytes(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, member := range []string{"archive/a.warc", "archive/b.warc"} {
		to, err := z.CreateRaw(&zip.FileHeader{Name: member, Method: zip.Store, CompressedSize64: 1000, UncompressedSize64: 1000})
		if err == nil {
			_, err = to.Write([]byte("WARC/1.1\r\n")) // what it says is longer than what is there
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	z.SetComment(strings.Repeat("x", 2000))
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "shared.wacz")
	writeFile(t, name, b.Bytes())
	for what, err := range map[string]error{"Open": func() error { _, err := warc.Open(name); return err }(), "Verify": warc.Verify(name)} {
		var bad *warc.PackageError
		if !errors.As(err, &bad) || bad.Member != "archive/b.warc" || !strings.Contains(err.Error(), "shares bytes") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func unzip(t *testing.T, name string) map[string][]byte {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	members := make(map[string][]byte)
	for _, m := range z.File {
		from, err := m.Open()
		if err != nil {
			t.Fatal(err)
		}
		if members[m.Name], err = io.ReadAll(from); err != nil {
			t.Fatal(err)
		}
	}
	return members
}

func archives(t *testing.T, folder string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func readFile(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func writeFile(t testing.TB, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Whatever a package holds, opening it ends with an archive or an error, and so do its index and its digests.
func FuzzPackage(f *testing.F) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	to, err := z.CreateHeader(&zip.FileHeader{Name: "archive/a.warc", Method: zip.Store})
	if err != nil {
		f.Fatal(err)
	}
	fmt.Fprint(to, "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.test/\r\nContent-Type: application/http\r\nContent-Length: 19\r\n\r\nHTTP/1.1 200 OK\r\n\r\n\r\n\r\n")
	to, err = z.Create("datapackage.json")
	if err != nil {
		f.Fatal(err)
	}
	fmt.Fprint(to, `{"resources":[{"path":"archive/a.warc","hash":"sha256:00","bytes":9}]}`)
	if err := z.Close(); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:b.Len()-1])
	f.Fuzz(func(t *testing.T, data []byte) {
		name := filepath.Join(t.TempDir(), "x.wacz")
		writeFile(t, name, data)
		_, _ = warc.Open(name)
		_ = warc.Verify(name)
		var first, second bytes.Buffer
		if _, err := warc.Index(&first, name); err == nil {
			if _, err := warc.Index(&second, name); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("another index: %v", err)
			}
		}
	})
}

// Whatever an archive holds, each line of its index has its key, its time and an object, and the lines are sorted.
func FuzzIndex(f *testing.F) {
	for _, block := range []string{"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=x\r\n\r\n<p>", "POST /x HTTP/1.1\r\nContent-Type: application/json\r\n\r\n{\"a\":[1,{\"b\":\"ü%\"}]}"} {
		for _, kind := range []string{"response", "request", "resource"} {
			f.Add(kind, "https://www.Example.com:8080/A?b=%C3&a=", "2026-11-23T01:02:03Z", block)
		}
	}
	f.Fuzz(func(t *testing.T, kind, url, date, block string) {
		deep.Growth(t, deep.Stretched([]byte(block)), func(block []byte) {
			name := filepath.Join(t.TempDir(), "x.warc")
			text := fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: http://a.test/\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n", kind, len(block))
			writeFile(t, name, append([]byte(text), block...))
			_, _ = warc.Index(io.Discard, name)
			_, _ = warc.Open(name)
		})
		for _, field := range []string{kind, url, date} {
			if strings.ContainsAny(field, "\r\n") || strings.TrimSpace(field) != field || field == "" {
				t.Skip()
			}
		}
		record := func(kind, block string) string {
			return fmt.Sprintf("WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\nWARC-Date: %s\r\nContent-Type: application/http\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", kind, url, date, len(block), block)
		}
		name := filepath.Join(t.TempDir(), "x.warc")
		writeFile(t, name, []byte(record(kind, block)+record("response", "HTTP/1.1 204 \r\n\r\n")+record("request", block)))
		var text bytes.Buffer
		skipped, err := warc.Index(&text, name)
		if err != nil {
			t.Fatal(err)
		}
		lines := slices.Collect(strings.Lines(text.String()))
		if !slices.IsSorted(lines) || len(lines)+skipped.Records < 1 || len(lines) > 3 {
			t.Errorf("%q, %+v", lines, skipped)
		}
		for _, line := range lines {
			if _, object, ok := strings.Cut(line, " {"); !ok || !json.Valid([]byte("{"+object)) {
				t.Errorf("%q", line)
			}
		}
	})
}
