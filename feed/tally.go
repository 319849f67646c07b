package feed

import (
	"io"
	"sync/atomic"

	"github.com/tegenaria/tegenaria"
)

// tally counts what a feed does in a run.
type tally struct{ written, duplicate, failed, others, bytes, parts atomic.Int64 }

func (t *tally) reset() {
	for _, n := range []*atomic.Int64{&t.written, &t.duplicate, &t.failed, &t.others, &t.bytes, &t.parts} {
		n.Store(0)
	}
}

// FeedStats returns the counters of the feed in its run. It may be called at any time; [tegenaria.Summary] has them.
func (f *Feed) FeedStats() tegenaria.FeedStats {
	name := f.path
	if f.given != nil {
		name = "-"
	}
	t := &f.tally
	return tegenaria.FeedStats{Name: name, Written: t.written.Load(), Duplicate: t.duplicate.Load(), Failed: t.failed.Load(), Others: t.others.Load(), Bytes: t.bytes.Load(), Parts: t.parts.Load()}
}

// countingWriter counts what goes through it.
type countingWriter struct {
	io.Writer
	n *atomic.Int64
}

func (w countingWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.n.Add(int64(n))
	return n, err
}
