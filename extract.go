package tegenaria

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/internal/fieldcount"
	"github.com/tegenaria/tegenaria/internal/page"
	"github.com/tegenaria/tegenaria/internal/report"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/metadata"
	"github.com/tegenaria/tegenaria/selector"
)

// CSS selects nodes of the body with a CSS selector. The body is parsed once, at the first call of CSS or XPath: as XML
// if its Content-Type is XML (text/xml, application/rss+xml …; XHTML only if it is well-formed), else as HTML. See
// package selector for the syntax of queries. The Selection's URLs are resolved as [Response.Follow] does.
//
// CSS panics with a *selector.SyntaxError if the query is invalid, as regexp.MustCompile does, and with a
// *selector.ParseError if the page exceeds Limits.Nodes or Limits.Attributes, or its text Limits.Body. In a
// callback these panics become a HandleError of the request.
//
// A spooled body is read into memory, and counts towards Limits.BodiesInFlight. If that fails, CSS panics with the error
// that [Response.Text] returns.
func (r *Response) CSS(query string) *selector.Selection {
	return r.page.Document((*pageHost)(r)).CSS(query)
}

// XPath selects nodes of the body with an XPath 1.0 expression. Variables get their values by [selector.Var]. Parsing, panics and
// spooled bodies are as for [Response.CSS].
func (r *Response) XPath(expr string, vars ...selector.Variable) *selector.Selection {
	return r.page.Document((*pageHost)(r)).XPath(expr, vars...)
}

// JSON selects values of a JSON body by a path, as [selector.Selection.JSON] does: "products.#.name". The Content-Type need not say
// JSON. URLs of the values are resolved as [Response.Follow] does. It panics with a [*selector.ParseError] if the body is not JSON,
// and as [Response.CSS] does. [Response.Decode] reads the body into a variable.
func (r *Response) JSON(path string) *selector.Selection {
	doc, err := r.page.Typed((*pageHost)(r))
	if found := doc.JSON(path); err == nil && found != nil {
		return found
	}
	text := ""
	if err == nil { // its Content-Type says something else
		text, err = r.Text()
	}
	if err != nil {
		panic(err)
	}
	resolve := func(ref string) (string, error) { return r.page.Resolve((*pageHost)(r), ref) }
	if doc = selector.Parse([]byte(text), selector.JSON(), selector.Resolver(resolve)); doc.Err() != nil {
		panic(doc.Err())
	}
	return doc.JSON(path)
}

// Json decodes a JSON object. It returns nil if the body is anything else; the log warns of the first three such bodies of a
// run. [Response.Decode] returns the error, and decodes other values too; [Response.JSON] finds single values.
func (r *Response) Json() map[string]any {
	var v map[string]any
	if err := r.Decode(&v); err != nil {
		if r.ctx != nil && r.ctx.run != nil {
			r.ctx.run.notJSON(r.URL, err)
		}
		return nil
	}
	return v
}

// Decode decodes a JSON body into v. The body is in the encoding of its byte order mark, or else in the charset of its
// Content-Type, or else in UTF-8. The memory that this takes is estimated from the body and from v's type, and counts towards
// the memory of the page: if it is too much, the error is a [*selector.ParseError]. A json.Decoder that reads values one by
// one from [Response.Reader] takes less. A spooled body is read into memory, as for [Response.CSS].
func (r *Response) Decode(v any) error {
	if err := r.page.DecodeJSON((*pageHost)(r), v); err != nil {
		return fmt.Errorf("tegenaria: decoding the JSON of %s: %w", urlx.Redact(r.URL), err)
	}
	return nil
}

// Unmarshal fills the struct that v points to from the page, by the words in the tags of its fields, see [selector.Selection.Unmarshal]. In a JSON body (by
// its Content-Type) only the word path finds values; the body is decoded as [Response.Decode] does. References are resolved as [Response.Follow] does, and relative times by
// the Date of the response. Each field is counted in [Stats], see [FieldStats].
//
// The error joins a [*selector.FieldError] for each field that is required and not found, or whose text cannot be converted; the others are filled. If the
// page cannot be read, the error is that of [Response.Text], or a [*selector.ParseError].
func (r *Response) Unmarshal(v any) error {
	doc, err := r.page.Typed((*pageHost)(r))
	if err == nil {
		err = doc.Unmarshal(v)
	}
	return r.extractError(err)
}

func (r *Response) extractError(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("tegenaria: extracting from %s: %w", urlx.Redact(r.URL), err)
}

// Each returns an iterator over the results of a CSS selector in the page, each as a new T, a struct or a pointer to one, that was filled from it, see
// [Response.Unmarshal]. An item with an error is yielded with that error, and the loop goes on: leave the item out, or return the error. For a JSON body the query is
// a path, "products" for example, and the results are the values in it. If the page cannot be read, the type has mistakes, or the query is wrong, the
// error comes once, with no item.
func Each[T any](r *Response, query string) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		doc, err := r.page.Typed((*pageHost)(r))
		if err != nil {
			var none T
			yield(none, r.extractError(err))
			return
		}
		for item, err := range selector.Each[T](doc, query) {
			if !yield(item, r.extractError(err)) {
				return
			}
		}
	}
}

// Links returns the page's links in document order, each URL once, and with links.Everything those of its header too. For XML
// they are taken from the tree that [Response.CSS] uses. See package links for the options. It panics if a spooled body cannot be
// read, or XML cannot be parsed, as CSS does.
func (r *Response) Links(opts ...links.Option) []links.Link {
	return r.page.Links((*pageHost)(r), opts)
}

// Metadata returns what the page says about itself: JSON-LD, microdata, OpenGraph, its canonical URL and so on. See package
// metadata. It is read from the page at each call. XML other than XHTML has none. Panics are as for [Response.CSS].
func (r *Response) Metadata() *metadata.Page { return r.page.Metadata((*pageHost)(r)) }

// Article returns the main text of the page, with its title, author, date and language: see package content for it and its options. It is
// computed again at each call. The error is a [*content.NoTextError] or a [*content.TooLargeError]. Panics are as for [Response.CSS].
func (r *Response) Article(opts ...content.Option) (*content.Article, error) {
	return r.page.Article((*pageHost)(r), opts)
}

// Follow makes a request for a link found in the page, but does not send it. The link is resolved as browsers do, with the
// page's <base>. The method is GET, or POST if the options give the request a body and no method.
func (r *Response) Follow(ref string, opts ...RequestOption) (*Request, error) {
	url, err := r.page.Resolve((*pageHost)(r), ref)
	if err != nil {
		if wrong := (*page.RefError)(nil); errors.As(err, &wrong) {
			err = &RequestError{URL: wrong.URL, Field: "Url", Err: wrong.Err}
		}
		return nil, err
	}
	req := NewRequest(url, "", nil, opts...)
	req.Method = req.method()
	return req, nil
}

// eachLink calls yield for each link of the page until it returns false, see [links.Each].
func (r *Response) eachLink(opts []links.Option, yield func(*links.Ref) bool) {
	r.page.EachLink((*pageHost)(r), opts, yield)
}

// FieldStats are the counts of a field of items, of requests that have ended. The key of a field in [Stats] is its type and its name in JSON: "Book.price",
// or "Book.offer.price" for one of a struct in it.
//
// Items and Filled are counted if [EngineWithFieldCounts] says so, the others by [Response.Unmarshal] and [Each]. A selector has stopped matching
// when Missing and Defaulted come near LookedFor.
type FieldStats struct {
	Items     int64 `json:"items"`      // items of the type that passed all pipelines, however they were made
	Filled    int64 `json:"filled"`     // those of them whose field is neither its zero value nor empty
	LookedFor int64 `json:"looked_for"` // times that the field was looked for
	Defaulted int64 `json:"defaulted"`  // times that it was not there, and has its default
	Missing   int64 `json:"missing"`    // times that it was not there
	Failed    int64 `json:"failed"`     // times that its text could not be converted
}

// fieldCounting is what EngineWithFieldCounts says.
type fieldCounting uint8

const (
	countExtracted fieldCounting = iota // the default
	countItems                          // and items of all kinds
	countNothing
)

// EngineWithFieldCounts counts the fields of all items that pass the pipelines, those built by hand too: [FieldStats].Items and Filled. Without this option
// only the fields that [Response.Unmarshal] and [Each] fill are counted; with false none are. Structs are counted by the rules of encoding/json, other items by
// the members of the object that they become in JSON, which costs as much as writing it.
func EngineWithFieldCounts(count bool) EngineOption {
	return func(e *SpiderEngine) {
		if e.config.fieldCounting = countNothing; count {
			e.config.fieldCounting = countItems
		}
	}
}

// unfilled returns the fields that were filled on no item, in the order of their names, with what became of them. A field that was found, but always as zero or
// empty, is none of them. A crawl with items may have had one page that lacks a field.
func unfilled(fields map[string]FieldStats, items int64) (list []report.Tally) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := fields[name]
		found := f.LookedFor - f.Defaulted - f.Missing - f.Failed
		if found > 0 || f.Filled > 0 || name == fieldcount.Other || items > 0 && max(f.LookedFor, f.Items) == 1 {
			continue
		}
		list = append(list, report.Tally{Name: name, Parts: []report.Tally{
			{Name: "items", Count: f.Items}, {Name: "missing", Count: f.Missing}, {Name: "defaulted", Count: f.Defaulted}, {Name: "failed", Count: f.Failed},
		}})
	}
	return list
}
