package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// body takes the body of a response into a file. It can be cut for another attempt.
type body struct {
	*tempFile
	most int64
	size int64
	hash hash.Hash
	head []byte // its first bytes
}

func newBody(d *tempFile, most int64) *body {
	return &body{tempFile: d, most: most, hash: sha256.New()}
}

// Write is part of io.Writer.
func (b *body) Write(p []byte) (int, error) {
	if b.size+int64(len(p)) > b.most {
		return 0, &LimitError{What: "bytes", Limit: b.most, Option: "Options.Size"}
	}
	n, err := b.tempFile.file.Write(p)
	b.hash.Write(p[:n])
	b.size += int64(n)
	if missing := sniffed - len(b.head); missing > 0 {
		b.head = append(b.head, p[:min(n, missing)]...)
	}
	if err != nil {
		err = &StoreError{Path: b.tempFile.path, Err: err}
	}
	return n, err
}

// Truncate and Seek let the engine begin again.
func (b *body) Truncate(size int64) error {
	if size != 0 {
		return errors.ErrUnsupported
	}
	b.size, b.head = 0, nil
	b.hash.Reset()
	return b.tempFile.file.Truncate(0)
}

// Seek is part of io.Seeker.
func (b *body) Seek(offset int64, whence int) (int64, error) {
	return b.tempFile.file.Seek(offset, whence)
}

// get gets a file from the index or its source.
func (p *Pipeline) get(ctx *tegenaria.Context, kind string, s source) (Result, error) {
	recipe := p.options.recipe(kind)
	known, ok := p.folder.entry(s.key)
	if ok = ok && known.Recipe == recipe && known.Result.URL == s.url; ok && known.Result.Status != Failed {
		ok = p.options.Store != nil || p.folder.holds(&known)
	}
	if ok {
		if age := p.now().Sub(known.Time); known.Run == p.run || known.Result.Status != Failed && age >= 0 && age < p.options.Fresh {
			if known.Result.Status != Failed {
				known.Result.Status = Kept
			}
			return p.bounded(kind, known.Result, known.Size), nil
		}
	}
	asks := ok && known.Result.Status != Failed && s.request != nil && known.ask(s.request)
	e := entry{Recipe: recipe, Run: p.run, Time: p.now()}
	resp, result, err := p.download(ctx, kind, s, &e)
	switch {
	case err != nil:
		return Result{}, err
	case resp != nil && resp.Status == http.StatusNotModified && asks:
		result = known.Result
		result.Status = Unchanged
		e.Size, e.Tag, e.Modified = known.Size, known.Tag, known.Modified
	case resp != nil && result.Status != Failed:
		e.Tag, e.Modified = headerOf(resp, "ETag"), headerOf(resp, "Last-Modified")
	}
	if e.Result = result; e.Result.Status != Failed {
		e.Result.Status = Kept
	}
	if err := p.folder.note(s.key, &e); err != nil {
		return Result{}, p.fail(err)
	}
	p.hit("noted")
	return p.bounded(kind, result, e.Size), nil
}

// bounded returns a result, or the failure of a file that an earlier run has kept and that the options do not allow. The file and its
// entry stay, for a run that allows it again.
func (p *Pipeline) bounded(kind string, r Result, size int64) Result {
	if r.Status == Failed {
		return r
	}
	if err := p.options.refuses(kind, &r, size); err != nil {
		return Result{URL: r.URL, Status: Failed, Error: err.Error()}
	}
	return r
}

func headerOf(r *tegenaria.Response, name string) string {
	for field, values := range r.Header {
		if strings.EqualFold(field, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

// download takes a file from its source, and notes the size of what came. An error means that the run or the item ends.
func (p *Pipeline) download(ctx *tegenaria.Context, kind string, s source, e *entry) (*tegenaria.Response, Result, error) {
	d, err := p.folder.newTempFile()
	if err != nil {
		return nil, Result{}, p.fail(err)
	}
	defer d.drop()
	b := newBody(d, p.options.Size)
	resp, c, err := p.receive(ctx, b, s)
	unchanged := resp != nil && resp.Status == http.StatusNotModified
	var result Result
	if err == nil && !unchanged {
		e.Size = b.size
		result, err = p.keep(ctx, kind, b, c)
	}
	result.URL = s.url
	var broken *StoreError
	switch {
	case errors.As(err, &broken):
		return nil, Result{}, p.fail(broken)
	case err != nil && (ctx.Err() != nil || errors.Is(err, tegenaria.ErrOutputClosed)):
		return nil, Result{}, err
	case err != nil:
		return resp, Result{URL: s.url, Status: Failed, Error: reason(err)}, nil
	case unchanged: // whoever has asked for it takes what it knows
		return resp, Result{URL: s.url, Status: Failed, Error: "status 304 without a question"}, nil
	}
	return resp, result, nil
}

// receive takes a file, complete, into a body. The response is nil for a data: URL; one with status 304 has no file.
func (p *Pipeline) receive(ctx *tegenaria.Context, b *body, s source) (resp *tegenaria.Response, c claim, err error) {
	if s.request == nil {
		if c.mediaType, err = writeData(b, s.data); err == nil && b.size == 0 {
			err = errEmpty
		}
		return nil, c, err
	}
	tegenaria.RequestWithResponseWriter(b)(s.request)
	if resp, err = ctx.Fetch(s.request); err == nil {
		err = p.complete(b, resp)
	}
	if err == nil {
		c = claim{headerOf(resp, "Content-Type"), headerOf(resp, "Content-Disposition")}
	}
	return resp, c, err
}

var errEmpty = errors.New("the file is empty")

// reason is the text of a failure, without what the Result says anyway.
func reason(err error) string {
	var failed *tegenaria.HandleError
	if errors.As(err, &failed) && failed.Err != nil {
		err = failed.Err
	}
	return err.Error()
}

// complete makes sure that a body is one to keep, and all there.
func (p *Pipeline) complete(b *body, resp *tegenaria.Response) error {
	if broken := resp.Transfer().Err; broken != nil {
		return broken
	}
	if resp.Status == http.StatusNotModified {
		return nil
	}
	if resp.Status < 200 || resp.Status > 299 {
		return fmt.Errorf("status %d", resp.Status)
	}
	if b.size == 0 { // a middleware has answered, or has put another body in its place
		if _, err := io.Copy(b, resp.Reader()); err != nil {
			return err
		}
	}
	if b.size == 0 {
		return errEmpty
	}
	return nil
}

// keep gives a body that is complete its name, and makes of it what the options say.
func (p *Pipeline) keep(ctx context.Context, kind string, b *body, c claim) (result Result, err error) {
	mediaType, ending := formatOf(b.head, c)
	images := kind == kindImage
	switch {
	case images && !isPicture(mediaType):
		return result, &TypeError{Type: mediaType, Images: true}
	case !images && !p.options.allows(mediaType):
		return result, &TypeError{Type: mediaType}
	}
	result = Result{Type: mediaType, Size: b.size, Checksum: hex.EncodeToString(b.hash.Sum(nil)), Status: Downloaded}
	full := b.tempFile
	var made *derivedImages
	if images && p.options.Images {
		if made, err = p.thumbnailer.process(ctx, p.folder, full, b.size, mediaType); err != nil {
			return result, err
		}
		defer made.drop()
		result.Width, result.Height = made.width, made.height
		if c := made.converted; c != nil {
			full, ending, result.Type, result.Size, result.Checksum = c.tempFile, c.ending, c.mediaType, c.size, c.sum
		}
	}
	result.Path = nameOf("full", result.Checksum, ending)
	if made != nil && len(made.thumbs) > 0 {
		result.Thumbs = make(map[string]string, len(made.thumbs))
		for name, thumb := range made.thumbs {
			result.Thumbs[name] = nameOf("thumbs/"+name, result.Checksum, thumb.ending)
			if err := p.store(ctx, thumb.tempFile, result.Thumbs[name]); err != nil {
				return result, err
			}
		}
	}
	return result, p.store(ctx, full, result.Path)
}

// nameOf returns the name of a file with a sum. Nothing in it comes from a URL.
func nameOf(dir, sum, ending string) string { return dir + "/" + sum[:2] + "/" + sum + ending }

// store gives a file its name. An error that is not ctx's is a [*StoreError].
func (p *Pipeline) store(ctx context.Context, d *tempFile, name string) error {
	p.hit("written")
	if p.options.Store == nil {
		if err := p.folder.keep(d, name, p.hit); err != nil {
			return err
		}
		p.hit("renamed")
		return nil
	}
	size, err := d.file.Seek(0, io.SeekEnd)
	begin := time.Now()
	refusals, cause := 0, error(nil)
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		if err == nil {
			_, err = d.file.Seek(0, io.SeekStart)
		}
		if err == nil {
			if err = p.send(ctx, name, d.file, size, begin); err == nil {
				return nil
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if cause == nil || !errors.Is(err, context.DeadlineExceeded) {
			cause = err
		}
		refused := (interface{ Refused() bool })(nil)
		if refusals++; !errors.As(err, &refused) || !refused.Refused() {
			refusals = 0
		}
		if time.Since(begin)+pause > p.options.Patience || refusals >= mostRefusals {
			return &StoreError{Path: name, Err: cause}
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
		err = nil
	}
}

const (
	firstPause   = time.Second // after a Store has failed; it doubles
	longestPause = time.Minute
	mostRefusals = 3 // in a row
)

func (p *Pipeline) send(ctx context.Context, name string, file *os.File, size int64, begin time.Time) error {
	ctx, cancel := context.WithDeadline(ctx, begin.Add(p.options.Patience))
	defer cancel()
	return p.options.Store.Send(ctx, name, file, size)
}
