package media_test

import (
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/media"
)

// What a data: URL has is stored as a server's file is. The first case is of RFC 2397, those of base64 are of the web platform tests
// (fetch/data-urls/resources/base64.json).
func TestDataURLs(t *testing.T) {
	picture := jpegOf(paint(30, 20, 1))
	encoded := base64.StdEncoding.EncodeToString(picture)
	tests := []struct{ name, url, want, wantType, ending, wrong string }{
		{"text", "data:,A%20brief%20note", "A brief note", "text/plain", ".txt", ""},
		{"type", "data:text/csv;charset=utf-8,a;b%0A1;2", "a;b\n1;2", "text/csv", ".csv", ""},
		{"parameter without a type", "data:;charset=utf-8,x", "x", "text/plain", ".txt", ""},
		{"svg that is not encoded", `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg"/>#part`, `<svg xmlns="http://www.w3.org/2000/svg"/>`, "image/svg+xml", ".svg", ""},
		{"what is no percent-encoding", "data:,100%,%4,%zz%41", "100%,%4,%zzA", "text/plain", ".txt", ""},
		{"lines", "data:,a\r\n\tb%0Ac d", "ab\nc d", "text/plain", ".txt", ""},
		{"base64 in its data", "data:text/plain,base64,x", "base64,x", "text/plain", ".txt", ""},
		{"picture", "data:image/jpeg;base64," + encoded, string(picture), "image/jpeg", ".jpg", ""},
		{"capitals and blanks", "DATA:image/png; Base64 ," + encoded, string(picture), "image/jpeg", ".jpg", ""},
		{"encoded twice", "data:image/jpeg;base64," + url.QueryEscape(encoded), string(picture), "image/jpeg", ".jpg", ""},
		{"in lines", "data:;base64," + encoded[:40] + "\n " + encoded[40:80] + "%0d%0A\f" + encoded[80:], string(picture), "image/jpeg", ".jpg", ""},
		{"two characters", "data:;base64,ab", "i", "text/plain", ".txt", ""},
		{"two with padding", "data:;base64,ab%3D=", "i", "text/plain", ".txt", ""},
		{"three", "data:;base64,abc", "i\xb7", "text/plain", ".txt", ""},
		{"one", "data:;base64,a", "", "", "", "illegal base64"},
		{"too little padding", "data:;base64,ab=", "", "", "", "padding"},
		{"too much padding", "data:;base64,ab====", "", "", "", "padding"},
		{"padding behind a whole group", "data:;base64,abcd=", "", "", "", "padding"},
		{"padding within", "data:;base64,ab==cd", "", "", "", "padding"},
		{"another alphabet", "data:;base64,ab-_", "", "", "", "illegal base64"},
		{"no comma", "data:image/png;base64", "", "", "", "no comma"},
		{"nothing", "data:,", "", "", "", "the file is empty"},
		{"too large", "data:," + strings.Repeat("x", 5_001), "", "", "", "more than 5000 bytes, see Options.Size"},
	}
	var urls []string
	for _, test := range tests {
		urls = append(urls, test.url)
	}
	type download struct {
		URLs  []string `media:"file,into=Files"`
		Files []media.Result
	}
	g, dir := newGallery(t), t.TempDir()
	items, engine, err := crawl(t, g.URL, 1, func(int) []any { return []any{download{URLs: urls}} }, tegenaria.EngineWithPipelines(media.New(media.Options{Dir: dir, Size: 5_000})))
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	if n := engine.Stats().RequestDownloaded; n != 1 {
		t.Errorf("%d requests were sent, want that of the page", n)
	}
	for i, r := range items[0].(download).Files {
		test := tests[i]
		t.Run(test.name, func(t *testing.T) {
			if test.wrong != "" {
				if r.Status != media.Failed || !strings.Contains(r.Error, test.wrong) || r.Path != "" {
					t.Errorf("%+v, want %q", r, test.wrong)
				}
				return
			}
			if got := string(stored(t, dir, r)); got != test.want || r.Type != test.wantType || filepath.Ext(r.Path) != test.ending {
				t.Errorf("%q, %+v; want %q, %s, %s", got, r, test.want, test.wantType, test.ending)
			}
		})
	}
	noTempFiles(t, dir)
}

// Neither results nor errors nor the index have a long URL whole; what a data: URL has is kept as a file of a server is.
func TestLongURLs(t *testing.T) {
	type strict struct {
		Name  string
		URL   string `media:"image,into=Image,required"`
		Image media.Result
	}
	g, dir := newGallery(t), t.TempDir()
	large := pngOf(paint(600, 400, 1))
	long := map[string]string{
		"picture":   "data:image/png;base64," + base64.StdEncoding.EncodeToString(large),
		"no base64": "data:image/png;base64,é" + strings.Repeat("é", 500_000),
		"no comma":  "data:" + strings.Repeat("é", 500_000),
		"no data":   "javascript:" + strings.Repeat("x", 1_000_000),
		"a site's":  "http://127.0.0.1/" + strings.Repeat("x", 1_000_000),
		"a path":    "/" + strings.Repeat("x", 1_000_000),
	}
	for _, want := range []media.Status{media.Downloaded, media.Kept} {
		var all product
		var strictly []any
		for name, url := range long {
			all.Images = append(all.Images, url)
			strictly = append(strictly, &strict{Name: name, URL: url})
		}
		var mu sync.Mutex
		failed := 0
		items, _, err := crawl(t, g.URL, 1, func(int) []any { return append(strictly, all) },
			tegenaria.EngineWithPipelines(media.New(media.Options{Dir: dir, Images: true})),
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) {
				mu.Lock()
				defer mu.Unlock()
				if failed++; len(err.Error()) > 1_000 {
					t.Errorf("an error of %d bytes: %.300s", len(err.Error()), err.Error())
				}
			}))
		if err != nil || len(items) != 2 || failed != len(long)-1 {
			t.Fatalf("%d items, %d failed, %v", len(items), failed, err)
		}
		var results []media.Result
		for _, item := range items {
			switch item := item.(type) {
			case *strict:
				if item.Name != "picture" || item.Image.Width != 600 {
					t.Errorf("%s: %+v", item.Name, item.Image)
				}
				results = append(results, item.Image)
			case product:
				results = append(results, item.Pictures...)
			}
		}
		for _, r := range results {
			if len(r.URL) > 200 || len(r.Error) > 500 || !strings.HasSuffix(r.URL, " bytes)") || !utf8.ValidString(r.URL) {
				t.Errorf("a URL of %d bytes, an error of %d: %.200s, %.200s", len(r.URL), len(r.Error), r.URL, r.Error)
			}
			if r.Status != media.Failed {
				stored(t, dir, r)
			}
		}
		if n := slices.IndexFunc(results, func(r media.Result) bool { return r.Status == want }); n < 0 {
			t.Errorf("no picture is %s: %+v", want, results)
		}
	}
	entries, err := filepath.Glob(filepath.Join(dir, ".index", "*", "*.json"))
	if err != nil || len(entries) == 0 {
		t.Fatal(entries, err)
	}
	for _, entry := range entries {
		if info, err := os.Stat(entry); err != nil || info.Size() > 2_000 {
			t.Error(info, err)
		}
	}
}
