package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Book is what the spider is after. The pages give the texts, the pipelines the numbers.
type Book struct {
	Title  string `json:"title"`
	Author string `json:"author"`
	Year   int    `json:"year"`
	Price  string `json:"price"` // as shown: "£12.99"
	Pence  int    `json:"pence"`
	Rating string `json:"-"` // as shown: "Rated Three"
	Stars  int    `json:"stars"`
	Stock  int    `json:"stock"`
}

// bookSpider reads the shop. The embedded BaseSpider gives it a name, and an answer to every method that
// it does not have itself.
type bookSpider struct {
	*tegenaria.BaseSpider
	site string
}

func newBookSpider(site string) *bookSpider {
	return &bookSpider{&tegenaria.BaseSpider{Name: "books"}, site}
}

// StartRequest sends the first requests. A nil parser stands for Parser.
func (s *bookSpider) StartRequest(req chan<- *tegenaria.Context) {
	for _, path := range []string{"/books/", "/flaky/1", "/flaky/2", "/flaky/3"} {
		req <- tegenaria.NewContext(tegenaria.NewRequest(s.site+path, tegenaria.GET, nil))
	}
}

// Parser reads a page of the list: it sends a request for each book and for the next page. The engine knows
// which of them it has seen.
func (s *bookSpider) Parser(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	page := resp.Response()
	for _, href := range page.CSS("article.product_pod h2 a").Attrs("href") {
		book, err := page.Follow(href, tegenaria.RequestWithParser(s.ParseBook))
		if err != nil {
			return err
		}
		req <- tegenaria.NewContext(book)
	}
	for _, href := range page.CSS("li.next a").Attrs("href") {
		next, err := page.Follow(href)
		if err != nil {
			return err
		}
		req <- tegenaria.NewContext(next)
	}
	return nil
}

// ParseBook reads the page of one book.
func (s *bookSpider) ParseBook(resp *tegenaria.Context, item chan<- *tegenaria.ItemMeta, req chan<- *tegenaria.Context) error {
	page := resp.Response().CSS("article.product_page")
	book := &Book{
		Title:  resp.Response().CSS("h1").Text(),
		Author: page.CSS(".author").Text(),
		Price:  page.CSS("p.price_color").Text(),
		Rating: page.CSS("p.star-rating").Text(),
	}
	var err error
	if book.Year, err = strconv.Atoi(page.CSS(".year").Text()); err != nil {
		return err
	}
	// "In stock (7 available)" or "Out of stock"
	if _, after, ok := strings.Cut(page.CSS("p.availability").Text(), "("); ok {
		number, _, _ := strings.Cut(after, " ")
		if book.Stock, err = strconv.Atoi(number); err != nil {
			return err
		}
	}
	item <- tegenaria.NewItem(resp, book)
	return nil
}

// ErrorHandler is told what failed. A server that is overloaded is asked again a little later: sending the
// failed request itself makes another attempt, up to Limits.Attempts.
func (s *bookSpider) ErrorHandler(err *tegenaria.HandleError, req chan<- *tegenaria.Context) {
	var status *tegenaria.StatusError
	if err.Request == nil || !errors.As(err, &status) || status.Status < 500 {
		return
	}
	tegenaria.RequestWithNotBefore(time.Now().Add(50 * time.Millisecond))(err.Request)
	req <- tegenaria.NewContext(err.Request)
}
