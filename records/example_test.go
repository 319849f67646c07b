package records_test

import (
	"fmt"
	"strings"

	"github.com/tegenaria/tegenaria/records"
)

func ExampleCSV() {
	body := strings.NewReader("name;price\n'Tea; pot';12\nCup;3;x\n")
	format := records.CSV(records.Dialect{Delimiter: ';', Quote: '\''})
	for row, err := range format.Read(body, records.Source{URL: "https://shop.example/prices.csv"}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(row.Get("name"), row.Get("price"))
	}
	// Output:
	// Tea; pot 12
	// records: https://shop.example/prices.csv: record 2, line 3, byte 25: the row has 3 fields, the header 2; set Ragged if that may be
}

func ExampleXML() {
	body := strings.NewReader(`<products><product id="7"><name>Cup</name></product><product id="8"><name>Pot</name></product></products>`)
	format := records.XML("product")
	for product, err := range format.Read(body, records.Source{}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(product.Attr("id"), product.CSS("name").Text())
	}
	// Output:
	// 7 Cup
	// 8 Pot
}

func ExampleJSON() {
	body := strings.NewReader(`{"data": {"products": [{"name": "Cup", "prices": [3, 4]}, {"name": "Pot"}]}}`)
	format := records.JSON("data.products")
	for value, err := range format.Read(body, records.Source{}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(value.Get("name"), value.Get("prices.0"))
	}
	// Output:
	// Cup 3
	// Pot
}

func ExampleJSONLines() {
	body := strings.NewReader("{\"n\": 1}\n{\"n\": 2}\n")
	for value, err := range records.JSONLines().Read(body, records.Source{}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(value.Get("n"))
	}
	// Output:
	// 1
	// 2
}

func ExampleReadFeed() {
	body := strings.NewReader(`<rss version="2.0"><channel><title>News</title><item><title>Tea is hot</title><link>/tea</link></item></channel></rss>`)
	feed, entries := records.ReadFeed(body, records.Source{URL: "https://news.example/feed.xml"})
	for entry, err := range entries {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(feed.Title, entry.Title, entry.URL)
	}
	// Output: News Tea is hot https://news.example/tea
}
