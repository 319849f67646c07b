package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	_ "modernc.org/sqlite"

	"github.com/tegenaria/tegenaria/browser"
	"github.com/tegenaria/tegenaria/cli"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/spiders"
)

var chromium = flag.String("browser", "", "the program of Chromium; without it the test with a browser is skipped")

// crawl runs the command crawl with an app.
func crawl(t *testing.T, a *cli.App, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	settings := filepath.Join(t.TempDir(), "tegenaria.yaml") // what is kept of the run lies beside it
	if err := os.WriteFile(settings, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var out, err bytes.Buffer
	code = a.Run(t.Context(), append([]string{"crawl", "--quiet", "--config", settings}, args...), nil, &out, &err)
	return code, out.String(), err.String()
}

// readPages reads the pages of a file with a reader of its format.
func readPages(t *testing.T, path string) (pages []spiders.SitePage) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := path
	switch filepath.Ext(path) {
	case ".gz":
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(data)); err == nil {
			data, err = io.ReadAll(z)
		}
		name = strings.TrimSuffix(path, ".gz")
	case ".zst":
		var z *zstd.Decoder
		if z, err = zstd.NewReader(nil); err == nil {
			data, err = z.DecodeAll(data, nil)
			z.Close()
		}
		name = strings.TrimSuffix(path, ".zst")
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	switch filepath.Ext(name) {
	case ".json":
		err = json.Unmarshal(data, &pages)
	case ".csv":
		var rows [][]string
		if rows, err = csv.NewReader(bytes.NewReader(data)).ReadAll(); err != nil {
			break
		}
		for _, row := range rows[1:] {
			field := func(name string) string { return row[slices.Index(rows[0], name)] }
			number := func(name string) int { n, _ := strconv.Atoi(field(name)); return n }
			pages = append(pages, spiders.SitePage{URL: field("url"), FinalURL: field("final_url"), Status: number("status"), Depth: number("depth"),
				Title: field("title"), Words: number("words"), Links: number("links")})
		}
	case ".xml":
		var list struct {
			Items []struct {
				URL      string `xml:"url"`
				FinalURL string `xml:"final_url"`
				Status   int    `xml:"status"`
				Depth    int    `xml:"depth"`
				Title    string `xml:"title"`
				Words    int    `xml:"words"`
				Links    int    `xml:"links"`
			} `xml:"item"`
		}
		err = xml.Unmarshal(data, &list)
		for _, one := range list.Items {
			pages = append(pages, spiders.SitePage(one))
		}
	case ".parquet":
		type row struct {
			URL      string `parquet:"url"`
			FinalURL string `parquet:"final_url"`
			Status   int    `parquet:"status"`
			Depth    int    `parquet:"depth"`
			Title    string `parquet:"title"`
			Words    int    `parquet:"words"`
			Links    int    `parquet:"links"`
		}
		var rows []row
		rows, err = parquet.Read[row](bytes.NewReader(data), int64(len(data)))
		for _, one := range rows {
			pages = append(pages, spiders.SitePage(one))
		}
	case ".db":
		var db *sql.DB
		if db, err = sql.Open("sqlite", path); err != nil {
			break
		}
		defer db.Close()
		var rows *sql.Rows
		if rows, err = db.Query("SELECT url, final_url, status, depth, title, words, links FROM pages"); err != nil {
			break
		}
		defer rows.Close()
		for rows.Next() {
			var p spiders.SitePage
			if err := rows.Scan(&p.URL, &p.FinalURL, &p.Status, &p.Depth, &p.Title, &p.Words, &p.Links); err != nil {
				t.Fatal(err)
			}
			pages = append(pages, p)
		}
		err = rows.Err()
	default:
		for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
			var p spiders.SitePage
			if err = d.Decode(&p); err != nil {
				break
			}
			pages = append(pages, p)
		}
	}
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return pages
}

// Each ending has the same pages, with the same fields, also when a crawl writes over the file of an earlier one.
func TestFormats(t *testing.T) {
	site := demosite.MustStart()
	defer site.Close()
	dir := t.TempDir()
	flags := []string{site.URL() + "/quotes/", "--depth", "1"}
	endings := []string{".jsonl", ".jsonl.gz", ".json", ".json.zst", ".csv", ".csv.gz", ".xml", ".xml.zst", ".parquet", ".db"}
	args := slices.Clone(flags)
	for _, ending := range endings {
		args = append(args, "-O", filepath.Join(dir, "pages"+ending))
	}
	for range 2 {
		if code, _, stderr := crawl(t, app(), args...); code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
	}
	var want map[string]spiders.SitePage
	for _, ending := range endings {
		got := make(map[string]spiders.SitePage)
		for _, p := range readPages(t, filepath.Join(dir, "pages"+ending)) {
			if _, twice := got[p.URL]; twice {
				t.Errorf("%s has %s twice", ending, p.URL)
			}
			got[p.URL] = p
		}
		if want == nil {
			if want = got; len(want) < 10 {
				t.Fatalf("%d pages", len(want))
			}
		} else if !maps.Equal(got, want) {
			t.Errorf("%s has %d pages, want %d:\n%+v\n%+v", ending, len(got), len(want), got, want)
		}
	}

	code, _, stderr := crawl(t, app(), append(slices.Clone(flags), "-o", filepath.Join(dir, "pages.parquet"))...)
	if code != 1 || !strings.Contains(stderr, "remove the file, or overwrite it with -O\n") {
		t.Errorf("-o on a Parquet file: exit code %d: %s", code, stderr)
	}
	if code, _, stderr := crawl(t, app(), append(slices.Clone(flags), "-o", filepath.Join(dir, "pages.db"))...); code != 0 {
		t.Errorf("-o on a database: exit code %d: %s", code, stderr)
	}
	if got := len(readPages(t, filepath.Join(dir, "pages.db"))); got != 2*len(want) {
		t.Errorf("-o on a database: %d pages, want %d", got, 2*len(want))
	}
}

// Without Chromium a crawl that needs it fails before it begins, and any other does not look for it.
func TestRenderWithoutChromium(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<div id=root></div><script></script>")
	}))
	defer server.Close()
	for _, tt := range []struct {
		render, says string
		code         int
	}{
		{"auto", "tegenaria: --render auto: found no Chromium: install it", 1},
		{"always", "tegenaria: --render always: found no Chromium: install it", 1},
		{"sometimes", `invalid argument "sometimes" for "--render" flag: it must be never, auto or always`, 2},
	} {
		archive := filepath.Join(t.TempDir(), "site.warc")
		code, _, stderr := crawl(t, app(), server.URL+"/", "--render", tt.render, "-o", archive)
		if code != tt.code || !strings.Contains(stderr, tt.says) {
			t.Errorf("--render %s: exit code %d: %s", tt.render, code, stderr)
		}
		if _, err := os.Stat(archive); err == nil || asked > 0 {
			t.Errorf("--render %s: the site was asked %d times; the archive: %v", tt.render, asked, err)
		}
	}
	for _, flags := range [][]string{nil, {"--render", "never"}} {
		if code, stdout, stderr := crawl(t, app(), append(flags, server.URL+"/")...); code != 0 || strings.Count(stdout, "\n") != 1 {
			t.Errorf("%q: exit code %d: %s%s", flags, code, stdout, stderr)
		}
	}
}

// Chromium makes the pages that --render says, each of which has one line. A job may go on with another choice.
func TestRender(t *testing.T) {
	if *chromium == "" {
		t.Skip("needs Chromium: name its program with -args -browser FILE, or run make servers")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/": // lively, and finished without scripts
			fmt.Fprintf(w, `<title>front</title><p>%s</p><a href="/app">app</a><script>document.title += " made"</script>`, strings.Repeat("word ", 100))
		case "/app":
			fmt.Fprint(w, `<title>app</title><div id="root"></div><script>document.title += " made"; root.innerHTML = '<a href="/below">two words</a>'</script>`)
		case "/below":
			fmt.Fprint(w, `<title>below</title><p>text</p>`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	rendering := func() *cli.App {
		a := cli.New()
		a.With(&sites{browser: browser.Options{Path: *chromium, DangerouslyWithoutSandbox: os.Geteuid() == 0}})
		return a
	}
	lines := func(path string) string {
		var list []string
		for _, p := range readPages(t, path) {
			list = append(list, fmt.Sprintf("%s %d %q", strings.TrimPrefix(p.URL, server.URL), p.Depth, p.Title))
		}
		slices.Sort(list)
		return strings.Join(list, ", ")
	}
	for _, tt := range []struct{ render, want string }{
		{"never", `/ 0 "front", /app 1 "app"`},
		{"auto", `/ 0 "front", /app 1 "app made", /below 2 "below"`},
		{"always", `/ 0 "front made", /app 1 "app made", /below 2 "below"`},
	} {
		out := filepath.Join(t.TempDir(), "pages.jsonl")
		code, _, stderr := crawl(t, rendering(), server.URL+"/", "--render", tt.render, "-O", out)
		if got := lines(out); code != 0 || got != tt.want {
			t.Errorf("--render %s: exit code %d, %s, want %s: %s", tt.render, code, got, tt.want, stderr)
		}
	}

	dir := t.TempDir()
	out := filepath.Join(dir, "pages.jsonl")
	args := []string{server.URL + "/", "--job", filepath.Join(dir, "job"), "-O", out}
	if code, _, stderr := crawl(t, rendering(), append(args, "--render", "auto", "--limit", "pages=2")...); code != 3 || lines(out) != `/ 0 "front"` {
		t.Fatalf("the job is to stop when /app has to be made: exit code %d, %s: %s", code, lines(out), stderr)
	}
	code, _, stderr := crawl(t, rendering(), append(args, "--render", "always")...)
	if got, want := lines(out), `/ 0 "front", /app 1 "app made", /below 2 "below"`; code != 0 || got != want {
		t.Errorf("the job that goes on: exit code %d, %s, want %s: %s", code, got, want, stderr)
	}
}
