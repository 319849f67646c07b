package pipeline

import (
	"context"
	"errors"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/internal/urlx"
)

// Origin says where an item comes from. A [Stamp] writes it.
type Origin struct {
	URL    string    `json:"url"`           // of the page, after redirects; passwords are hidden
	Time   time.Time `json:"time"`          // when the item came to the pipeline, in UTC
	Spider string    `json:"spider"`        // its name
	Job    string    `json:"job,omitempty"` // as StampOptions say
	Depth  int       `json:"depth"`         // of the request: 0 for a seed
}

// StampOptions say where a [Stamp] stands, and what it writes.
type StampOptions struct {
	// Priority is its place (0: StampPriority).
	Priority int
	// Job names the job, such as the day or an id of a scheduler; it is left out if it is empty.
	Job string
	// Key is where items that are a map[string]any get their Origin ("": "origin").
	Key string
	// Clock returns the time (nil: time.Now).
	Clock func() time.Time
}

// Stamp makes a pipeline that writes into each item of type T where it comes from: into the one exported field of type [Origin] or *Origin,
// which may be that of an embedded struct. Items of type map[string]any get a key. If T is no pointer, items of type *T
// are stamped too; items of other types pass unchanged. The item that goes on is a copy.
//
// A type without such a field, or with several, is an error of Run before the first request. A Stamp serves one run at a time.
func Stamp[T any](o StampOptions) tegenaria.PipelinesInterface {
	if o.Priority == 0 {
		o.Priority = StampPriority
	}
	if o.Key == "" {
		o.Key = "origin"
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	place, err := placeOf[Origin](reflect.TypeFor[T](), o.Key, "Stamp")
	if err != nil {
		return mistaken{o.Priority, err}
	}
	return &stamp{options: o, place: place}
}

type stamp struct {
	options StampOptions
	place   place[Origin]
	spider  atomic.Pointer[string]
}

var (
	_ tegenaria.ContextPipeline = (*stamp)(nil)
	_ tegenaria.Opener          = (*stamp)(nil)
)

func (s *stamp) GetPriority() int { return s.options.Priority }

func (s *stamp) Open(_ context.Context, spider tegenaria.SpiderInterface) error {
	name := spider.GetName()
	s.spider.Store(&name)
	return nil
}

// errNoContext is the failure of a pipeline that was called as one that needs no page.
var errNoContext = errors.New("pipeline: the engine must know tegenaria.ContextPipeline")

func (s *stamp) ProcessItem(tegenaria.SpiderInterface, *tegenaria.ItemMeta) error {
	return errNoContext
}

func (s *stamp) ProcessItemContext(ctx *tegenaria.Context, item *tegenaria.ItemMeta) error {
	origin := Origin{URL: pageURL(ctx), Time: s.options.Clock().UTC(), Job: s.options.Job}
	if ctx.Request != nil {
		origin.Depth = ctx.Request.Depth
	}
	if name := s.spider.Load(); name != nil {
		origin.Spider = *name
	}
	if out, ok := s.place.put(item.Item, origin); ok {
		item.Item = out
	}
	return nil
}

// pageURL returns the URL of the page that an item comes from, without its password.
func pageURL(ctx *tegenaria.Context) string {
	switch {
	case ctx.DownloadResult != nil && ctx.DownloadResult.Response != nil && ctx.DownloadResult.Response.URL != "":
		return urlx.Redact(ctx.DownloadResult.Response.URL)
	case ctx.Request != nil:
		return urlx.Redact(ctx.Request.Url)
	}
	return ""
}
