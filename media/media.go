package media

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"reflect"
	"sync"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Result is the result of downloading a file.
type Result struct {
	URL      string            `json:"url"`             // absolute; of a data: URL the beginning
	Path     string            `json:"path"`            // "full/ab/ab34….jpg", below Options.Dir or in the Store; "" if it failed
	Checksum string            `json:"checksum"`        // SHA-256 of the file at Path, in hexadecimal
	Type     string            `json:"type"`            // "image/jpeg", "text/csv"
	Size     int64             `json:"size"`            // in bytes
	Width    int               `json:"width,omitempty"` // of a picture, as it is shown
	Height   int               `json:"height,omitempty"`
	Thumbs   map[string]string `json:"thumbs,omitempty"` // paths by name
	Status   Status            `json:"status"`
	Error    string            `json:"error,omitempty"` // why it failed
}

// Status says how a file was obtained.
type Status string

const (
	Downloaded Status = "downloaded" // the server sent it, or it stood in a data: URL
	Unchanged  Status = "unchanged"  // an earlier run had it, and the server says that it is the same (304)
	Kept       Status = "kept"       // this run had it already, or an earlier run not long ago: the server was not asked
	Failed     Status = "failed"     // there is none: Result.Error says why
)

// Pipeline is made by [New]. It serves one run at a time.
type Pipeline struct {
	options Options
	wrong   error // of the options
	now     func() time.Time
	hit     func(point string) // tests stop the program there

	run         string // an entry of the index with it was made in this run
	folder      *folder
	thumbnailer *thumbnailer
	types       sync.Map // reflect.Type → typeFields
	flights     flights

	mu     sync.Mutex // guards broken
	broken error      // ends the run
}

type typeFields struct {
	fields []field
	err    error
}

var (
	_ tegenaria.ContextPipeline = (*Pipeline)(nil)
	_ tegenaria.Committer       = (*Pipeline)(nil)
	_ tegenaria.Opener          = (*Pipeline)(nil)
	_ tegenaria.Closer          = (*Pipeline)(nil)
)

// New returns a pipeline that downloads the files of items. It is a tegenaria.Committer, so it runs after the pipelines that are not, and
// an item that they drop costs no download. A mistake in the options ends the run before its first request.
func New(o Options) *Pipeline {
	p := &Pipeline{now: time.Now, hit: func(string) {}}
	p.options, p.wrong = o.check()
	return p
}

// Mistake returns what is wrong with the options, nil if nothing is. It is part of tegenaria.PipelinesInterface: the mistakes of all
// outputs are reported before the first request.
func (p *Pipeline) Mistake() error { return p.wrong }

// GetPriority is part of tegenaria.PipelinesInterface.
func (p *Pipeline) GetPriority() int { return p.options.Priority }

// ProcessItem is part of tegenaria.PipelinesInterface. The engine calls ProcessItemContext in its place.
func (p *Pipeline) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errors.New("media: the engine must know tegenaria.ContextPipeline")
}

// Open makes the folder ready.
func (p *Pipeline) Open(context.Context, tegenaria.SpiderInterface) error {
	if p.wrong != nil {
		return p.wrong
	}
	var err error
	if p.folder, err = openFolder(p.options.Dir); err != nil {
		return err
	}
	p.run, p.broken = rand.Text(), nil
	p.thumbnailer = newThumbnailer(&p.options)
	return nil
}

// Close is part of tegenaria.Closer.
func (p *Pipeline) Close(context.Context, string) error { return p.folder.close() }

// CommitKey is part of tegenaria.Committer.
func (p *Pipeline) CommitKey() string { return p.options.Key }

// Restore is part of tegenaria.Committer. There is nothing to take back: a file that no item points to may stay.
func (p *Pipeline) Restore(context.Context, []byte) error { return nil }

// Prepare makes the names of files durable. Its error is a [*StoreError] or [*TagError] of an item: the items that had it are not settled.
func (p *Pipeline) Prepare(context.Context, []string) ([]byte, error) {
	if err := p.failure(); err != nil {
		return nil, err
	}
	if err := p.folder.sync(); err != nil {
		return nil, p.fail(err)
	}
	return []byte("1"), nil
}

// Discard is part of tegenaria.Committer: nothing is staged.
func (p *Pipeline) Discard(string) {}

// fail notes an error that ends the run, and returns it.
func (p *Pipeline) fail(err error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = cmp.Or(p.broken, err)
	return err
}

func (p *Pipeline) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broken
}

// ProcessItemContext downloads the files of an item, one after the other. The files of several items are downloaded at the same
// time.
func (p *Pipeline) ProcessItemContext(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error {
	v := reflect.ValueOf(item.Item)
	isPointer := v.Kind() == reflect.Pointer && !v.IsNil()
	if isPointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return nil
	}
	fields, err := p.fieldsOf(v.Type())
	if err != nil || len(fields) == 0 {
		return err
	}
	if !isPointer { // results go into a copy
		given := v
		v = reflect.New(given.Type()).Elem()
		v.Set(given)
	}
	for i := range fields {
		if err := p.fill(ctx, &fields[i], v); err != nil {
			return err
		}
	}
	if !isPointer {
		item.Item = v.Interface()
	}
	return nil
}

func (p *Pipeline) fieldsOf(t reflect.Type) ([]field, error) {
	known, ok := p.types.Load(t)
	if !ok {
		fields, err := fieldsOf(t)
		known, _ = p.types.LoadOrStore(t, typeFields{fields, err})
	}
	found := known.(typeFields)
	if found.err != nil {
		return nil, p.fail(found.err)
	}
	return found.fields, nil
}

// fill downloads the files of one field.
func (p *Pipeline) fill(ctx *tegenaria.Context, f *field, item reflect.Value) error {
	urls := f.urls(item)
	results := make([]Result, 0, len(urls))
	for _, url := range urls {
		r, err := p.file(ctx, f.kind, url)
		if err != nil {
			return err
		}
		if r.Status == Failed && f.required {
			return &FileError{URL: r.URL, Field: f.name, Text: r.Error}
		}
		results = append(results, r)
	}
	if f.required && len(results) == 0 {
		return &FileError{Field: f.name, Text: "the field has no URL"}
	}
	f.set(item, results)
	return nil
}

// file returns what became of a URL. An error means that nothing can be said of it: the run or the item ends.
func (p *Pipeline) file(ctx *tegenaria.Context, kind, url string) (Result, error) {
	s, err := sourceOf(ctx, kind, url, p.options.Requests)
	if err != nil {
		return Result{URL: s.url, Status: Failed, Error: err.Error()}, nil
	}
	for {
		if err := p.failure(); err != nil {
			return Result{}, err
		}
		f, leads := p.flights.join(s.key)
		if leads {
			return p.lead(ctx, f, kind, s)
		}
		select {
		case <-f.done:
		case <-ctx.Done():
			return Result{}, context.Cause(ctx)
		}
		if f.ok {
			result := f.result
			result.Thumbs = maps.Clone(result.Thumbs)
			if result.Status != Failed {
				result.Status = Kept
			}
			return result, nil
		}
	}
}

// lead gets a file for all that wait for it.
func (p *Pipeline) lead(ctx *tegenaria.Context, f *flight, kind string, s source) (result Result, err error) {
	ok := false
	defer func() {
		shared := result
		shared.Thumbs = maps.Clone(result.Thumbs)
		p.flights.leave(s.key, f, shared, ok)
	}()
	result, err = p.get(ctx, kind, s)
	ok = err == nil
	return result, err
}

// flights are the URLs that are on their way. They hold no more than the items in the pipelines want at the time.
type flights struct {
	mu  sync.Mutex // guards way
	way map[string]*flight
}

// flight is one of them.
type flight struct {
	done   chan struct{} // closed at the end; then the fields below are set
	result Result
	ok     bool // false: its leader was given up, and another call has to
}

// join returns the flight of a key. The caller that leads it has to call leave.
func (fs *flights) join(key string) (f *flight, leads bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.way[key]; f != nil {
		return f, false
	}
	if fs.way == nil {
		fs.way = make(map[string]*flight)
	}
	f = &flight{done: make(chan struct{})}
	fs.way[key] = f
	return f, true
}

func (fs *flights) leave(key string, f *flight, result Result, ok bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	f.result, f.ok = result, ok
	delete(fs.way, key)
	close(f.done)
}
