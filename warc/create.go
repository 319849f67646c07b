package warc

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria/internal/staging"

	"github.com/tegenaria/tegenaria"
)

// Options set how an archive is written. The zero value has the defaults.
type Options struct {
	// Size is how many bytes a file has before the next one is begun; 0 is 1 GiB. The last records may go beyond it. A path without
	// {part} has one file, whatever its size.
	Size int64
	// Digest is the algorithm of the digests: "sha1", the default, which all readers know, or "sha256".
	Digest string
	// Attempts also keeps the records of attempts that were repeated, for example by a middleware that retries. Without it an
	// archive has only the exchange by which a request was settled.
	Attempts bool
	// Revisits is the memory, in bytes, for recognising bodies: a body that equals an earlier one of the run is written as a
	// revisit record, which refers to that one. 0 is 64 MiB, enough for about 200,000 bodies; the oldest are forgotten first. With
	// a negative value each body is written.
	Revisits int
	// Memory is the memory, in bytes, for bodies that are being received and for records that wait until their requests are
	// settled; the rest is in files beside the archive. 0 is 16 MiB.
	Memory int
	// Info are further fields of the warcinfo record that each file begins with: "operator", "description", "isPartOf" and the like.
	Info map[string]string
}

const (
	defaultSize     = 1 << 30
	defaultRevisits = 64 << 20
	defaultMemory   = 16 << 20
)

// Archive is a set of WARC files that a crawl is recorded to. It serves one run at a time.
type Archive struct {
	template template
	options  Options
	digests  digests
	fs       fileSystem

	exchanges sync.Pool    // of *exchange
	packers   chan *packer // as many as work at the same time; nil for one that is not made yet. Each takes more than 1 MB
	bodies    share
	seen      revisits
	records   staging.Items

	mu     sync.Mutex            // guards the fields below
	number uint64                // of the newest exchange
	staged map[string][]recorded // by CtxId
	again  []recorded            // to be written with the next batch, whose requests run again
	err    error                 // something could not be recorded: it must not be settled

	files *files  // nil: not restored yet
	pack  *packer // of Prepare
}

// Create makes an archive. Its files are called after template, with {spider} for the spider's name, {start} for when the job began, and
// {part} for the number of the file. The template ends in .warc.gz (records are packed by gzip), .warc.zst (by zstd) or .warc; another
// ending, an unknown field and a negative Size or Memory are refused with an [*OptionError]. Nothing is written before a run begins. See
// the package comment for what is recorded.
func Create(template string, o Options) (*Archive, error) {
	t, err := parseTemplate(template)
	if err != nil {
		return nil, err
	}
	a := &Archive{template: t, options: o, fs: disk{}, staged: make(map[string][]recorded)}
	if a.digests, err = digestsOf(o.Digest); err != nil {
		return nil, &OptionError{"Digest", fmt.Sprintf("is %q: %v", o.Digest, err)}
	}
	if o.Size < 0 {
		return nil, &OptionError{"Size", fmt.Sprintf("is %d; write a number of bytes, or 0 for 1 GiB", o.Size)}
	}
	if o.Memory < 0 {
		return nil, &OptionError{"Memory", fmt.Sprintf("is %d; write a number of bytes, or 0 for 16 MiB", o.Memory)}
	}
	if o.Size == 0 {
		a.options.Size = defaultSize
	}
	if o.Revisits == 0 {
		a.options.Revisits = defaultRevisits
	}
	if o.Memory == 0 {
		a.options.Memory = defaultMemory
	}
	a.exchanges.New = func() any { return a.newExchange() }
	a.packers = make(chan *packer, runtime.GOMAXPROCS(0))
	for range cap(a.packers) {
		a.packers <- nil
	}
	a.bodies.bound = int64(a.options.Memory / 2)
	a.records.Reset(staging.Options{Bound: a.options.Memory / 2})
	return a, nil
}

// Layer records what passes through it: give it to [tegenaria.EngineWithDownloaderLayers], behind layers that answer requests or change
// them, so that it sees what is really sent. It is a [tegenaria.Committer].
func (a *Archive) Layer(next tegenaria.Downloader) tegenaria.Downloader {
	return &layer{Downloader: next, archive: a}
}

// restore opens the files, and cuts them to what the checkpoint says.
func (a *Archive) restore(ctx context.Context, checkpoint []byte) error {
	var last *state
	if checkpoint != nil {
		last = new(state)
		if err := json.Unmarshal(checkpoint, last); err != nil || last.Start.IsZero() {
			return &CorruptError{a.template.path, fmt.Errorf("its checkpoint is %q", checkpoint)}
		}
	}
	a.mu.Lock()
	a.staged, a.again, a.err = make(map[string][]recorded), nil, nil
	a.mu.Unlock()
	a.seen.reset(a.options.Revisits)
	a.pack = newPacker(compressionOf(a.template.path))
	f := &files{
		fs: a.fs, template: &a.template, limit: a.options.Size, lazy: !tegenaria.Resumable(ctx),
		spider: tegenaria.SpiderName(ctx), first: a.info,
	}
	if err := f.restore(last); err != nil {
		_ = f.leave() // the first error says more
		return err
	}
	removeTemporary(a.template.Root())
	a.records.Reset(staging.Options{Bound: a.options.Memory / 2, Open: a.openSpool})
	a.files = f
	return nil
}

// openSpool makes the file for records that wait.
func (a *Archive) openSpool() (staging.File, error) {
	file, err := createTemporary(a.template.Root())
	if err != nil {
		return nil, &WriteError{a.template.Root(), err}
	}
	return file, nil
}

// info makes the warcinfo record of a file.
func (a *Archive) info(name string) ([]byte, error) {
	fields := map[string]string{
		"software":   "Tegenaria/" + tegenaria.Version,
		"format":     "WARC File Format 1.1",
		"conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
	}
	maps.Copy(fields, a.options.Info)
	var block []byte
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		block = appendField(block, key, fields[key])
	}
	var b bytes.Buffer
	err := a.pack.write(&b, &newRecord{
		kind: "warcinfo", id: newID(), date: time.Now(), fields: []field{{"WARC-Filename", name}},
		media: mediaFields, head: block, digest: a.digests.of(block),
	})
	return b.Bytes(), err
}

const (
	mediaFields   = "application/warc-fields"
	mediaRequest  = "application/http; msgtype=request"
	mediaResponse = "application/http; msgtype=response"
)

// prepare writes what these ids have staged, and makes it durable.
func (a *Archive) prepare(ids []string) ([]byte, error) {
	a.mu.Lock()
	list, err := a.again, a.err
	a.again = nil
	for _, id := range ids {
		list = append(list, a.staged[id]...)
		delete(a.staged, id)
	}
	a.mu.Unlock()
	if err != nil {
		return nil, err
	}
	for _, r := range list {
		if err := a.files.room(); err != nil {
			return nil, err
		}
		err := a.records.Take([]string{r.key}, func(piece []byte) error {
			_, err := a.files.Write(piece)
			return err
		})
		if err != nil {
			return nil, err
		}
		if r.original != nil {
			a.seen.add(r.payload, *r.original)
		}
	}
	s, err := a.files.commit()
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// discard forgets what an attempt has staged. The robots.txt that was asked for on the way stays: it is not asked for again.
func (a *Archive) discard(id string) {
	a.mu.Lock()
	list := a.staged[id]
	delete(a.staged, id)
	var gone []recorded
	for _, r := range list {
		if r.robots || a.options.Attempts {
			a.again = append(a.again, r)
		} else {
			gone = append(gone, r)
		}
	}
	a.mu.Unlock()
	for _, r := range gone {
		a.records.Discard(r.key)
	}
}

// close ends a run.
func (a *Archive) close(complete bool) error {
	if a.files == nil {
		return nil
	}
	f := a.files
	a.files = nil
	_, err := a.records.Close()
	if failed := f.close(complete); failed != nil {
		return failed
	}
	return err
}

// fail has the run end: something that was received cannot be recorded.
func (a *Archive) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.err == nil {
		a.err = err
	}
}

// recorded is an exchange whose records wait until its request is settled.
type recorded struct {
	key      string // in Archive.records
	robots   bool   // it is that of a robots.txt
	payload  payloadKey
	original *original // of a response that later ones may refer to; nil for others
}

// stage keeps the records of an exchange.
func (a *Archive) stage(ctxID string, r recorded) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.staged[ctxID] = append(a.staged[ctxID], r)
}

// nextKey names an exchange.
func (a *Archive) nextKey() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.number++
	return fmt.Sprint(a.number)
}
