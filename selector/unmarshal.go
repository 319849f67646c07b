package selector

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/xpath"
)

// Unmarshal fills the struct that v points to from the first result: each field with the words of [Words] in its tag, from what they find.
//
//	type Book struct {
//		Title string            `css:"h1" required:"true"`
//		Price selector.Money    `css:".price_color" conv:"money,GBP"`
//		Stock int               `css:".availability" re:"\\d+" default:"0"`
//		Cover string            `css:".thumbnail img" attr:"src" conv:"url"`
//		Tags  []string          `css:"a.tag"`
//		Specs map[string]string `css:"table tr" key:"th" value:"td"`
//		Offer Offer             `css:"script[type='application/ld+json']" path:"offers.0"`
//	}
//
// A field of one value takes the first result that has text; a slice and an array take all results, an array as many as
// it holds; a map takes an entry for each pair of key and value. Fields may be strings, numbers, truth values, []byte,
// [time.Time], [url.URL], [Money], types with an UnmarshalText or [Unmarshaler], pointers (nil: absent), slices, arrays
// and maps of these, and structs, whose queries are relative to what their own one has found. A struct without words is
// filled from the same node, if its fields have some. A field _ struct{} with a query restricts the search for all
// fields to the node that the query finds. Fields without words and unexported fields are not changed; those with words
// become zero if nothing is found.
//
// The error joins a [*FieldError] for each field that is required and not found, or whose text cannot be converted; all
// other fields are filled. A page with more than a hundred of them has one more, which says how many. Mistakes in the
// tags are those that [Check] returns.
func (s *Selection) Unmarshal(v any) error { return unmarshal(s, v) }

// place returns the place of the first result.
func (s *Selection) place() (*Document, place, error) {
	switch {
	case s.Len() == 0:
		return nil, place{}, nil
	case s.values != nil:
		return s.doc, place{kind: isJSON, text: s.values[0]}, nil
	}
	return s.doc, place{kind: isNode, ref: s.refs[0]}, nil
}

// Unmarshal fills a struct from the whole page, see [Selection.Unmarshal]. With the option [JSON] the page is a JSON
// value, in which only the word path finds values.
func (d *Document) Unmarshal(v any) error { return unmarshal(d, v) }

// place returns the place of the whole page.
func (d *Document) place() (*Document, place, error) {
	if err := d.Err(); err != nil {
		return d, place{}, err
	}
	if d != nil && d.isJSON {
		return d, place{kind: isJSON, text: d.json}, nil
	}
	if root := d.Root(); !root.IsZero() {
		return d, place{kind: isNode, ref: root.Ref()}, nil
	}
	return d, place{}, nil
}

// JSON says that what is parsed is a JSON value, which [Document.JSON] and [Document.Unmarshal] read. To queries the page is empty.
func JSON() Option { return func(d *Document) { d.isJSON = true } }

// Date says when the page was sent, which is what the conversion of relative times starts from.
func Date(at time.Time) Option { return func(d *Document) { d.date = at } }

// FieldWatcher is an optional interface of a [Host], which gets the counts of the fields that Unmarshal fills.
type FieldWatcher interface {
	// Extracted is called once for each struct that was filled. keys are the names of its fields, and of those of the
	// structs in it, beginning with the type: "Book.price", "Book.offer.price"; by their names in JSON. The same type has
	// the same slice, which does not change. counts has the counts of each; it is only valid during the call. Extracted
	// may be called concurrently.
	Extracted(keys []string, counts []FieldCount)
}

// FieldCount is how often a field was looked for, and what came of it. The other times it was found.
type FieldCount struct {
	LookedFor int // times
	Defaulted int // it was not there, and has its default
	Missing   int // it was not there
	Failed    int // its text could not be converted
}

// Dated is an optional ability of a [Host]: it knows when the page was sent, as [Date] says. The zero time is not known.
type Dated interface{ Date() time.Time }

// placeKind is what a place is.
type placeKind uint8

const (
	isNode  placeKind = iota + 1 // or an attribute
	isValue                      // a value that an expression has computed
	isJSON                       // a JSON value, or the text of a JSON string
	isPlain                      // a number or a truth value of JSON
)

// place is something that a query or a path has found; the zero place is nothing.
type place struct {
	ref  html.Ref
	text string
	kind placeKind
}

// extraction is one call of Unmarshal. It keeps its memory for the next one.
type extraction struct {
	doc    *Document
	plan   *plan
	places []place // a stack: results that are being looked at
	buf    []byte  // the text that is being looked at
	counts []FieldCount
	trail  []step // from the top to the field that is filled
	errs   []error
	more   int // errors beyond mostErrors
	memory result
	total  int // bytes of values that were made
	refs   []html.Ref
	check  checked // the JSON that was read last
	last   lastQuery
}

// step is a field on the way to another one; index is that of a list, or -1.
type step struct {
	field *field
	index int
}

// mostErrors is how many errors one struct has.
const mostErrors = 100

var extractions = sync.Pool{New: func() any { return new(extraction) }}

// unmarshal fills what v points to.
func unmarshal(in Source, v any) error {
	dst := reflect.ValueOf(v)
	if dst.Kind() != reflect.Pointer || dst.IsNil() {
		return fmt.Errorf("selector: Unmarshal fills what a pointer points to, and %T is none", v)
	}
	p, err := planOf(dst.Type().Elem())
	if err != nil {
		return err
	}
	doc, at, err := in.place()
	if err != nil {
		return err
	}
	x := extractions.Get().(*extraction)
	x.doc, x.plan = doc, p
	err = x.run(at, dst.Elem())
	x.release()
	return err
}

// run fills a struct, and reports its fields to the host. That the page is too large for it becomes an error.
func (x *extraction) run(at place, dst reflect.Value) (err error) {
	x.begin()
	done := false
	defer func() {
		if done {
			return
		}
		v := recover()
		if v == nil { // the goroutine ends
			return
		}
		if err = tooLarge(v); err == nil {
			panic(v)
		}
	}()
	x.fill(x.plan, at, dst)
	err = x.end()
	done = true
	return err
}

// tooLarge returns the error of a panic that is about the size of the page.
func tooLarge(v any) error {
	err, _ := v.(error)
	var size *SizeError
	var parse *ParseError
	var steps *xpath.WorkError
	var work *WorkError
	if errors.As(err, &size) || errors.As(err, &parse) || errors.As(err, &steps) || errors.As(err, &work) {
		return err
	}
	return nil
}

func (x *extraction) begin() {
	x.places, x.trail, x.errs, x.more = x.places[:0], x.trail[:0], nil, 0
	x.memory, x.total, x.check, x.last = result{doc: x.doc}, 0, checked{}, lastQuery{}
	if n := len(x.plan.keys); cap(x.counts) < n {
		x.counts = make([]FieldCount, n)
	} else {
		x.counts = x.counts[:n]
		clear(x.counts)
	}
}

// end reports the fields to the host, and returns the errors.
func (x *extraction) end() error {
	if x.doc != nil && x.doc.fields != nil && len(x.counts) > 0 {
		x.doc.fields.Extracted(x.plan.keys, x.counts)
	}
	if x.more > 0 {
		x.errs = append(x.errs, &FieldError{Type: x.plan.name, Err: fmt.Errorf("and %d other errors", x.more)})
	}
	return errors.Join(x.errs...)
}

// release gives the extraction back, without what would hold a page.
func (x *extraction) release() {
	if cap(x.buf) > 1<<16 || cap(x.places) > 1<<10 || cap(x.refs) > 1<<10 {
		return
	}
	clear(x.places[:cap(x.places)])
	clear(x.refs[:cap(x.refs)])
	x.doc, x.plan, x.errs, x.check, x.last, x.memory = nil, nil, nil, checked{}, lastQuery{}, result{}
	extractions.Put(x)
}

// fail notes what is wrong with the field at the end of the trail.
func (x *extraction) fail(f *field, value string, err error) {
	if len(x.errs) >= mostErrors {
		x.more++
		return
	}
	var b strings.Builder
	for _, s := range x.trail {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(s.field.name)
		if s.index >= 0 {
			b.WriteString("[" + strconv.Itoa(s.index) + "]")
		}
	}
	x.errs = append(x.errs, &FieldError{Type: x.plan.name, Field: b.String(), Query: f.place, Value: clip(value), Err: err})
}

// spend counts the steps of a query, or of reading the text of a node, in x.memory: as many as there are nodes in what it searches.
// Of values that are not of the page there is no need to count.
func (x *extraction) spend(r html.Ref) {
	n := r.Node()
	if n.Kind() == html.ElementNode || n.Kind() == html.DocumentNode {
		x.memory.spend(int(n.EndID() - n.ID()))
	} else {
		x.memory.spend(1)
	}
}

// keep counts a value of so many bytes that was made.
func (x *extraction) keep(n int) {
	x.total += n
	if x.doc != nil {
		x.memory.grow(x.total)
	}
}

// now returns when the page was sent.
func (x *extraction) now() time.Time {
	if x.doc == nil {
		return time.Time{}
	}
	if x.doc.date.IsZero() {
		if dated, ok := x.doc.host.(Dated); ok {
			return dated.Date()
		}
	}
	return x.doc.date
}

// resolve makes a reference an absolute URL.
func (x *extraction) resolve(ref string) (string, error) {
	switch {
	case x.doc != nil && x.doc.resolve != nil:
		return x.doc.resolve(ref)
	case x.doc != nil && x.doc.host != nil:
		return x.doc.host.Resolve(ref)
	}
	return "", errors.New("the URL of the page is not known; give Parse the option URL")
}
