package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/fetch"
	cdpio "github.com/chromedp/cdproto/io"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// serialise leaves the text of the page in the isolated world of its caller, where the page's scripts cannot reach it, and returns the
// URL of the page and whether it is a PDF that was taken for HTML. A surrogate without its other half has no form in
// UTF-8, and becomes U+FFFD.
const serialise = `(() => {
	const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : ""
	const root = document.documentElement
	globalThis.text = (type + (root ? root.outerHTML : "")).toWellFormed()
	const first = document.doctype ? "" : document.body?.firstChild?.nodeValue ?? ""
	return [document.URL, document.contentType === "text/html" && first.startsWith("%PDF-")]
})()`

// nextPart returns the text from a place on, at most so many units of UTF-16, and the place where it ends.
const nextPart = `(() => {
	let end = Math.min(%[1]d + %[2]d, text.length)
	if (end < text.length && text.charCodeAt(end - 1) >>> 10 === 0x36) end--
	return [text.slice(%[1]d, end), end, text.length]
})()`

// partSize is how much of a page is in one message of Chromium.
const partSize = 1 << 20

// pageText reads the text of a page from Chromium, part by part: whoever has had enough stops.
type pageText struct {
	ctx     context.Context
	session cdp.Session
	world   runtime.ExecutionContextID
	url     string // of the page
	isPDF   bool   // Chromium has taken it for HTML
	part    strings.Reader
	next    int
	over    bool
}

// newPageText serialises the page of a target.
func newPageText(ctx context.Context, t *chromedp.Target) (*pageText, error) {
	world, err := call(ctx, t, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(t.TargetID)})
	if err != nil {
		return nil, err
	}
	p := &pageText{ctx: ctx, session: t, world: world.ExecutionContextID}
	if err := p.evaluate(serialise, &[]any{&p.url, &p.isPDF}); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *pageText) evaluate(script string, v any) error {
	got, err := call(p.ctx, p.session, runtime.Evaluate, runtime.EvaluateParams{
		Expression: script, ContextID: p.world, ReturnByValue: new(true),
	})
	if err != nil {
		return err
	}
	if got.ExceptionDetails != nil {
		return &chromedp.ExceptionError{ExceptionDetails: got.ExceptionDetails}
	}
	return json.Unmarshal(got.Result.Value, v)
}

// Read reads on.
func (p *pageText) Read(b []byte) (int, error) {
	for p.part.Len() == 0 {
		if p.over {
			return 0, io.EOF
		}
		var text string
		var length int
		if err := p.evaluate(fmt.Sprintf(nextPart, p.next, partSize), &[]any{&text, &p.next, &length}); err != nil {
			return 0, err
		}
		p.part.Reset(text)
		p.over = p.next >= length
	}
	return p.part.Read(b)
}

// bodyStream reads a document that is not rendered from Chromium.
type bodyStream struct {
	ctx     context.Context
	session cdp.Session
	handle  cdpio.StreamHandle
	part    []byte
	over    bool
}

// newBodyStream takes the body of a request that is paused at its response.
func newBodyStream(ctx context.Context, s cdp.Session, id fetch.RequestID) (*bodyStream, error) {
	got, err := call(ctx, s, fetch.TakeResponseBodyAsStream, fetch.TakeResponseBodyAsStreamParams{RequestID: id})
	if err != nil {
		return nil, err
	}
	return &bodyStream{ctx: ctx, session: s, handle: got.Stream}, nil
}

// Read reads on.
func (b *bodyStream) Read(p []byte) (int, error) {
	for len(b.part) == 0 {
		if b.over {
			return 0, io.EOF
		}
		got, err := cdp.Call(b.ctx, b.session, cdpio.Read, cdpio.ReadParams{Handle: b.handle, Size: partSize}) // as slow as the site
		if err != nil {
			return 0, err
		}
		b.part, b.over = got.Data, got.EOF
	}
	n := copy(p, b.part)
	b.part = b.part[n:]
	return n, nil
}

// isRendered reports whether Chromium makes a page of a document with this header.
func isRendered(header http.Header) bool {
	if strings.HasPrefix(strings.ToLower(header.Get("Content-Disposition")), "attachment") {
		return false
	}
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	return kind == "" || kind == "text/html" || kind == "application/xhtml+xml"
}

// sniffed is how many bytes of a document tell what it is (WHATWG MIME Sniffing).
const sniffed = 512

// isDoubtful reports whether the first bytes of a document that would be rendered say better what it is than the server does.
func isDoubtful(header http.Header, url string) bool {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	path, _, _ := strings.Cut(url, "?")
	return kind == "" || strings.HasSuffix(strings.ToLower(path), ".pdf")
}

// forText changes the header of a document so that it describes the serialised page.
func forText(header http.Header) {
	for _, name := range []string{"Content-Encoding", "Content-Length", "Transfer-Encoding"} {
		header.Del(name)
	}
	kind, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		kind = "text/html"
	}
	header.Set("Content-Type", kind+"; charset=utf-8")
}

// call gives a command to Chromium, and waits for the answer no longer than callTimeout.
func call[P, R any](ctx context.Context, s cdp.Session, c cdp.Command[P, R], params P) (R, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return cdp.Call(ctx, s, c, params)
}
