package cookbook_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
)

// The programs of docs/guides/pipelines.md.

// trim takes the quotation marks off a quote, and drops long ones.
func trim(ctx context.Context, q quote) (quote, error) {
	q.Text = strings.Trim(q.Text, "“”")
	if len(q.Text) > 100 {
		return q, tegenaria.DropItem(errors.New("too long"))
	}
	return q, nil
}

func TestTrim(t *testing.T) {
	spider := quotes(start(t))
	var lines bytes.Buffer
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithPipelines(
			tegenaria.PipelineFunc(100, trim),
			tegenaria.PipelineFunc(200, upper),
			feed.JSONLTo(&lines),
		),
	)
	if err := engine.Run(t.Context(), "quotes"); err != nil {
		t.Fatal(err)
	}
	s := engine.Stats()
	if s.ItemDropped == 0 || s.ItemScraped+s.ItemDropped != 100 || strings.Contains(lines.String(), `"Text":"“`) || !strings.Contains(lines.String(), "MARK TWAIN") {
		t.Errorf("%d passed, %d dropped\n%s", s.ItemScraped, s.ItemDropped, lines.String())
	}
}

func upper(_ context.Context, q quote) (quote, error) {
	q.Author = strings.ToUpper(q.Author)
	return q, nil
}

// table is a pipeline that writes quotes to a CSV file.
type table struct {
	name string

	mu   sync.Mutex // guards rows: items pass a pipeline concurrently
	file *os.File
	rows *csv.Writer
}

func (p *table) GetPriority() int { return 900 }

func (p *table) Open(ctx context.Context, spider tegenaria.SpiderInterface) (err error) {
	p.file, err = os.Create(p.name)
	p.rows = csv.NewWriter(p.file)
	return err
}

func (p *table) ProcessItem(spider tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	q, ok := item.Item.(quote)
	if !ok {
		return nil // another type of item
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rows.Write([]string{q.Author, q.Text})
}

func (p *table) Close(ctx context.Context, reason string) error {
	p.rows.Flush()
	return errors.Join(p.rows.Error(), p.file.Close())
}

func TestTable(t *testing.T) {
	spider, name := quotes(start(t)), filepath.Join(t.TempDir(), "quotes.csv")
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(spider),
		tegenaria.EngineWithPipelines(&table{name: name}),
	)
	if err := engine.Run(t.Context(), "quotes"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if n := bytes.Count(text, []byte("\n")); n != 100 || err != nil {
		t.Errorf("%d lines, want 100; %v", n, err)
	}
}

// both sends items of two types.
func both(ctx context.Context, page *tegenaria.Response, out *tegenaria.Output[any]) error {
	if err := out.Item(quote{Author: "Jane Austen"}); err != nil {
		return err
	}
	return out.Item(book{Title: "Emma"})
}

func TestTwoTypes(t *testing.T) {
	dir := t.TempDir()
	split := tegenaria.EngineWithPipelines(
		feed.JSONL(filepath.Join(dir, "quotes.jsonl"), feed.Select(is[quote])),
		feed.JSONL(filepath.Join(dir, "books.jsonl"), feed.Select(is[book])),
	)
	crawl[any](t, tegenaria.NewSpider("both", tegenaria.Handle(both), start(t).URL()+"/"), split)
	for name, want := range map[string]string{"quotes.jsonl": "Jane Austen", "books.jsonl": "Emma"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || bytes.Count(text, []byte("\n")) != 1 || !strings.Contains(string(text), want) {
			t.Errorf("%s: %s, %v", name, text, err)
		}
	}
}

// is reports whether an item is of a type.
func is[T any](item tegenaria.ItemInterface) bool {
	_, ok := item.(T)
	return ok
}
