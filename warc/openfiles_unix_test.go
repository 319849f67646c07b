//go:build unix

package warc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/warc"
)

// An archive of more files than a process may open is opened, replayed and indexed whole.
func TestManyFiles(t *testing.T) {
	const files, mostOpen = 100, 60
	folder := t.TempDir()
	var urls []string
	for n := range files {
		urls = append(urls, fmt.Sprintf("http://a.test/%d", n))
		writeFile(t, filepath.Join(folder, fmt.Sprintf("%d.warc", n)), []byte(pageRecord(urls[n], urls[n])))
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	limit := before
	limit.Cur = mostOpen
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
			t.Error(err)
		}
	}()
	replay := open(t, folder)
	if n, err := replay.Skipped(); n > 0 {
		t.Errorf("%d records are skipped: %v", n, err)
	}
	parse := tegenaria.Handle(func(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[string]) error {
		return out.Item(page.CSS("title").Text())
	})
	titles := make(map[string]bool)
	for title, err := range tegenaria.Crawl[string](t.Context(), tegenaria.NewSpider("titles", parse, urls...), tegenaria.EngineWithDownloader(replay), tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithPoliteness(tegenaria.Politeness{IgnoreRobots: true})) {
		if err != nil {
			t.Fatal(err)
		}
		titles[title] = true
	}
	var index bytes.Buffer
	skipped, err := warc.Index(&index, folder)
	if lines := bytes.Count(index.Bytes(), []byte("\n")); len(titles) != files || lines != files || skipped.Records > 0 || err != nil {
		t.Errorf("%d pages, %d lines, %+v, %v; want %d", len(titles), lines, skipped, err, files)
	}
}

// A link in a folder is the archive that it leads to; one that leads nowhere is an error, and not an archive that is left out.
func TestFolderWithLinks(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	target := filepath.Join(elsewhere, "b.warc")
	writeFile(t, filepath.Join(folder, "a.warc"), []byte(pageRecord("http://a.test/", "a")))
	writeFile(t, target, []byte(pageRecord("http://b.test/", "b")))
	if err := os.Symlink(target, filepath.Join(folder, "b.warc")); err != nil {
		t.Fatal(err)
	}
	var index bytes.Buffer
	if skipped, err := warc.Index(&index, folder); err != nil || skipped.Records > 0 || bytes.Count(index.Bytes(), []byte("\n")) != 2 {
		t.Errorf("%q, %+v, %v", index.String(), skipped, err)
	}
	if err := os.Remove(target); err != nil {
		t.Fatal(err)
	}
	if _, err := warc.Open(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("opening: %v", err)
	}
	if _, err := warc.Index(&index, folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the index: %v", err)
	}
}

// What an archive is written to has the credentials of requests: nobody else may read it.
func TestFileMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.warc.gz")
	l := restored(t, path, answers{}, warc.Options{})
	download(l, "1", "http://a.test/")
	end(t, l, "1")
	packed := path + ".wacz"
	if _, err := warc.Pack(packed, warc.PackOptions{}, path); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, packed} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", filepath.Base(name), info.Mode(), err)
		}
	}
}
