// Command bucket crawls a shop and sends what it finds to a bucket: CSV files, packed, with twenty books each. The shop
// is the demo site of this repository, and the bucket a server that speaks the protocol of Amazon S3; the program
// serves both itself, on loopback.
//
//	go run ./examples/bucket
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/cache/disk"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/s3"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/middleware"
)

type book struct {
	Title string `json:"title"`
	Price string `json:"price"`
}

// parse takes what a page has: links to books, a link to the next page, or a book.
func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	if product := page.CSS("article.product_page"); product.Len() > 0 {
		return out.Item(book{page.CSS("h1").Text(), product.CSS("p.price_color").Text()})
	}
	return out.FollowLinks(links.CSS("article.product_pod h2 a", "li.next a"))
}

// deliver crawls the shop, with files that wait in a folder until they are sent.
func deliver(ctx context.Context, site, endpoint, folder string) (err error) {
	job, err := disk.Open(filepath.Join(folder, "job"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, job.Close()) }()
	bucket, err := s3.New(s3.Options{Endpoint: endpoint, Bucket: "books", Key: "key", Secret: "secret", PathStyle: true})
	if err != nil {
		return err
	}
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("shop", tegenaria.Handle(parse), site+"/books/")),
		tegenaria.EngineWithMiddlewares(middleware.Standard()...),
		tegenaria.EngineWithCache(job),
		tegenaria.EngineWithPipelines(
			feed.CSV(filepath.Join(folder, "{spider}-{part}.csv.gz"), feed.Rotate(feed.Rotation{Items: 20}), feed.To(bucket)),
		),
	)
	return engine.Run(ctx, "shop")
}

// run prints what the bucket has in the end.
func run(ctx context.Context, out io.Writer) error {
	site := demosite.MustStart()
	defer site.Close()
	objects := s3mem.New()
	if err := objects.CreateBucket("books"); err != nil {
		return err
	}
	server := httptest.NewServer(gofakes3.New(objects).Server())
	defer server.Close()
	folder, err := os.MkdirTemp("", "bucket")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if err := deliver(ctx, site.URL(), server.URL, folder); err != nil {
		return err
	}
	list, err := objects.ListBucket("books", nil, gofakes3.ListBucketPage{})
	if err != nil {
		return err
	}
	for _, object := range list.Contents {
		fmt.Fprintf(out, "%s, %d bytes\n", object.Key, object.Size)
	}
	return nil
}

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}
