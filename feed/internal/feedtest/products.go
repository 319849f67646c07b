package feedtest

import (
	"fmt"
	"strings"
	"time"
)

// Product is an item of ten fields and about 300 bytes, as JSON.
type Product struct {
	SKU         string    `json:"sku"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	URL         string    `json:"url"`
	Price       float64   `json:"price"`
	Stock       int       `json:"stock"`
	Rating      float64   `json:"rating"`
	New         bool      `json:"new"`
	Seen        time.Time `json:"seen"`
	Tags        []string  `json:"tags"`
}

// Products returns so many products with keys from first on.
func Products(first, count int) []Product {
	list := make([]Product, count)
	for i := range list {
		n := first + i
		list[i] = Product{SKU: fmt.Sprintf("sku-%08d", n), Title: fmt.Sprint("A product with the number ", n), Description: strings.Repeat("words ", 15),
			URL: fmt.Sprintf("https://shop.example/products/%d.html", n), Price: float64(n%10_000) / 100, Stock: n % 100, Rating: float64(n%50) / 10,
			New: n%2 == 0, Seen: time.Unix(1_700_000_000+int64(n), 0).UTC(), Tags: []string{"one", "two"}}
	}
	return list
}

// Batch is how many rows the benchmarks write in one transaction.
const Batch = 1000
