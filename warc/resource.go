package warc

import (
	"errors"
	"io"

	"github.com/tegenaria/tegenaria"
)

// Resource records something that is no exchange with a site, such as a picture of a page, as a resource record of a URL: that of
// the page, or one of your own as urn:picture:…. mediaType is its Content-Type. ctx is that of the page, as a parser or a
// [tegenaria.ContextPipeline] has it: the record is written when the page is settled. It may be called concurrently.
func (a *Archive) Resource(ctx *tegenaria.Context, url, mediaType string, body io.Reader) (err error) {
	x := a.begin()
	defer func() {
		err = errors.Join(err, x.body.close())
		a.exchanges.Put(x)
	}()
	if _, err := io.Copy(&x.body, body); err != nil {
		return err
	}
	size, err := x.body.stop()
	if err != nil {
		return &WriteError{x.body.folder, err}
	}
	defer x.packing()()
	x.pieces.reset(&a.records, a.nextKey())
	digest := a.digests.text(x.sum) // the block is the payload
	err = x.pack.write(&x.pieces, &newRecord{
		kind: "resource", id: newID(), date: x.began, media: mediaType, body: x.body.open(), size: size, digest: digest,
		fields: []field{{"WARC-Target-URI", targetOf(url)}, {"WARC-Payload-Digest", digest}},
	})
	if err != nil {
		return &WriteError{x.body.folder, err}
	}
	return x.stage(ctx, &facts{}, recorded{})
}
