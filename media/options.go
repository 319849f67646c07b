package media

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria"
)

// Options set where files go and which files are allowed.
type Options struct {
	Dir   string // folder of the files, their index and temporary files; required
	Store Store  // stores the files instead of Dir, which then has only the index; nil: Dir
	// Images has the files of tag "image" checked and measured. Thumbs, Convert and the bounds of pictures need it.
	Images  bool
	Thumbs  map[string]image.Point // by name (letters, digits, "-", "_"): the box that the thumbnail fits in; it is never enlarged
	Convert Format                 // of pictures: "" keeps them as they came
	Quality int                    // of JPEG that is written, 1 to 100 (0: 85)

	Size   int64         // largest file, in bytes (0: 256 MiB)
	Types  []string      // allowed Result.Type: "application/pdf", "audio/" (nil: all; pictures are never anything else)
	Min    image.Point   // smallest picture
	Max    image.Point   // largest picture (0: no bound)
	Pixels int           // most pixels of a picture (0: 50,000,000)
	Memory int64         // for decoding pictures, in bytes, all together (0: 256 MiB)
	CPU    int           // pictures that are decoded at the same time (0: GOMAXPROCS)
	Time   time.Duration // that decoding one picture may take (0: 1 minute)

	Fresh    time.Duration // a younger file is not requested again (0: 90 days; negative: each run requests it)
	Patience time.Duration // how long a Store may fail (0: 5 minutes)
	Requests []tegenaria.RequestOption
	Priority int    // among the pipelines that are tegenaria.Committers (0: -1000, before feeds)
	Key      string // under which a job knows this pipeline ("": "media:" and Dir)
}

// Store keeps files elsewhere; the Bucket of package feed/s3 is one. It is called concurrently.
type Store interface {
	// Send stores a file under a name such as "full/ab/ab34….jpg", replacing any file of that name, and returns when the whole file
	// is safely stored. Sending the same file again is no mistake. After an error Send is called again until Options.Patience is over;
	// three errors in a row that have the method Refused() bool and return true, such as that of a wrong key, end the run at once.
	Send(ctx context.Context, name string, file io.ReadSeeker, size int64) error
}

// Format is what pictures are converted to.
type Format string

// The formats that can be written. JPEG knows no transparency: what is transparent becomes white.
const (
	JPEG Format = "jpeg"
	PNG  Format = "png"
)

const (
	defaultSize     = 256 << 20
	defaultPixels   = 50_000_000
	defaultMemory   = 256 << 20
	defaultFresh    = 90 * 24 * time.Hour
	defaultTime     = time.Minute
	defaultPatience = 5 * time.Minute
	defaultPriority = -1000
	defaultQuality  = 85
	mostThumbs      = 32
	mostThumbSide   = 10_000
)

var thumbName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// check returns the options with their defaults, or what is wrong with them.
func (o Options) check() (Options, error) {
	o.Size = cmp.Or(o.Size, defaultSize)
	o.Pixels = cmp.Or(o.Pixels, defaultPixels)
	o.Memory = cmp.Or(o.Memory, defaultMemory)
	o.CPU = cmp.Or(o.CPU, runtime.GOMAXPROCS(0))
	o.Time = cmp.Or(o.Time, defaultTime)
	o.Fresh = cmp.Or(o.Fresh, defaultFresh)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.Priority = cmp.Or(o.Priority, defaultPriority)
	o.Quality = cmp.Or(o.Quality, defaultQuality)
	o.Key = cmp.Or(o.Key, "media:"+o.Dir)
	o.Thumbs, o.Types, o.Requests = maps.Clone(o.Thumbs), slices.Clone(o.Types), slices.Clone(o.Requests)
	switch {
	case o.Dir == "":
		return o, errors.New("media: Options.Dir is empty; name the folder that the files go to")
	case !o.Images && (len(o.Thumbs) > 0 || o.Convert != "" || o.Min != image.Point{} || o.Max != image.Point{}):
		return o, errors.New("media: Thumbs, Convert, Min and Max need Options.Images")
	case o.Convert != "" && o.Convert != JPEG && o.Convert != PNG:
		return o, fmt.Errorf("media: Options.Convert is %q; it can be media.JPEG or media.PNG", o.Convert)
	case o.Size < 0 || o.Pixels < 0 || o.Memory < 0 || o.CPU < 0 || o.Time < 0 || o.Patience < 0 || o.Min.X < 0 || o.Min.Y < 0 || o.Max.X < 0 || o.Max.Y < 0:
		return o, errors.New("media: a bound in Options is negative")
	case o.Quality < 1 || o.Quality > 100:
		return o, fmt.Errorf("media: Options.Quality is %d; it can be 1 to 100", o.Quality)
	case len(o.Thumbs) > mostThumbs:
		return o, fmt.Errorf("media: Options.Thumbs has %d sizes, and there can be %d", len(o.Thumbs), mostThumbs)
	}
	for name, box := range o.Thumbs {
		if !thumbName.MatchString(name) {
			return o, fmt.Errorf("media: a thumbnail is called %q; a name has letters, digits, - and _, and at most 64 of them", name)
		}
		if box.X < 1 || box.Y < 1 || box.X > mostThumbSide || box.Y > mostThumbSide {
			return o, fmt.Errorf("media: the thumbnail %q is %d × %d; a side can be 1 to %d", name, box.X, box.Y, mostThumbSide)
		}
	}
	return o, nil
}

// allows reports whether files of a type may be kept.
func (o *Options) allows(mediaType string) bool {
	return len(o.Types) == 0 || slices.ContainsFunc(o.Types, func(allowed string) bool {
		return mediaType == allowed || strings.HasSuffix(allowed, "/") && strings.HasPrefix(mediaType, allowed)
	})
}

// admit refuses a picture by its size, as it is shown.
func (o *Options) admit(size image.Point) error {
	pixels := int64(size.X) * int64(size.Y)
	switch {
	case pixels > int64(o.Pixels):
		return &LimitError{What: "pixels", Got: pixels, Limit: int64(o.Pixels), Option: "Options.Pixels"}
	case o.Max.X > 0 && size.X > o.Max.X:
		return &LimitError{What: "pixels wide", Got: int64(size.X), Limit: int64(o.Max.X), Option: "Options.Max"}
	case o.Max.Y > 0 && size.Y > o.Max.Y:
		return &LimitError{What: "pixels high", Got: int64(size.Y), Limit: int64(o.Max.Y), Option: "Options.Max"}
	case size.X < o.Min.X:
		return &LimitError{What: "pixels wide", Got: int64(size.X), Limit: int64(o.Min.X), Option: "Options.Min"}
	case size.Y < o.Min.Y:
		return &LimitError{What: "pixels high", Got: int64(size.Y), Limit: int64(o.Min.Y), Option: "Options.Min"}
	}
	return nil
}

// refuses returns why a file that was kept is not allowed, or nil. size is that of the file as it came.
func (o *Options) refuses(kind string, r *Result, size int64) error {
	switch {
	case size > o.Size:
		return &LimitError{What: "bytes", Got: size, Limit: o.Size, Option: "Options.Size"}
	case kind == kindFile && !o.allows(r.Type):
		return &TypeError{Type: r.Type}
	case kind == kindImage && o.Images:
		return o.admit(image.Pt(r.Width, r.Height))
	}
	return nil
}

// naming is how files are named: by their first bytes and the server's word.
const naming = "claimed"

// recipe names all that what is made of a file depends on, and whether it is in a Store: an entry of the index with another one does not
// count.
func (o *Options) recipe(kind string) string {
	made := kind + "," + naming
	if o.Store != nil {
		made += ",store"
	}
	if kind != kindImage || !o.Images {
		return made
	}
	made += fmt.Sprintf(",decoded,%s,%d", o.Convert, o.Quality)
	for _, name := range slices.Sorted(maps.Keys(o.Thumbs)) {
		made += fmt.Sprintf(",%s=%dx%d", name, o.Thumbs[name].X, o.Thumbs[name].Y)
	}
	return made
}
