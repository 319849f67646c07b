package media_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/media"
)

// zipOf returns an archive of files, each with its name as content unless one stands behind "=".
func zipOf(t *testing.T, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, one := range names {
		name, content, _ := strings.Cut(one, "=")
		f, err := w.CreateRaw(&zip.FileHeader{Name: name, UncompressedSize64: uint64(len(content)), CompressedSize64: uint64(len(content))})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Files are named by their first bytes where these are specific, or else by what the server says, if that can be. It fails if a
// document is named as its container, or if a server's word gives bytes a name that they cannot have. The types are
// those of the registry of IANA where it has one.
func TestFormats(t *testing.T) {
	office, ole := zipOf(t, "[Content_Types].xml"), "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"+strings.Repeat("\x00", 600)
	const (
		word    = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
		sheet   = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
		unknown = "application/octet-stream"
		text    = "name;price\nA;1\n"
	)
	tests := []struct{ name, content, contentType, disposition, wantType, want string }{
		{"xlsx", office, sheet, "", sheet, ".xlsx"},
		{"xlsx as bytes", office, unknown, `attachment; filename="list.xlsx"`, sheet, ".xlsx"},
		{"xlsx as the older type", office, "application/vnd.ms-excel", "", sheet, ".xlsx"},
		{"docx as zip", office, "application/zip", `attachment; filename*=UTF-8''%C3%A4.DOCX`, word, ".docx"},
		{"docx of a name with a semicolon", office, "", `attachment; filename="a;b.docx"; size=5`, word, ".docx"},
		{"docx without quotes", office, "", `attachment; filename=a b.docx`, word, ".docx"},
		{"two names", office, "", `attachment; filename="a"; filename*=UTF-8''a.docx`, word, ".docx"},
		{"zip", office, "application/zip", `attachment; filename="a.zip"`, "application/zip", ".zip"},
		{"zip that claims to be text", office, "text/csv", `attachment; filename="a.csv"`, "application/zip", ".zip"},
		{"zip that claims to be a program", office, "application/x-msdownload", `attachment; filename="a.exe"`, "application/zip", ".zip"},
		{"epub by its first entry", zipOf(t, "mimetype=application/epub+zip", "x"), "application/zip", "", "application/epub+zip", ".epub"},
		{"epub as docx", zipOf(t, "mimetype=application/epub+zip", "x"), word, "", "application/epub+zip", ".epub"},
		{"epub that is packed", zipOf(t, "META-INF/container.xml"), "application/epub+zip", "", "application/epub+zip", ".epub"},
		{"ods by its first entry", zipOf(t, "mimetype=application/vnd.oasis.opendocument.spreadsheet", "x"), "", "", "application/vnd.oasis.opendocument.spreadsheet", ".ods"},
		{"another first entry", zipOf(t, "mimetype=text/html", "x"), "", "", "application/zip", ".zip"},
		{"kmz", office, "application/vnd.google-earth.kmz", "", "application/vnd.google-earth.kmz", ".kmz"},

		{"doc", ole, "application/msword", "", "application/msword", ".doc"},
		{"xls as bytes", ole, unknown, "attachment; filename=a.XLS", "application/vnd.ms-excel", ".xls"},
		{"doc without a word", ole, "", "", unknown, ".bin"},
		{"bytes that claim to be a doc", "\x00\x01\x02", "application/msword", "attachment; filename=a.doc", unknown, ".bin"},
		{"rtf that claims to be a doc", `{\rtf1 x}`, "application/msword", "attachment; filename=a.doc", "application/rtf", ".rtf"},

		{"csv", text, "text/csv; charset=utf-8; header=present", "", "text/csv", ".csv"},
		{"csv with a wrong parameter", text, "text/csv; charset", "", "text/csv", ".csv"},
		{"csv as Excel's", text, "application/vnd.ms-excel", "attachment; filename=a.csv", "text/csv", ".csv"},
		{"csv that begins as a bitmap", "BMW;1\n", "text/csv", "", "text/csv", ".csv"},
		{"csv that begins as a font", "OTTO;1\n", "text/csv", "", "text/csv", ".csv"},
		{"csv that begins as MP3", "ID3;name\n", "", "attachment; filename=a.csv", "text/csv", ".csv"},
		{"tsv", "a\tb\n", "text/tab-separated-values", "", "text/tab-separated-values", ".tsv"},
		{"json", `{"a":1}`, "application/json", "", "application/json", ".json"},
		{"json by its suffix", `{"a":1}`, "application/vnd.api+json", "", "application/json", ".json"},
		{"the name before the suffix", `{"a":1}`, "application/vnd.api+json", "inline; filename=a.geojson", "application/geo+json", ".geojson"},
		{"yaml", "a: 1", "", "attachment; filename=a.yml", "application/yaml", ".yaml"},
		{"text", "a text", "text/plain", "", "text/plain", ".txt"},
		{"text that claims to be a zip", "a text", "application/zip", "attachment; filename=a.xlsx", "text/plain", ".txt"},
		{"text that claims to be a page", "a text", "text/html", "attachment; filename=a.html", "text/plain", ".txt"},
		{"a path as name", "a text", "", `attachment; filename="../../a.csv/../b.sh"`, "text/plain", ".txt"},
		{"page that claims to be csv", "<!doctype html><title>not found</title>", "text/csv", "attachment; filename=a.csv", "text/html", ".html"},
		{"page with a byte order mark", "\ufeff<!doctype html><title>x</title>", "text/html", "", "text/html", ".html"},

		{"xml", `<?xml version="1.0"?><a/>`, "application/xml", "", "text/xml", ".xml"},
		{"xml with a byte order mark", "\ufeff" + `<?xml version="1.0"?><a/>`, "", "", "text/xml", ".xml"},
		{"xml that claims to be csv", `<?xml version="1.0"?><Error/>`, "text/csv", "", "text/xml", ".xml"},
		{"xml without a declaration", "<a/>", "application/xml", "", "text/xml", ".xml"},
		{"svg", `<svg xmlns="http://www.w3.org/2000/svg"/>`, "", "", "image/svg+xml", ".svg"},
		{"svg with a declaration", `<?xml version="1.0"?><svg/>`, "image/svg+xml", "", "image/svg+xml", ".svg"},
		{"svg behind a comment", `<!-- drawn --><svg/>`, "image/svg+xml", "", "image/svg+xml", ".svg"},
		{"page behind a comment", `<!-- written --><html>`, "text/html", "", "text/html", ".html"},
		{"feed", `<?xml version="1.0"?><rss/>`, "application/rss+xml", "", "application/rss+xml", ".rss"},

		{"mp3 without a tag", "\xff\xfb\x90\x64\x00\x00", "audio/mpeg", "", "audio/mpeg", ".mp3"},
		{"m4a", "\x00\x00\x00\x20ftypM4A \x00\x00", "video/mp4", "", "audio/mp4", ".m4a"},
		{"mov", "\x00\x00\x00\x14ftypqt  \x00\x00\x00\x00", "", "", "video/quicktime", ".mov"},
		{"mkv", "\x1a\x45\xdf\xa3\x00\x00", "video/x-matroska", "", "video/x-matroska", ".mkv"},
		{"7z that claims to be a PDF", "7z\xbc\xaf\x27\x1c\x00\x04", "application/pdf", "", "application/x-7z-compressed", ".7z"},
		{"pdf", "%PDF-1.7", "text/csv", "attachment; filename=a.csv", "application/pdf", ".pdf"},
		{"program", "MZ\x90\x00", "application/x-msdownload", "attachment; filename=a.exe", unknown, ".bin"},
	}
	g, dir := newGallery(t), t.TempDir()
	var files []string
	for i, test := range tests {
		path := fmt.Sprint("/", i)
		files = append(files, path)
		g.serve[path] = func(w http.ResponseWriter, _ *http.Request) {
			w.Header()["Content-Type"] = []string{test.contentType}
			if test.disposition != "" {
				w.Header().Set("Content-Disposition", test.disposition)
			}
			_, _ = w.Write([]byte(test.content))
		}
	}
	type download struct {
		URLs  []string `media:"file,into=Files"`
		Files []media.Result
	}
	items, _, err := crawl(t, g.URL, 1, func(int) []any { return []any{download{URLs: files}} }, tegenaria.EngineWithPipelines(media.New(media.Options{Dir: dir})))
	if err != nil || len(items) != 1 {
		t.Fatal(items, err)
	}
	for i, r := range items[0].(download).Files {
		test := tests[i]
		t.Run(test.name, func(t *testing.T) {
			if stored(t, dir, r); r.Type != test.wantType || filepath.Ext(r.Path) != test.want {
				t.Errorf("%s, %s; want %s, %s", r.Type, r.Path, test.wantType, test.want)
			}
		})
	}
}
