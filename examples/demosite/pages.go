package demosite

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
)

//go:embed templates/*.html
var templates embed.FS

// content is everything the pages show.
type content struct {
	Authors    []*author
	Quotes     []quote
	Tags       []string
	Books      []*book
	Categories []*category
}

func newContent() *content {
	c := &content{Authors: newAuthors(), Books: newBooks()}
	c.Quotes = allQuotes(c.Authors)
	c.Tags = tagsOf(c.Quotes)
	c.Categories = categoriesOf(c.Books)
	return c
}

// view is what a template is given: the title and what its page needs, the rest is empty.
type view struct {
	Title      string
	Previous   string // path of the page before, "" on the first
	Next       string // path of the page after, "" on the last
	Token      string // that the form hides
	Refresh    string // where a meta refresh leads, "" = none
	Author     *author
	Book       *book
	Quotes     []quote
	Tags       []string
	Books      []*book
	Categories []*category
}

// render makes every page of the site, by path.
func (c *content) render() map[string][]byte {
	// A page that does not render is a fault of this package, found by the first test.
	layout := template.Must(template.ParseFS(templates, "templates/layout.html"))
	pages := map[string][]byte{}
	add := func(path, name string, v view) {
		page := template.Must(template.Must(layout.Clone()).ParseFS(templates, "templates/"+name))
		var out bytes.Buffer
		if err := page.ExecuteTemplate(&out, "layout.html", v); err != nil {
			panic(fmt.Sprintf("demosite: rendering %s: %v", path, err))
		}
		pages[path] = out.Bytes()
	}
	c.addQuotes(add)
	c.addBooks(add)
	add("/login/", "login.html", view{Title: "Log in", Token: formToken})
	add("/account/", "account.html", view{Title: "Your account", Books: c.Books[:3]})
	addCorners(add)
	return pages
}

// addQuotes makes the list of quotes, a page for each tag and one for each author.
func (c *content) addQuotes(add func(path, name string, v view)) {
	lists := split(c.Quotes, quotesPerPage)
	for i, quotes := range lists {
		v := view{Title: fmt.Sprintf("Quotes, page %d", i+1), Quotes: quotes, Tags: c.Tags}
		v.Previous, v.Next = neighbours("/quotes/", i+1, len(lists))
		add(pagePath("/quotes/", i+1), "quotes.html", v)
	}
	for _, tag := range c.Tags {
		v := view{Title: "Quotes about " + tag}
		for _, q := range c.Quotes {
			for _, t := range q.Tags {
				if t == tag {
					v.Quotes = append(v.Quotes, q)
				}
			}
		}
		add("/quotes/tag/"+tag+"/", "quotes.html", v)
	}
	for _, a := range c.Authors {
		add("/author/"+a.Slug+"/", "author.html", view{Title: a.Name, Author: a})
	}
}

// addBooks makes the shop: its pages of cards, a page for each category and one for each book.
func (c *content) addBooks(add func(path, name string, v view)) {
	lists := split(c.Books, booksPerPage)
	for i, books := range lists {
		v := view{Title: fmt.Sprintf("Books, page %d", i+1), Books: books, Categories: c.Categories}
		v.Previous, v.Next = neighbours("/books/", i+1, len(lists))
		add(pagePath("/books/", i+1), "books.html", v)
	}
	for _, shelf := range c.Categories {
		add("/books/category/"+shelf.Slug+"/", "books.html", view{Title: shelf.Name, Books: shelf.Books})
	}
	for _, b := range c.Books {
		add("/books/"+b.Slug+"/", "book.html", view{Title: b.Title, Book: b})
	}
}

// addCorners makes the front page and the odd corners of the site.
func addCorners(add func(path, name string, v view)) {
	add("/", "index.html", view{Title: "Books and quotes"})
	add("/corners/", "corners.html", view{Title: "Odd corners"})
	add("/corners/itself/", "itself.html", view{Title: "A page that links to itself"})
	add("/old/refresh/", "moved.html", view{Title: "Moved", Refresh: "/books/"})
	add("/private/", "private.html", view{Title: "Private"})
	add("/private/diary/", "private.html", view{Title: "Diary"})
	for n := 1; n <= 3; n++ {
		add(fmt.Sprintf("/flaky/%d", n), "flaky.html", view{Title: fmt.Sprintf("Flaky page %d", n)})
	}
}

// neighbours returns the paths of the pages before and after the n-th of a list, "" where there is none.
func neighbours(list string, n, last int) (previous, next string) {
	if n > 1 {
		previous = pagePath(list, n-1)
	}
	if n < last {
		next = pagePath(list, n+1)
	}
	return previous, next
}
