package records

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/internal/xmlstream"
	"github.com/tegenaria/tegenaria/selector"
)

// XML reads the elements of a name from XML documents: for each the element as a Selection, to be searched by CSS and
// XPath. A name with a prefix is compared as it is written in the document, "g:item"; one without a prefix matches with
// any or none. An element inside of another of its name belongs to that one.
//
//	format := records.XML("product")
//	for product, err := range format.Read(body, records.Source{URL: url}) {
//		…
//		name := product.CSS("name").Text()
//	}
//
// The namespaces that are declared around an element are known in it. What is not well-formed is read as far as it can
// be understood, see selector.XML. A document type that declares entities is refused, and external entities are never
// fetched.
func XML(name string, options ...Option) Format[*selector.Selection] {
	c, err := newConfig(0, options)
	if name == "" && err == nil {
		err = fmt.Errorf("records: XML: the name of the elements is empty; name those that are records")
	}
	return Format[*selector.Selection]{config: c, err: err, read: func(s *source, yield func(*selector.Selection, error) bool) error {
		c := newCutter(s)
		prefix, local, ok := strings.Cut(name, ":")
		if !ok {
			local = prefix
		}
		c.matches = func() bool {
			return string(c.Name) == local && (!ok || string(c.Prefix) == prefix)
		}
		for {
			e, err := c.next()
			switch {
			case err == io.EOF && !c.rooted:
				return s.broken("the document has no elements", nil)
			case err == io.EOF:
				return nil
			case err != nil:
				return err
			}
			selection, wrong := e.selection(s)
			if wrong != nil {
				if !yield(nil, wrong) {
					return errStopped
				}
				continue
			}
			if !yield(selection, nil) {
				return errStopped
			}
		}
	}}
}

// element is an element that was cut out of a document.
type element struct {
	source []byte // the start tags around it, then the element
	levels int    // how many elements are around it
	large  bool   // it is larger than it may be, and not here
}

// selection parses the element.
func (e *element) selection(s *source) (*selector.Selection, *Error) {
	switch {
	case e.large:
		return nil, s.tooLarge()
	case !utf8.Valid(e.source):
		return nil, s.wrong(notUTF8, nil)
	}
	doc := selector.Parse(e.source, selector.XML(), selector.URL(s.URL))
	if err := doc.Err(); err != nil {
		return nil, s.wrong("", err)
	}
	return doc.XPath("/*" + strings.Repeat("/*", e.levels)), nil // what is around it is a single chain
}

// cutter cuts elements out of an XML document.
type cutter struct {
	xmlstream.Scanner
	s       *source
	matches func() bool // whether the start tag that was read begins an element that is to be cut out
	nested  bool        // elements of one name may lie in each other; else a start tag ends the element before
	outside []byte      // what was read outside of the elements, if keep is set
	keep    int         // how much of it is kept
	rooted  bool        // there was an element
	tags    []byte      // the start tags of the elements that are open
	ends    []int       // where in tags each ends
	names   []string    // what they are called
	pending bool        // a start tag that matches was read already
	around  int64       // bytes of tags that were put around elements so far
}

func newCutter(s *source) *cutter {
	return &cutter{Scanner: xmlstream.Scanner{In: s.tape}, s: s, nested: true}
}

// maxAround bounds the start tags of the elements around a record. They are parsed again with each record: aroundRate
// and aroundFree bound how much that is in all, in bytes for each byte of the document and beside. Of a common feed it
// is two bytes for each.
const (
	maxAround  = 64 << 10
	aroundRate = 32
	aroundFree = 8 << 20
)

// next cuts out the next element. The error is io.EOF at the end of the document.
func (c *cutter) next() (*element, error) {
	if c.keep > 0 && !c.pending {
		c.In.Keep(max(c.keep-len(c.outside), 0))
	}
	for {
		if !c.pending {
			token, err := c.Scan()
			if err != nil {
				return nil, c.s.fail(err)
			}
			if token == xmlstream.EndOfInput {
				c.takeOutside(0)
				if len(c.ends) > 0 {
					return nil, c.s.broken("the document breaks off", nil)
				}
				return nil, io.EOF
			}
			if token == xmlstream.EndTag {
				c.pop()
				continue
			}
			c.rooted = true
		}
		c.pending = false
		if c.matches() {
			return c.cut()
		}
		if c.Closed {
			continue
		}
		if err := c.push(); err != nil {
			return nil, err
		}
	}
}

// takeOutside takes what was kept outside of elements, but for the last bytes.
func (c *cutter) takeOutside(last int64) {
	if c.keep == 0 {
		return
	}
	text, more := c.In.Kept()
	if !more {
		text = text[:max(len(text)-int(last), 0)]
	}
	c.outside = append(c.outside, text...)
	c.In.Stop()
}

// name is the last tag's name as it is written.
func (c *cutter) name() string {
	if c.Prefix == nil {
		return string(c.Name)
	}
	return string(c.Prefix) + ":" + string(c.Name)
}

// appendTag appends the last start tag.
func (c *cutter) appendTag(b []byte) []byte {
	b = append(append(append(b, '<'), c.name()...), c.Tag...)
	if c.Closed {
		b = append(b, '/')
	}
	return append(b, '>')
}

// push notes that an element is open.
func (c *cutter) push() error {
	if len(c.ends) == maxLevels {
		return c.s.broken("", &LimitError{"levels", maxLevels})
	}
	if c.tags = c.appendTag(c.tags); len(c.tags) > maxAround {
		return c.s.broken("", &LimitError{"bytes in the tags around a record", maxAround})
	}
	c.ends, c.names = append(c.ends, len(c.tags)), append(c.names, c.name())
	return nil
}

// maxMissing is how many missing end tags in a row are forgiven.
const maxMissing = 32

// pop ends the innermost open element of the last end tag's name, and those in it.
func (c *cutter) pop() {
	name := c.name()
	for i, open := range slices.Backward(c.names) {
		if open != name {
			if len(c.names)-i == maxMissing {
				return
			}
			continue
		}
		c.names, c.ends = c.names[:i], c.ends[:i]
		if i == 0 {
			c.tags = c.tags[:0]
		} else {
			c.tags = c.tags[:c.ends[i-1]]
		}
		return
	}
}

// cut reads the element whose start tag was read.
func (c *cutter) cut() (*element, error) {
	length := c.In.Offset() - c.At
	c.takeOutside(length)
	c.s.begin(length)
	c.around += int64(len(c.tags))
	if most := aroundFree + aroundRate*c.In.Offset(); c.around > most {
		return nil, c.s.broken("", &LimitError{"bytes in the tags around the records so far", most})
	}
	e := &element{levels: len(c.ends)}
	e.source = append(make([]byte, 0, len(c.tags)+1024), c.tags...)
	e.source = c.appendTag(e.source)
	if c.Closed {
		return e, nil
	}
	name := c.name()
	begin := c.In.Offset()
	c.In.Keep(c.s.maxRecord)
	for open := 1; open > 0; {
		token, err := c.Scan()
		switch {
		case err != nil:
			return nil, c.s.fail(err)
		case token == xmlstream.EndOfInput:
			return nil, c.s.broken(fmt.Sprintf("the document breaks off in the element %.40s that begins in line %d", name, c.s.line), nil)
		case token == xmlstream.EndTag && c.name() == name:
			open--
		case token == xmlstream.StartTag && c.name() == name && !c.nested:
			open, c.pending = 0, true
		case token == xmlstream.StartTag && c.name() == name && !c.Closed:
			open++
		}
	}
	text, more := c.In.Kept()
	if e.large = more; !more {
		if c.pending {
			text = text[:c.At-begin]
		}
		e.source = append(e.source, text...)
	}
	c.In.Stop()
	return e, nil
}
