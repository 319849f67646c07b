package spiders_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/records"
	"github.com/tegenaria/tegenaria/selector"
	"github.com/tegenaria/tegenaria/spiders"
)

func TestRecordsFormats(t *testing.T) {
	row := func(_ context.Context, row records.Row, out *tegenaria.Output[string]) error {
		return out.Item(row.Get("name") + "=" + row.Get("price"))
	}
	element := func(_ context.Context, p *selector.Selection, out *tegenaria.Output[string]) error {
		return out.Item(p.CSS("name").Text() + "=" + p.CSS("price").Text())
	}
	value := func(_ context.Context, v records.Value, out *tegenaria.Output[string]) error {
		return out.Item(v.Get("name") + "=" + v.Get("price"))
	}
	const url = "http://a.test/file"
	for _, tt := range []struct {
		name   string
		spider *spiders.Records
		body   string
	}{
		{"CSV", spiders.NewRecords("test", records.CSV(records.Dialect{}), row, url), "name,price\ncup,3\npot,12\n"},
		{"another dialect", spiders.NewRecords("test", records.CSV(records.Dialect{Delimiter: ';', Quote: '\'', Header: []string{"price", "name"}}), row, url), "3;'cup'\r\n12;pot"},
		{"XML", spiders.NewRecords("test", records.XML("p"), element, url), "<r><p><name>cup</name><price>3</price></p><p><name>pot</name><price>12</price></p></r>"},
		{"JSON", spiders.NewRecords("test", records.JSON("data"), value, url), `{"data": [{"name": "cup", "price": 3}, {"name": "pot", "price": 12}]}`},
		{"JSON Lines", spiders.NewRecords("test", records.JSONLines(), value, url), `{"name": "cup", "price": 3}` + "\n" + `{"name": "pot", "price": 12}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				items, stats := gather(t, &web{pages: map[string]string{url: tt.body}}, tt.spider, 0)
				if got := strings.Join(items, " "); got != "cup=3 pot=12" {
					t.Errorf("items %s; %v", got, stats.Reasons)
				}
			})
		})
	}
}

// Adapt sees the body before it is read; a file may name further ones.
func TestRecordsAdapt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spider *spiders.Records
		spider = spiders.NewRecords("test", records.CSV(records.Dialect{}), func(_ context.Context, row records.Row, out *tegenaria.Output[string]) error {
			if next := row.Get("next"); next != "" {
				return out.Request(spider.Ask(next))
			}
			return out.Item(row.Get("name"))
		}, "http://a.test/1")
		spider.Adapt = func(page *tegenaria.Response, body io.Reader) (io.Reader, error) {
			if page.URL == "http://a.test/3" {
				return nil, errors.New("no such form")
			}
			r := bufio.NewReader(body)
			_, err := r.ReadString('\n')
			return r, err
		}
		items, stats := gather(t, &web{pages: map[string]string{"http://a.test/1": "# a preamble\nname,next\na,\n,http://a.test/2\n,http://a.test/3\n", "http://a.test/2": "# x\nname,next\nb,\n", "http://a.test/3": ""}}, spider, 0)
		if strings.Join(items, " ") != "a b" || stats.Reasons["failed: parse"] != 1 {
			t.Errorf("items %q, reasons %v", items, stats.Reasons)
		}
	})
}

// Bad records are told of together, with page and place; the items of the good ones are kept.
func TestRecordsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spider := spiders.NewRecords("test", records.JSONLines(), func(_ context.Context, v records.Value, out *tegenaria.Output[string]) error {
			if v.Get("n") == "3" {
				return fmt.Errorf("three")
			}
			return out.Item(v.Get("n"))
		}, "http://a.test/file")
		body := `{"n":1}` + "\n{\n" + `{"n":3}` + "\n" + `{"n":4}` + strings.Repeat("\n[", 30)
		var told error
		items, _ := gather(t, &web{pages: map[string]string{"http://a.test/file": body}}, spider, 0,
			tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = err }))
		var failed *spiders.RecordsError
		var first *records.Error
		if !errors.As(told, &failed) || failed.Total != 32 || failed.Read != 3 || len(failed.Errs) != 20 || !errors.As(told, &first) || first.Line != 2 || first.URL != "http://a.test/file" {
			t.Errorf("told %v", told)
		}
		if got := strings.Join(items, " "); got != "1 4" {
			t.Errorf("items %s", got)
		}
	})
}

// Files that are made to do harm end as failures that name them.
func TestRecordsHostile(t *testing.T) {
	for _, tt := range []struct{ name, body, want string }{
		{"a page", "<html>", "it is not JSON"},
		{"deep", strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), "more than 1000 levels"},
		{"binary", "\x00\x01\xff\xfe", "it is not JSON"},
		{"broken gzip", "\x1f\x8b\x00", "broken gzip"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				spider := spiders.NewRecords("test", records.JSON(""), func(context.Context, records.Value, *tegenaria.Output[string]) error { return nil }, "http://a.test/file")
				var told error
				gather(t, &web{pages: map[string]string{"http://a.test/file": tt.body}}, spider, 0,
					tegenaria.EngineWithErrorHandler(func(_ tegenaria.SpiderInterface, err *tegenaria.HandleError) { told = err }))
				var named *records.Error
				if !errors.As(told, &named) || named.URL != "http://a.test/file" || !strings.Contains(told.Error(), tt.want) {
					t.Errorf("told %v, want %s", told, tt.want)
				}
			})
		})
	}
}

var large = flag.Int("records", 24, "size in MiB of the files of TestRecordsMemory")

// Files that are larger than a body in memory may be are read in memory that does not grow with them, but for the 24
// bytes that the feed remembers of each item until the request has settled; and all their items are in the output.
func TestRecordsMemory(t *testing.T) {
	name := strings.Repeat("x", 1000)
	type row struct{ N int }
	for _, tt := range []struct {
		name        string
		before, one string
		after       string
		spider      func(count *atomic.Int64, url string) *spiders.Records
	}{
		{"CSV", "n,name\n", "1,%s\n", "", func(n *atomic.Int64, url string) *spiders.Records {
			return spiders.NewRecords("test", records.CSV(records.Dialect{}), func(_ context.Context, r records.Row, out *tegenaria.Output[row]) error {
				n.Add(1)
				return out.Item(row{len(r.Get("name"))})
			}, url)
		}},
		{"XML", "<r>", "<p><n>1</n><name>%s</name></p>", "</r>", func(n *atomic.Int64, url string) *spiders.Records {
			return spiders.NewRecords("test", records.XML("p"), func(_ context.Context, p *selector.Selection, out *tegenaria.Output[row]) error {
				n.Add(1)
				return out.Item(row{len(p.CSS("name").Text())})
			}, url)
		}},
		{"JSON", "[{}", `,{"n": 1, "name": "%s"}`, "]", func(n *atomic.Int64, url string) *spiders.Records {
			return spiders.NewRecords("test", records.JSON(""), func(_ context.Context, v records.Value, out *tegenaria.Output[row]) error {
				n.Add(1)
				return out.Item(row{len(v.Get("name"))})
			}, url)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			one := fmt.Sprintf(tt.one, name)
			times := *large << 20 / len(one)
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/file" {
					http.NotFound(w, r)
					return
				}
				io.WriteString(w, tt.before)
				many := strings.Repeat(one, 100)
				for range times / 100 {
					io.WriteString(w, many)
				}
				io.WriteString(w, tt.after)
			})
			var seen atomic.Int64
			spider := tt.spider(&seen, s.URL+"/file")
			spider.Options = []tegenaria.RequestOption{tegenaria.RequestWithTimeout(time.Hour)}
			path := filepath.Join(t.TempDir(), "items.jsonl")
			var peak uint64
			measured := int64(0)
			watch := tegenaria.PipelineFunc(1, func(_ context.Context, r row) (row, error) {
				if n := seen.Load(); n > measured+int64(times/8) { // by one goroutine
					measured = n
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					peak = max(peak, m.HeapAlloc)
				}
				return r, nil
			})
			e := tegenaria.NewSpiderEngine(tegenaria.EngineWithSpiders(spider), silent, tegenaria.EngineWithPipelines(watch, feed.JSONL(path, feed.StageBytes(1<<20))),
				tegenaria.EngineWithItemConcurrency(1), tegenaria.EngineWithLimits(tegenaria.Limits{Body: 1 << 20, Spool: 4 << 30}))
			if err := e.Run(t.Context(), "test"); err != nil {
				t.Fatal(err)
			}
			lines := int64(0)
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			for d := json.NewDecoder(file); ; lines++ {
				var r row
				if err := d.Decode(&r); err == io.EOF {
					break
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if want := int64(times / 100 * 100); lines < want || lines != seen.Load() {
				t.Errorf("%d items, %d records, want %d", lines, seen.Load(), want)
			}
			if most := uint64(16<<20 + 32*lines); peak == 0 || deep.Checks() && peak > most { // the feed remembers where each item of the request is
				t.Errorf("%d KiB of heap", peak>>10)
			}
			t.Logf("%d MiB, %d records, at most %d KiB of heap", *large, lines, peak>>10)
		})
	}
}

// A file that is compressed for itself is read as it is.
func TestRecordsGzip(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b strings.Builder
		z := gzip.NewWriter(&b)
		io.WriteString(z, "n\n1\n")
		z.Close()
		spider := spiders.NewRecords("test", records.CSV(records.Dialect{}), func(_ context.Context, r records.Row, out *tegenaria.Output[string]) error {
			return out.Item(r.At(0))
		}, "http://a.test/file.csv.gz")
		items, _ := gather(t, &web{pages: map[string]string{"http://a.test/file.csv.gz": b.String()}}, spider, 0)
		if len(items) != 1 || items[0] != "1" {
			t.Errorf("items %q", items)
		}
	})
}
