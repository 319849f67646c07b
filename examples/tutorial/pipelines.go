package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tegenaria/tegenaria"
)

// Each book passes the pipelines by their priority, smaller numbers first. Different books pass them at the
// same time.

var (
	errSoldOut = errors.New("sold out")
	errNoTitle = errors.New("a book without a title: has the page changed?")
)

// validate drops what nobody can buy, and fails where a page was not understood.
type validate struct{}

// GetPriority makes it the first.
func (*validate) GetPriority() int { return 100 }

// ProcessItem looks at one book. DropItem ends an item without calling it a failure.
func (*validate) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	book := item.Item.(*Book)
	if book.Title == "" {
		return errNoTitle
	}
	if book.Stock == 0 {
		return tegenaria.DropItem(errSoldOut)
	}
	return nil
}

// enrich turns texts into numbers.
type enrich struct{}

// GetPriority makes it the second.
func (*enrich) GetPriority() int { return 200 }

// ProcessItem fills in price and stars.
func (*enrich) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	book := item.Item.(*Book)
	pence, err := strconv.Atoi(strings.NewReplacer("£", "", ".", "").Replace(book.Price))
	if err != nil {
		return fmt.Errorf("price of %s: %w", book.Title, err)
	}
	book.Pence = pence
	book.Stars = slices.Index([]string{"Rated One", "Rated Two", "Rated Three", "Rated Four", "Rated Five"}, book.Rating) + 1
	return nil
}

// printer writes books as lines of JSON.
type printer struct {
	mu sync.Mutex // guards w
	w  io.Writer
}

// GetPriority makes it the last.
func (*printer) GetPriority() int { return 300 }

// ProcessItem writes one line.
func (p *printer) ProcessItem(_ tegenaria.SpiderInterface, item *tegenaria.ItemMeta) error {
	line, err := json.Marshal(item.Item)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.w.Write(append(line, '\n'))
	return err
}
