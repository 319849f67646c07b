//go:build unix

// Command tokenizer is a crawl without a framework: net/http, the tokenizer of golang.org/x/net/html, net/url. It is what
// the race calls the limit.
package main

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/tegenaria/tegenaria/bench/job"
	"github.com/tegenaria/tegenaria/bench/raw"
	"github.com/tegenaria/tegenaria/bench/site"
	"golang.org/x/net/html"
)

func main() {
	job.Main(func(j job.Job) error {
		return raw.Crawl(j, func() raw.Reader[string] { return new(reader).read })
	})
}

// reader reads one page after the other.
type reader struct{ links []string }

// fields are those of an item by the class of their element.
type fields struct {
	site.Item
	inside bool // of the product
	tags   bool // of the list of tags
}

func (r *reader) read(address string, body []byte) (raw.Page[string], error) {
	base, err := url.Parse(address)
	if err != nil {
		return raw.Page[string]{}, err
	}
	r.links = r.links[:0]
	var item fields
	var text *string // takes the text up to the next end tag
	var tag string
	z := html.NewTokenizer(bytes.NewReader(body))
	for {
		switch z.Next() {
		case html.ErrorToken:
			item.Tags = strings.Fields(strings.Join(item.Tags, " "))
			return raw.Page[string]{Links: r.links, Item: item.Item, HasItem: item.inside}, nil
		case html.StartTagToken:
			name, more := z.TagName()
			if len(name) == 1 && name[0] == 'a' {
				if err := r.link(base, z, more); err != nil {
					return raw.Page[string]{}, err
				}
			} else if len(name) == 2 && item.tags && string(name) == "li" {
				text, tag = &tag, ""
			} else if more && (item.inside || string(name) == "div") {
				text = item.field(attribute(z, "class"))
			}
		case html.TextToken:
			if text != nil {
				*text += string(z.Text())
			}
		case html.EndTagToken:
			if text == &tag {
				item.Tags = append(item.Tags, tag)
			}
			text = nil
			if name, _ := z.TagName(); item.tags && string(name) == "ul" {
				item.tags = false
			}
		}
	}
}

// link notes where an a element leads.
func (r *reader) link(base *url.URL, z *html.Tokenizer, more bool) error {
	for more {
		var key, value []byte
		key, value, more = z.TagAttr()
		if string(key) != "href" {
			continue
		}
		link, err := raw.Resolve(base, string(value))
		if err != nil {
			return err
		}
		r.links = append(r.links, link)
	}
	return nil
}

// attribute is the value of an attribute.
func attribute(z *html.Tokenizer, name string) string {
	for {
		key, value, more := z.TagAttr()
		if string(key) == name {
			return string(value)
		}
		if !more {
			return ""
		}
	}
}

// field is where the text of an element of that class belongs, nil if nowhere.
func (f *fields) field(class string) *string {
	if !f.inside {
		f.inside = class == "product"
		return nil
	}
	switch class {
	case "title":
		return &f.Title
	case "sku":
		return &f.SKU
	case "price":
		return &f.Price
	case "description":
		return &f.Description
	case "tags":
		f.tags = true
	}
	return nil
}
