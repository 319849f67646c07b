package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/remedy"
	"github.com/tegenaria/tegenaria/selector"
)

// Text returns the body decoded to UTF-8 as [charset.Decode] does. The error is that of [Host.Unreadable], or a
// [*selector.ParseError] if the text is larger than a body may be.
func (p *Page) Text(h Host) (string, error) {
	text, err := p.decoded(h)
	if err != nil {
		return "", err
	}
	return string(text), nil
}

// decoded returns the text, which must not be changed.
func (p *Page) decoded(h Host) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.decodedLocked(h)
}

func (p *Page) decodedLocked(h Host) ([]byte, error) {
	body, err := p.inMemory(h)
	if err != nil {
		return nil, err
	}
	if p.text == nil {
		text, encoding, err := decode(h, body, h.ContentType())
		if err != nil {
			return nil, err
		}
		p.text, p.encoding = text, encoding
	}
	return p.text, nil
}

// Document returns the parsed page: XML if its media type says so, of XHTML if it is well-formed too, or else HTML. The
// page is parsed once. Document panics with the error of [Page.Text], or with a [*selector.ParseError] if the page is
// refused.
func (p *Page) Document(h Host) *selector.Document {
	p.mu.Lock()
	defer p.mu.Unlock()
	doc, err := p.documentLocked(h)
	if err != nil {
		panic(err)
	}
	return doc
}

func (p *Page) documentLocked(h Host) (*selector.Document, error) {
	p.Sync(h)
	if p.doc != nil {
		return p.doc, nil
	}
	text, err := p.decodedLocked(h)
	if err != nil {
		return nil, err
	}
	doc, err := p.parse(h, text)
	if err == nil {
		p.doc = doc
	}
	return doc, err
}

// Typed returns the page as structs are filled from it: a JSON value if its media type says so, or else
// [Page.Document]. The error is what that panics with.
func (p *Page) Typed(h Host) (*selector.Document, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !isJSON(h.ContentType()) {
		return p.documentLocked(h)
	}
	text, err := p.jsonLocked(h)
	if err != nil || p.json != nil {
		return p.json, err
	}
	doc := selector.Parse(text, selector.For(p.tenantOf(h)), selector.JSON())
	if err := doc.Err(); err != nil {
		return nil, err
	}
	p.json = doc
	return doc, nil
}

// jsonLocked returns the body as JSON in UTF-8, which must not be changed: by its byte order mark or the charset that its media
// type names, and UTF-8 without them. That is the text of the page if it says that it is JSON. In a page that says to be
// something else the text may have been decoded by what looks like a declaration. The caller holds mu.
func (p *Page) jsonLocked(h Host) ([]byte, error) {
	contentType := h.ContentType()
	if isJSON(contentType) {
		return p.decodedLocked(h)
	}
	body, err := p.inMemory(h)
	if err != nil {
		return nil, err
	}
	if p.value == nil {
		if p.value, _, err = decode(h, body, "application/json;"+contentType); err != nil {
			return nil, err
		}
	}
	return p.value, nil
}

// tenantOf returns the page as a host of documents. The caller holds mu.
func (p *Page) tenantOf(h Host) *tenant {
	if p.host == nil {
		p.host = h
		if run := h.Run(); run != nil {
			p.queries = run.Queries()
		}
	}
	return (*tenant)(p)
}

// parseWithin parses the decoded body, as XML or as HTML, within bounds, if they are not nil. The caller holds mu.
func (p *Page) parseWithin(h Host, text []byte, bounds selector.Option) (*selector.Document, error) {
	var room [3]selector.Option
	options := append(room[:0], selector.For(p.tenantOf(h)))
	if bounds != nil {
		options = append(options, bounds)
	}
	switch contentType := h.ContentType(); {
	case isXHTML(contentType):
		options = append(options, selector.XHTML())
	case isXML(contentType):
		options = append(options, selector.XML())
	}
	doc := selector.Parse(text, options...)
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return doc, nil
}

// tenant is a Page as package selector needs it.
type tenant Page

// Resolve makes a reference found in the page an absolute URL.
func (t *tenant) Resolve(ref string) (string, error) { return (*Page)(t).Resolve(t.host, ref) }

// Queried counts a query on the page.
func (t *tenant) Queried(language selector.Language, query string, found bool) {
	if t.queries != nil {
		t.queries.count((*Page)(t), language, query, found)
	}
}

// Extracted counts what became of the fields of a struct.
func (t *tenant) Extracted(keys []string, counts []selector.FieldCount) {
	if run := t.host.Run(); run != nil {
		run.Extracted(keys, counts)
	}
}

// Date returns when the response was sent, by its header; the zero time if that does not say.
func (t *tenant) Date() time.Time {
	t.mu.Lock()
	header := t.host.Given().Header
	t.mu.Unlock()
	for name, values := range header {
		if len(values) > 0 && strings.EqualFold(name, "Date") {
			at, _ := http.ParseTime(values[0]) // what is none is the zero time
			return at
		}
	}
	return time.Time{}
}

// DecodeJSON decodes a body that is one JSON value into v. Its encoding is that of its byte order mark, or the charset of its
// media type; without them it is UTF-8. The error is that of [Host.Unreadable], a [*selector.ParseError] if the values may take
// more memory than the run allows for one page, or one of encoding/json.
func (p *Page) DecodeJSON(h Host, v any) error {
	p.mu.Lock()
	body, err := p.jsonLocked(h)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if run := h.Run(); run != nil {
		size, limit := jsonSize(body), run.Bounds().value
		if size > limit {
			what := fmt.Sprintf("bytes of memory for one JSON value (twice %s)", remedy.Body)
			return &selector.ParseError{Err: &html.LimitError{What: what, Limit: int(limit)}}
		}
		if size > unreserved {
			run.Add(size)
		}
	}
	// Unmarshal reads all before it touches v. The decoder has the better error.
	err = json.Unmarshal(body, v)
	if wrong := (*json.SyntaxError)(nil); !errors.As(err, &wrong) || len(body) > unreserved {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	if err := decoder.Decode(v); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one value")
	}
	return nil
}

// jsonSize estimates how many bytes of memory a JSON text takes as values of Go, from one count of what it consists of: a map or
// struct for each object, and an interface value, in a slice or map that grows, for each element and member.
func jsonSize(body []byte) (size int64) {
	count := func(what string) int64 { return int64(bytes.Count(body, []byte(what))) }
	return 120*count("{") + 40*(count("[")+count(",")+count(":"))
}

// isHTML reports whether a Content-Type says HTML, or says nothing.
func isHTML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return contentType == "" || strings.Contains(strings.ToLower(media), "html")
}

// isJSON reports whether a Content-Type says JSON (MIME Sniffing standard, section 4.6).
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || media == "text/json" || strings.HasSuffix(media, "+json")
}

// isXML reports whether a Content-Type says XML (MIME Sniffing standard, section 4.6).
func isXML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/xml" || media == "application/xml" || strings.HasSuffix(media, "+xml")
}

// isXHTML reports whether a Content-Type says XHTML, which many servers announce and few write.
func isXHTML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(media), "application/xhtml+xml")
}
