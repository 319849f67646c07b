package mistakes_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/feed/s3"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/media"
	"github.com/tegenaria/tegenaria/warc"
)

// priced is an item that no shop of these programs sends.
type priced struct {
	Price string
	Alert chan int
}

// pictured is an item whose tag says nothing of where the results go.
type pictured struct {
	Picture string `media:"image"`
}

// outputs are files, tables, buckets and archives that cannot be what they should.
func outputs() []mistake {
	deliver := func(file string, make func(path string) tegenaria.PipelinesInterface) func(w *world) error {
		return func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(make(filepath.Join(w.dir, file))))
		}
	}
	list := []mistake{
		{"a feed without a path", deliver("", func(string) tegenaria.PipelinesInterface { return feed.JSONL("") }), "name a file"},
		{"an unknown field in a path", deliver("{site}-{part}.csv", func(path string) tegenaria.PipelinesInterface { return feed.CSV(path) }), "{site}"},
		{"rotation without a number", deliver("items.csv", func(path string) tegenaria.PipelinesInterface {
			return feed.CSV(path, feed.Rotate(feed.Rotation{Items: 1000}))
		}), "{part}"},
		{"columns that no item has", deliver("items.csv", func(path string) tegenaria.PipelinesInterface {
			return feed.CSV(path, feed.Columns("title", "price"))
		}), "feed.Columns"},
		{"two feeds for one file, with keys", func(w *world) error {
			path := filepath.Join(w.dir, "items.jsonl")
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(path), feed.JSONL(path, feed.Key("second"))))
		}, "items.jsonl"},
		{"other columns than those of the file", func(w *world) error {
			path := filepath.Join(w.dir, "items.csv")
			if err := os.WriteFile(path, []byte("Name,Price\nOne,1\n"), 0o600); err != nil {
				return err
			}
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.CSV(path, feed.Append(), feed.Columns("Name"))))
		}, "items.csv"},
		{"appending to a file that is not packed", func(w *world) error {
			path := filepath.Join(w.dir, "items.jsonl.gz")
			if err := os.WriteFile(path, []byte("{}\n"), 0o600); err != nil {
				return err
			}
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(path, feed.Append())))
		}, "items.jsonl.gz"},
		{"a channel in a table", deliver("items.db", func(path string) tegenaria.PipelinesInterface { return sqlite.New[priced](path) }), "Alert"},
		{"a channel in Parquet", deliver("items.parquet", func(path string) tegenaria.PipelinesInterface { return parquet.New[priced](path) }), "Alert"},
		{"a key that is no column", deliver("items.db", func(path string) tegenaria.PipelinesInterface {
			return sqlite.New[product](path, sqlite.Upsert("sku"))
		}), "sku"},
		{"a bucket that refuses the key", func(w *world) error {
			server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				rw.WriteHeader(http.StatusForbidden)
				fmt.Fprint(rw, "<Error><Code>SignatureDoesNotMatch</Code><Message>The signature is not the one that this server makes.</Message></Error>")
			}))
			bucket, err := s3.New(s3.Options{Endpoint: server.URL, Bucket: "items", Key: "AKIDEXAMPLE", Secret: password, PathStyle: true})
			if err != nil {
				return err
			}
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(feed.JSONL(filepath.Join(w.dir, "items-{part}.jsonl"), feed.To(bucket))))
		}, "check Options.Key"},
		{"a bucket's address without https", func(*world) error {
			_, err := s3.New(s3.Options{Endpoint: "s3.example.com", Bucket: "items", Key: "AKIDEXAMPLE", Secret: password})
			return err
		}, "https://"},
		{"pictures without a folder", deliver("", func(string) tegenaria.PipelinesInterface { return media.New(media.Options{}) }), "Options.Dir"},
		{"pictures without a field for the results", func(w *world) error {
			spider := handler(w.site, func(_ context.Context, _ *tegenaria.Response, out *tegenaria.Output[any]) error {
				return out.Item(&pictured{"/one.png"})
			})
			return crawl(spider, tegenaria.EngineWithPipelines(media.New(media.Options{Dir: filepath.Join(w.dir, "pictures")})))
		}, "into=FIELD"},
		{"options of another format", deliver("items.jsonl", func(path string) tegenaria.PipelinesInterface {
			return feed.JSONL(path, feed.Columns("Name"), feed.BOM())
		}), "use feed.CSV"},
		{"a feed in a format that is nil", deliver("items.txt", func(path string) tegenaria.PipelinesInterface { return feed.New(path, nil) }), "Encoder"},
		{"mistakes in two outputs", func(w *world) error {
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(
				feed.CSV(filepath.Join(w.dir, "items.csv"), feed.NoHeader(), feed.Comma('"')), sqlite.New[product](filepath.Join(w.dir, "items.db"), sqlite.Upsert("Name", "Name"))))
		}, "items.csv"},
		{"one column twice", deliver("items.csv", func(path string) tegenaria.PipelinesInterface {
			return feed.CSV(path, feed.Columns("Name", "Name"))
		}), "twice"},
		{"the folder of a table is not there", deliver("none/items.db", func(path string) tegenaria.PipelinesInterface { return sqlite.New[product](path) }), "DIR/none"},
		{"a table in a file of text", func(w *world) error {
			path := filepath.Join(w.dir, "items.db")
			if err := os.WriteFile(path, []byte("this is no database, and long enough to be told from one that is empty\n"), 0o600); err != nil {
				return err
			}
			return crawl(shop(w.site), tegenaria.EngineWithPipelines(sqlite.New[product](path)))
		}, "items.db"},
		{"the folder of files is a file", func(w *world) error {
			return inFile(w, func(path string) tegenaria.PipelinesInterface { return feed.CSV(path + "/{part}.csv") })
		}, "DIR/file"},
		{"the folder of Parquet is a file", func(w *world) error {
			return inFile(w, func(path string) tegenaria.PipelinesInterface { return parquet.New[product](path + "/items.parquet") })
		}, "DIR/file"},
		{"the folder of pictures is a file", func(w *world) error {
			return inFile(w, func(path string) tegenaria.PipelinesInterface { return media.New(media.Options{Dir: path}) })
		}, "DIR/file"},
		{"the folder of an archive is a file", func(w *world) error {
			file := filepath.Join(w.dir, "file")
			if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
				return err
			}
			archive, err := warc.Create(filepath.Join(file, "shop.warc.gz"), warc.Options{})
			if err != nil {
				return err
			}
			return crawl(shop(w.site), tegenaria.EngineWithDownloaderLayers(archive.Layer))
		}, "DIR/file"},
		{"an archive that is not called so", func(w *world) error {
			_, err := warc.Create(filepath.Join(w.dir, "shop.gz"), warc.Options{})
			return err
		}, ".warc.gz"},
		{"an archive of negative size", func(w *world) error {
			_, err := warc.Create(filepath.Join(w.dir, "shop.warc.gz"), warc.Options{Size: -1})
			return err
		}, "Options.Size"},
		{"an archive with an unknown field", func(w *world) error {
			_, err := warc.Create(filepath.Join(w.dir, "{site}.warc.gz"), warc.Options{})
			return err
		}, "{site}"},
		{"an archive that is not there", func(w *world) error {
			_, err := warc.Open(filepath.Join(w.dir, "shop.warc.gz"))
			return err
		}, "shop.warc.gz"},
		{"an archive of something else", func(w *world) error {
			path := filepath.Join(w.dir, "shop.warc.gz")
			if err := os.WriteFile(path, []byte("no archive"), 0o600); err != nil {
				return err
			}
			_, err := warc.Open(path)
			return err
		}, "shop.warc.gz"},
	}
	for _, out := range sharedOutputs() {
		list = append(list, mistake{out.name, func(w *world) error {
			output := out.make(w.dir).(tegenaria.Committer)
			if err := output.Restore(context.Background(), nil); err != nil {
				return err
			}
			if _, err := output.Prepare(context.Background(), nil); err != nil {
				return err
			}
			return start(out.name+", opened", w)
		}, "another process"})
	}
	return list
}

// sharedOutput is an output that two processes write to without a job.
type sharedOutput struct {
	name string
	make func(dir string) tegenaria.PipelinesInterface
}

func sharedOutputs() []sharedOutput {
	return []sharedOutput{
		{"two processes write one file", func(dir string) tegenaria.PipelinesInterface {
			return feed.JSONL(filepath.Join(dir, "items.jsonl"), feed.Overwrite())
		}},
		{"two processes write one set of files", func(dir string) tegenaria.PipelinesInterface {
			return feed.CSV(filepath.Join(dir, "items-{part}.csv"), feed.Append())
		}},
	}
}

// inFile crawls into a folder whose name is that of a file.
func inFile(w *world, make func(path string) tegenaria.PipelinesInterface) error {
	file := filepath.Join(w.dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		return err
	}
	return crawl(shop(w.site), tegenaria.EngineWithPipelines(make(file)))
}
