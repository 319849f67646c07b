package warc_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/warc"
)

var tools = flag.String("tools", "", "a folder in which `npm install warcio @harvard-lil/js-wacz` has been run")

// tool runs a program of the folder.
func tool(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	if *tools == "" {
		t.Skip("the tools are not part of the project; name the folder that they are installed in with -tools DIR")
	}
	command := exec.CommandContext(t.Context(), filepath.Join(*tools, "node_modules", ".bin", name), args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, stderr.Bytes())
	}
	return out
}

// indexLines takes an index apart: each line is its key, its time and its object.
func indexLines(t *testing.T, text []byte) (lines []string) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		at := strings.Index(line, " {")
		var object map[string]any
		if at < 0 || json.Unmarshal([]byte(line[at:]), &object) != nil {
			t.Fatalf("%q is no line of an index", line)
		}
		for name, value := range object {
			object[name] = fmt.Sprint(value)
		}
		sorted, _ := json.Marshal(object) // keys in order
		lines = append(lines, line[:at]+" "+string(sorted))
	}
	slices.Sort(lines)
	return lines
}

// Another program reads each record of an archive, and makes the same index of it.
func TestToolsIndex(t *testing.T) {
	folder, _, _ := recorded(t)
	names := archives(t, folder)
	for _, name := range names {
		records := 0
		for _, err := range warc.Read(bytes.NewReader(readFile(t, name))) {
			if records++; err != nil {
				t.Fatal(err)
			}
		}
		if n := bytes.Count(tool(t, "warcio", "index", name), []byte("\n")); n != records {
			t.Errorf("%s: another program finds %d records of %d", name, n, records)
		}
	}
	var text bytes.Buffer
	if _, err := warc.Index(&text, folder); err != nil {
		t.Fatal(err)
	}
	want := indexLines(t, tool(t, "warcio", append([]string{"cdx-index", "--format", "cdxj"}, names...)...))
	got := indexLines(t, text.Bytes())
	if !reflect.DeepEqual(got, want) {
		same(t, "index", got, want)
		same(t, "index of another program", want, got)
	}
	t.Logf("%d lines", len(got))
}

// A package that another program has made of the archive is replayed, and its index is that of ours.
func TestToolsPackage(t *testing.T) {
	folder, urls, live := recorded(t)
	theirs, ours := filepath.Join(t.TempDir(), "theirs.wacz"), filepath.Join(t.TempDir(), "ours.wacz")
	tool(t, "js-wacz", "create", "-f", filepath.Join(folder, "*"), "-o", theirs)
	replay := open(t, theirs)
	again := crawl(t, urls, tegenaria.EngineWithDownloader(replay))
	sameCrawl(t, again, live)

	if _, err := warc.Pack(ours, warc.PackOptions{}, folder); err != nil {
		t.Fatal(err)
	}
	us, them := unzip(t, ours), unzip(t, theirs)
	same(t, "index", indexLines(t, us["indexes/index.cdx"]), indexLines(t, them["indexes/index.cdx"]))
	pages := func(text []byte) (list []string) {
		for line := range bytes.Lines(text) {
			var page struct{ URL, TS string }
			if err := json.Unmarshal(line, &page); err != nil {
				t.Fatal(err)
			}
			if page.URL != "" {
				list = append(list, page.URL)
			}
		}
		slices.Sort(list)
		return slices.Compact(list)
	}
	missing := slices.DeleteFunc(pages(them["pages/pages.jsonl"]), func(url string) bool { return slices.Contains(pages(us["pages/pages.jsonl"]), url) })
	if len(missing) > 0 {
		t.Errorf("pages that another program finds, and we do not: %q", missing)
	}
	for name := range them {
		if _, known := us[name]; !known {
			t.Errorf("the package of another program has %s", name)
		}
	}
}
