// Command books crawls a shop. The struct of its items says in tags where a page has each field, so the parser has no
// code for that. The books are delivered four times: as JSON Lines for other programs, as CSV for a spreadsheet, as
// Parquet for a data lake, and as a table of an SQLite database. At the end the program prints how often each field was
// looked for and found. The site is the demo site of this repository, served on loopback by the program itself.
//
//	go run ./examples/books [FOLDER]
//
// The files are kept if a folder is named.
package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/feed"
	"github.com/tegenaria/tegenaria/feed/parquet"
	"github.com/tegenaria/tegenaria/feed/sqlite"
	"github.com/tegenaria/tegenaria/links"
)

// book is a row. The price is a text with two digits behind the point, which Parquet stores as a decimal. A book that
// is sold out has no number in its availability, and hence a stock of 0.
type book struct {
	UPC    string `json:"upc" xpath:"//tr[th = 'UPC']/td" required:"true"`
	Title  string `json:"title" css:"h1" required:"true"`
	Author string `json:"author" css:".author"`
	Year   int    `json:"year" css:".year"`
	Price  string `json:"price" css:".price_color" re:"[0-9.]+" required:"true" parquet:"decimal(2:9)"`
	Stock  int    `json:"stock" css:".availability" re:"[0-9]+" default:"0"`
}

// parse takes what a page has: a book, or links to books and one to the next page.
func parse(_ context.Context, page *tegenaria.Response, out *tegenaria.Output[book]) error {
	if page.CSS("article.product_page").Len() > 0 {
		var b book
		if err := page.Unmarshal(&b); err != nil {
			return err // it names the field and the page
		}
		return out.Item(b)
	}
	return out.FollowLinks(links.CSS("article.product_pod h2 a", "li.next a"))
}

// health prints what became of the fields: a selector has stopped matching when nearly all are missing, or have their default.
func health(out io.Writer, fields map[string]tegenaria.FieldStats) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "field\tlooked for\tdefault\tmissing\tfailed\t\n")
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t\n", name, f.LookedFor, f.Defaulted, f.Missing, f.Failed)
	}
	return table.Flush()
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "books:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	folder, err := os.MkdirTemp("", "books-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if len(args) > 0 {
		folder = args[0]
		if err := os.MkdirAll(folder, 0o750); err != nil {
			return err
		}
	}
	site := demosite.MustStart()
	defer site.Close()

	table := sqlite.New[book](filepath.Join(folder, "books.db"), sqlite.Table("books"), sqlite.Upsert("upc"))
	lake := parquet.New[book](filepath.Join(folder, "lake", "{spider}-{part}.parquet"))
	engine := tegenaria.NewSpiderEngine(
		tegenaria.EngineWithQuiet(),
		tegenaria.EngineWithSpiders(tegenaria.NewSpider("books", tegenaria.Handle(parse), site.URL()+"/books/")),
		tegenaria.EngineWithPipelines(
			feed.JSONL(filepath.Join(folder, "books.jsonl")),
			feed.CSV(filepath.Join(folder, "books.csv"), feed.Columns("title", "author", "price")),
			table, lake))
	if err := engine.Run(ctx, "books"); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d rows in a table, %d rows in %d Parquet file\n", table.FeedStats().Written, lake.FeedStats().Written, lake.FeedStats().Parts)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(folder, "books.csv"))
	if err != nil {
		return err
	}
	lines := slices.Sorted(strings.Lines(string(text))) // they come in the order in which pages did
	if _, err = fmt.Fprint(out, strings.Join(lines[:min(3, len(lines))], ""), "\n"); err != nil {
		return err
	}
	return health(out, engine.Stats().Fields)
}
