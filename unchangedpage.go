package tegenaria

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/tegenaria/tegenaria/internal/guard"
	"github.com/tegenaria/tegenaria/internal/wire"
)

// UnchangedPages is an optional interface of a registered part that remembers the pages of earlier runs and what their
// parsers have sent, such as the pipeline of a history of package revisit. The parser of a page that it knows to be
// unchanged does not run: the requests that it sent when it ran last are sent again, and the page ends as fetched,
// without items. [Settlement] says so with Unchanged, and has the requests of other pages in Sent.
//
// Such a run has no items of unchanged pages, so it is a mistake to register other pipelines that are a [Committer], as feeds are.
type UnchangedPages interface {
	LinkListener
	// SkipsUnchanged is called once or twice, before the run, and reports whether pages may be skipped. If it returns false, Unchanged is not
	// called, and settlements have no Sent.
	SkipsUnchanged() bool
	// Unchanged is asked about each page of the queue before its parser runs, after [PageHistory]. key is that of its request, and request
	// the encoding of that, equal for equal requests. Unless unchanged is false, sent is what Sent of an earlier
	// Settlement had. It may read from a disk, and is called concurrently. It is not asked about a page whose request
	// cannot be encoded.
	Unchanged(key Key, request []byte, page *Response) (sent [][]byte, unchanged bool)
}

// skipsOf returns the parts that skip unchanged pages.
func skipsOf(parts []any) (skips []UnchangedPages) {
	for _, one := range all[UnchangedPages](parts) {
		if one.SkipsUnchanged() {
			skips = append(skips, one)
		}
	}
	return skips
}

// OutputBesideError is the mistake of a run that skips unchanged pages and has an output that would lack their items.
type OutputBesideError struct {
	Output string // the type of the pipeline
	Skips  string // the type of the part that skips pages
}

// Error names both and the remedy.
func (e *OutputBesideError) Error() string {
	return fmt.Sprintf("the pipeline %s would lack the items of unchanged pages, which %s skips: leave the pipeline out, "+
		"or have no pages skipped",
		e.Output, e.Skips)
}

// outputsBeside refuses outputs that would lack the items of unchanged pages.
func (p ItemPipelines) outputsBeside() error {
	var errs []error
	for _, skips := range p {
		if s, ok := skips.(UnchangedPages); !ok || !s.SkipsUnchanged() {
			continue
		}
		for _, one := range p {
			if one != skips && isCommitter(one) {
				errs = append(errs, &OutputBesideError{fmt.Sprintf("%T", one), fmt.Sprintf("%T", skips)})
			}
		}
	}
	return errors.Join(errs...)
}

// sendAgain sends what the parser of an unchanged page sent when it ran last. It returns false if the page may have changed.
func (p *pages) sendAgain(j *job) bool {
	if len(p.skips) == 0 || j.rec.Live != nil || j.ctx.Response() == nil {
		return false
	}
	r := p.acceptor.codec.requestOf(&j.rec) // the middlewares may have changed the other one
	if r == nil {
		return false
	}
	own, ok := p.acceptor.codec.alone(r)
	if !ok {
		return false
	}
	for _, part := range p.skips {
		var sent [][]byte
		unchanged := false
		err := guard.Protect(func() error { sent, unchanged = part.Unchanged(j.rec.Key, own, j.ctx.Response()); return nil })
		if err != nil {
			p.failures.handlerPanicked(&j.call, j.failure(StageParse, err), err)
			continue
		}
		if !unchanged {
			continue
		}
		requests := make([]*Context, len(sent))
		for i := range sent {
			if requests[i], err = p.acceptor.codec.again(sent[i]); err != nil {
				return false // a parser has another name now: the parser of the page sends what it sends
			}
		}
		b := batch{acceptor: p.acceptor, from: j.emission()}
		for _, ctx := range requests {
			b.Add(ctx)
		}
		b.Store()
		j.note(func(n *settlementNotes) { n.unchanged = true })
		return true
	}
	return false
}

// alone encodes a request without the CtxId, as a page's Sent has it; false if it has parts that cannot be encoded.
func (c *codec) alone(r *Request) (data []byte, ok bool) {
	data, live, err := c.encode(nil, &Context{Request: r}, false)
	return data, err == nil && live == nil
}

const sentSameDepth = 1 // a flag of a request that was sent

// appendSent encodes a request that was sent; false if it cannot be sent again.
func (c *codec) appendSent(ctx *Context) (sent []byte, ok bool) {
	r := ctx.Request
	data, ok := c.alone(r)
	if !ok || ctx.resent().Ctx != nil || !r.extras().notBefore.IsZero() {
		return nil, false
	}
	flags := byte(0)
	if r.sameDepth {
		flags |= sentSameDepth
	}
	return append(binary.AppendVarint([]byte{flags}, int64(r.Priority)), data...), true
}

// appendPlainSent is appendSent for a plain reference.
func appendPlainSent(url []byte) []byte { return wire.AppendPlain([]byte{0, 0}, url) } // without flags, priority 0

var errNoSent = errors.New("this is no request that was sent")

// again makes a request of what appendSent has written.
func (c *codec) again(sent []byte) (*Context, error) {
	if len(sent) == 0 {
		return nil, errNoSent
	}
	priority, n := binary.Varint(sent[1:])
	if n <= 0 {
		return nil, errNoSent
	}
	ctx, err := c.decode(sent[1+n:], nil)
	if err != nil {
		return nil, err
	}
	ctx.Request.Priority, ctx.Request.sameDepth = int(priority), sent[0]&sentSameDepth != 0
	return &Context{Request: ctx.Request}, nil
}

// noteSent notes a request that code of the job has sent. If it cannot be sent again, ok is false.
func (j *job) noteSent(sent []byte, ok bool) {
	j.root().note(func(n *settlementNotes) {
		if ok && !n.unsendable {
			n.sent = append(n.sent, sent)
		} else {
			n.sent, n.unsendable = nil, true
		}
	})
}
