package page

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/jsonsize"
	"github.com/tegenaria/tegenaria/selector"
)

// Text returns the body decoded to UTF-8 as [charset.Decode] does. The error is that of [Host.Unreadable], or a
// [*selector.ParseError] if there is no memory for the text.
func (p *Page) Text(h Host) (string, error) {
	text, err := p.decoded(h)
	if err == nil {
		err = p.growCopy(h, 0, int64(len(text)))
	}
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
		text, encoding, _, err := charset.DecodeCharged(body, h.ContentType(), func(n int64) error { return p.Grow(h, n) })
		if err != nil {
			return nil, &selector.ParseError{Err: err}
		}
		p.text, p.encoding = text, encoding
	}
	return p.text, nil
}

// Document returns the parsed page: XML if its media type says so, or else HTML. The page is parsed once. Document panics with
// the error of [Page.Text], or with a [*selector.ParseError] if the page is refused.
func (p *Page) Document(h Host) *selector.Document {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Sync(h)
	if p.doc == nil {
		text, err := p.decodedLocked(h)
		if err != nil {
			panic(err)
		}
		p.doc = p.parse(h, text)
	}
	return p.doc
}

// parse parses the decoded body as the type that the host names. The caller holds mu.
func (p *Page) parse(h Host, text []byte) *selector.Document {
	if p.host == nil {
		p.host = h
	}
	var room [3]selector.Option
	options := append(room[:0], selector.For((*tenant)(p)))
	if run := h.Run(); run != nil {
		options = append(options, run.Bounds().of(len(text)))
	}
	if isXML(h.ContentType()) {
		options = append(options, selector.XML())
	}
	doc := selector.Parse(text, options...)
	if err := doc.Err(); err != nil {
		panic(err)
	}
	return doc
}

// tenant is a Page as package selector needs it.
type tenant Page

// Resolve makes a reference found in the page an absolute URL.
func (t *tenant) Resolve(ref string) (string, error) { return (*Page)(t).Resolve(t.host, ref) }

// Grow grants memory for what is made of the page.
func (t *tenant) Grow(bytes int64) error { return (*Page)(t).Grow(t.host, bytes) }

// DecodeJSON decodes a body that is one JSON value into v. The memory for that is estimated from the body and from v's type. The
// error is that of [Host.Unreadable], a [*selector.ParseError] if there is not so much memory, or one of encoding/json.
func (p *Page) DecodeJSON(h Host, v any) error {
	p.mu.Lock()
	body, err := p.inMemory(h)
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if len(body) > smallPage {
		if err := p.growCopy(h, 0, jsonsize.Of(body, v)); err != nil {
			return err
		}
	}
	// Unmarshal reads all before it touches v. The decoder has the better error.
	err = json.Unmarshal(body, v)
	if wrong := (*json.SyntaxError)(nil); !errors.As(err, &wrong) || len(body) > uncharged {
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

// isHTML reports whether a Content-Type says HTML, or says nothing.
func isHTML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return contentType == "" || strings.Contains(strings.ToLower(media), "html")
}

// isXML reports whether a Content-Type says XML (MIME Sniffing standard, section 4.6) other than XHTML, which
// many servers announce and few write.
func isXML(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "text/xml" || media == "application/xml" || strings.HasSuffix(media, "+xml") && media != "application/xhtml+xml"
}
