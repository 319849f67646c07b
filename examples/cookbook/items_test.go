package cookbook_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/media"
)

// What becomes of items: files, checks, duplicates, downloads.

func TestCSV(t *testing.T) {
	spider, dir := quotes(start(t)), t.TempDir()
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithPipelines(feed.CSV(filepath.Join(dir, "quotes.csv"), feed.Columns("Author", "Text"), feed.Overwrite())),
	)
	err := engine.Execute("quotes")
	if err != nil {
		t.Fatal(err)
	}
	if rows := csvRows(t, filepath.Join(dir, "quotes.csv")); len(rows) != 101 || rows[0][0] != "Author" {
		t.Errorf("%d rows, want 101: %q", len(rows), rows[0])
	}
}

// csvRows reads a file of CSV.
func csvRows(t *testing.T, name string) [][]string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil || len(rows) == 0 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	return rows
}

func TestJSONLines(t *testing.T) {
	spider, dir := quotes(start(t)), t.TempDir()
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(dir, "quotes.jsonl"), feed.Overwrite())),
	)
	err := engine.Execute("quotes")
	text, readErr := os.ReadFile(filepath.Join(dir, "quotes.jsonl"))
	if n := bytes.Count(text, []byte("\n")); n != 100 || err != nil || readErr != nil {
		t.Errorf("%d lines, want 100; %v, %v", n, err, readErr)
	}
}

// checked refuses books without a title, and leaves out those without a price.
func checked(ctx context.Context, b book) (book, error) {
	b.Title = strings.TrimSpace(b.Title)
	switch {
	case b.Title == "":
		return b, errors.New("a book without a title") // a failure: ErrorHandlers are called, and it is counted as failed
	case b.Price == "":
		return b, tegenaria.DropItem(errors.New("no price")) // no failure: counted as dropped
	}
	return b, nil
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		give    book
		fails   bool
		dropped bool
	}{
		{give: book{Title: " Emma ", Price: "£3"}},
		{give: book{Price: "£3"}, fails: true},
		{give: book{Title: "Emma"}, fails: true, dropped: true},
	} {
		spider := tegenaria.NewSpider("one", tegenaria.Handle(func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[book]) error {
			return out.Item(c.give)
		}), start(t).URL()+"/")
		engine := tegenaria.NewSpiderEngine(
			tegenaria.EngineWithSpiders(spider),
			tegenaria.EngineWithPipelines(tegenaria.PipelineFunc(100, checked)),
		)
		if err := engine.Run(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		s := engine.Stats()
		if got := s.ItemScraped == 0; got != c.fails || (s.ItemDropped == 1) != c.dropped || (s.ItemFailed == 1) != (c.fails && !c.dropped) {
			t.Errorf("%+v: %d passed, %d dropped, %d failed", c.give, s.ItemScraped, s.ItemDropped, s.ItemFailed)
		}
	}
}

func TestDuplicateItems(t *testing.T) {
	dir := t.TempDir()
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(quotes(start(t))),
		tegenaria.EngineWithPipelines(
			feed.CSV(filepath.Join(dir, "authors.csv"), feed.Unique(func(item any) string { return item.(quote).Author })),
		),
	)
	if err := engine.Execute("quotes"); err != nil {
		t.Fatal(err)
	}
	authors := make(map[string]bool)
	for _, row := range csvRows(t, filepath.Join(dir, "authors.csv"))[1:] {
		if authors[row[1]] {
			t.Errorf("two quotes of %s", row[1])
		}
		authors[row[1]] = true
	}
	if len(authors) < 10 {
		t.Errorf("%d authors", len(authors))
	}
}

// cover is an item with a picture. media.New puts what became of it into Picture.
type cover struct {
	Title   string
	Image   string `media:"image,into=Picture"`
	Picture media.Result
}

func covers(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[cover]) error {
	if src := page.CSS("img.cover").Attr("src"); src != "" {
		return out.Item(cover{Title: page.CSS("h1").Text(), Image: src})
	}
	return out.FollowLinks(links.CSS("article.product_pod h2"))
}

func TestDownloads(t *testing.T) {
	dir := t.TempDir()
	spider := tegenaria.NewSpider("covers", tegenaria.Handle(covers), start(t).URL()+"/books/")
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithPipelines(
			media.New(media.Options{Dir: filepath.Join(dir, "images"), Images: true}),
			feed.CSV(filepath.Join(dir, "covers.csv")),
		),
	)
	if err := engine.Execute("covers"); err != nil {
		t.Fatal(err)
	}
	rows := csvRows(t, filepath.Join(dir, "covers.csv"))
	if len(rows) < 13 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows[1:] {
		var r media.Result
		if err := json.Unmarshal([]byte(row[2]), &r); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(filepath.Join(dir, "images", r.Path))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(file); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
		if err := file.Close(); err != nil {
			t.Error(err)
		}
	}
}

func resumable(dir string, spider tegenaria.SpiderInterface, opts ...tegenaria.EngineOption) (err error) {
	job, err := disk.Open(filepath.Join(dir, "job"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	engine := tegenaria.NewSpiderEngine(append(opts,
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithCache(job), // the queue and what was seen
		tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(dir, "quotes.jsonl"))),
	)...)
	return engine.Execute(spider.GetName())
}

func TestResumeTwoParsers(t *testing.T) {
	site, dir := start(t), t.TempDir()
	spider := tegenaria.NewSpiderOf("books", tegenaria.Handle(list), tegenaria.NewRequest(site.URL()+"/books/", tegenaria.GET, nil)).
		On("detail", tegenaria.Handle(detail))
	var stopped *tegenaria.StoppedError
	if err := resumable(dir, spider, tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 4})); !errors.As(err, &stopped) {
		t.Fatalf("the first run ended with %v, want a stop", err)
	}
	if err := resumable(dir, spider); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "quotes.jsonl"))
	if n := bytes.Count(text, []byte("\n")); err != nil || n != 48 {
		t.Errorf("%d lines, want 48; %v", n, err)
	}
}

func TestResume(t *testing.T) {
	site, dir := start(t), t.TempDir()
	var stopped *tegenaria.StoppedError
	if err := resumable(dir, quotes(site), tegenaria.EngineWithLimits(tegenaria.Limits{Pages: 4})); !errors.As(err, &stopped) {
		t.Fatalf("the first run ended with %v, want a stop", err)
	}
	if err := resumable(dir, quotes(site)); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "quotes.jsonl"))
	if n := bytes.Count(text, []byte("\n")); err != nil || n != 100 {
		t.Errorf("%d lines, want 100; %v", n, err)
	}
	if n := len(asked(site)); n != 10 {
		t.Errorf("%d pages asked for, want 10: each once", n)
	}
}
