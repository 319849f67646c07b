package tegenaria

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/charset"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/links"
	"github.com/tegenaria/tegenaria/selector"
)

// Links returns the page's links in document order, each URL once. The options know its encoding and,
// for links.Everything, its header. See package links for them. A spooled body that cannot be read is a panic, as with
// [Response.CSS].
func (r *Response) Links(opts ...links.Option) []links.Link {
	defer parsePanic()
	text, err := r.decoded()
	if err != nil {
		panic(err)
	}
	if tree := r.tree(text); tree != nil {
		return links.ExtractFrom(tree, r.URL, r.linkOptions(opts, len(text))...)
	}
	return links.Extract(text, r.URL, r.linkOptions(opts, len(text))...)
}

// eachLink calls yield for each link of the page until it returns false, see [links.Each].
func (r *Response) eachLink(opts []links.Option, yield func(*links.Ref) bool) {
	defer parsePanic()
	text, err := r.decoded()
	if err != nil {
		panic(err)
	}
	opts = r.linkOptions(opts, len(text))
	if tree := r.tree(text); tree != nil {
		links.EachFrom(tree, r.URL, opts...)(yield)
		return
	}
	links.Each(text, r.URL, opts...)(yield)
}

// tree returns the tree of the decoded body if it was parsed as HTML, and from its first byte on, else nil.
func (r *Response) tree(text []byte) *html.Document {
	r.mu.Lock()
	defer r.mu.Unlock()
	tree := r.doc.Root().Document()
	if tree == nil || tree.IsXML() || len(tree.Source()) != len(text) {
		return nil
	}
	return tree
}

// linkOptions puts in front of the options what the response says itself. Usually that is nothing.
func (r *Response) linkOptions(opts []links.Option, size int) []links.Option {
	r.mu.Lock()
	encoding := r.enc
	r.mu.Unlock()
	charged := size > smallPage && r.job() != nil
	if encoding == charset.UTF8 && len(opts) == 0 && !charged {
		return nil
	}
	if slices.ContainsFunc(opts, func(o links.Option) bool { return o == nil }) {
		return opts // package links says which one
	}
	all := []links.Option{links.Charset(encoding), links.Header(r.Header)}
	if charged {
		l := &r.job().crawl.limits
		all = append(all, links.Charge(&linkMemory{page: r}, html.MaxAttributes(l.Attributes), html.MaxNodes(min(l.Nodes, html.DefaultNodes(size)))))
	}
	return append(all, opts...)
}

// smallPage is the size in bytes of pages whose list of links is not worth being counted.
const smallPage = 64 << 10

// linkMemory grants the memory of one list of links.
type linkMemory struct {
	page *Response
	sum  int64
	most int64 // that was asked for
}

// Grow is part of [html.Memory].
func (m *linkMemory) Grow(n int64) error {
	m.sum += n
	if m.sum <= m.most {
		return nil
	}
	err := m.page.growCopy(m.most, m.sum)
	if err != nil {
		m.sum -= n
		return err
	}
	m.most = m.sum
	return nil
}

// parsePanic makes a panic with a limit of package html one with a [*selector.ParseError].
func parsePanic() {
	v := recover()
	if v == nil {
		return
	}
	if limit, ok := v.(*html.LimitError); ok {
		v = &selector.ParseError{Err: limit}
	}
	panic(v)
}

// Follow makes a GET request of a reference found in the page, resolved against the document's base
// as browsers do.
func (r *Response) Follow(ref string, opts ...RequestOption) (*Request, error) {
	url, err := r.resolve(ref)
	if err != nil {
		return nil, err
	}
	return NewRequest(url, GET, nil, opts...), nil
}

// resolve makes a reference found in the page an absolute URL.
func (r *Response) resolve(ref string) (string, error) {
	base, encoding, err := r.documentBase()
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(ref) == "" {
		return "", &RequestError{URL: ref, Field: "Url", Err: errEmptyRef}
	}
	url, err := base.Resolve(nil, encodedRef(ref, encoding))
	if err != nil {
		return "", &RequestError{URL: ref, Field: "Url", Err: urlx.Cause(err)}
	}
	return string(url), nil
}

var errEmptyRef = errors.New("empty reference")

// documentBase returns the base that references in the page are resolved against, and the encoding that their
// queries are written in.
func (r *Response) documentBase() (*urlx.Base, charset.Encoding, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sync()
	encoding := charset.UTF8
	markup := isHTML(firstHeader(r.Header, "Content-Type"))
	if r.base == nil {
		url := r.URL
		if markup {
			text, err := r.decodedLocked()
			if err != nil {
				return nil, 0, err
			}
			url = links.Base(text, r.URL)
		}
		base, err := urlx.ParseBase(url)
		if err != nil {
			return nil, 0, &RequestError{URL: r.URL, Field: "Url", Err: urlx.Cause(err)}
		}
		r.base = base
	}
	if markup {
		encoding = r.enc
	}
	return r.base, encoding, nil
}

// encodedRef writes the query of a reference as browsers do on a page in an encoding (URL standard §4.4).
func encodedRef(ref string, e charset.Encoding) string {
	if e == charset.UTF8 || !strings.ContainsFunc(ref, func(c rune) bool { return c >= utf8.RuneSelf }) {
		return ref
	}
	return string(e.AppendReference(nil, ref))
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

// headerValue looks a name up in a request's header, whatever its case.
func headerValue(header map[string]string, name string) (string, bool) {
	if v, ok := header[name]; ok {
		return v, true
	}
	for k, v := range header {
		if strings.EqualFold(k, name) {
			return v, true
		}
	}
	return "", false
}

// firstHeader looks a name up in a response's header, whatever its case.
func firstHeader(header map[string][]string, name string) string {
	if v := header[name]; len(v) > 0 {
		return v[0]
	}
	for k, v := range header {
		if len(v) > 0 && strings.EqualFold(k, name) {
			return v[0]
		}
	}
	return ""
}
