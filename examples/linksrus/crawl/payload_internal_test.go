package crawl

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/html/charset"
)

// filled is a payload with something in every field.
func filled(v *visit) *payload {
	p := newPayload(v, &graph.Link{URL: "http://a/"})
	p.body.WriteString("<p>body")
	p.encoding = charset.GBK
	p.links, p.noFollow = append(p.links, "http://b/"), append(p.noFollow, "http://c/")
	p.title, p.text, p.stored = "title", "text", true
	return p
}

// view is what can be seen of a payload.
func (p *payload) view() []any {
	return []any{p.visit, p.url, p.body.String(), p.encoding, slices.Clone(p.links), slices.Clone(p.noFollow), p.title, p.text, p.stored}
}

// A clone has all that its original has, leaves it as it was, and shares nothing with it.
func TestClone(t *testing.T) {
	p := filled(&visit{end: func(*visit) {}})
	before := p.view()
	c := p.Clone()
	if got := c.view(); !reflect.DeepEqual(got, before) {
		t.Errorf("the clone is  %v\nthe original %v", got, before)
	}
	c.body.Reset()
	c.body.WriteString("<p>none")
	c.links[0], c.noFollow[0] = "http://x/", "http://y/"
	if got := p.view(); !reflect.DeepEqual(got, before) {
		t.Errorf("the original was %v\nand is %v", before, got)
	}
}

// What goes back to the pool is empty, field by field.
func TestRecycled(t *testing.T) {
	p := filled(&visit{end: func(*visit) {}})
	memory := cap(p.links)
	p.MarkAsProcessed()
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		switch field := v.Field(i); v.Type().Field(i).Name {
		case "body":
			if p.body.Len() != 0 || p.body.Cap() == 0 {
				t.Errorf("the body has %d bytes and room for %d", p.body.Len(), p.body.Cap())
			}
		case "links", "noFollow":
			if field.Len() != 0 {
				t.Errorf("%s has %d entries", v.Type().Field(i).Name, field.Len())
			}
		default:
			if !field.IsZero() {
				t.Errorf("%s is left over", v.Type().Field(i).Name)
			}
		}
	}
	if cap(p.links) != memory || p.links[:1][0] != "" {
		t.Errorf("room for %d links, which holds on to %q", cap(p.links), p.links[:1])
	}
}

// A visit ends once, when the last of its payloads is settled, and has been in vain if one of them was lost.
func TestVisit(t *testing.T) {
	for _, c := range []struct {
		name         string
		stored, copy bool
		lost         bool
	}{{"both stored", true, true, false}, {"one lost", true, false, true}, {"the other lost", false, true, true}, {"both lost", false, false, true}} {
		ends := 0
		v := &visit{began: time.Now(), end: func(*visit) { ends++ }}
		p := newPayload(v, &graph.Link{URL: "http://a/"})
		clone := p.Clone()
		p.stored, clone.stored = c.stored, c.copy
		p.MarkAsProcessed()
		if ends != 0 {
			t.Errorf("%s: ended before its last payload", c.name)
		}
		clone.MarkAsProcessed()
		if ends != 1 || v.lost.Load() != c.lost {
			t.Errorf("%s: ended %d times, lost is %v", c.name, ends, v.lost.Load())
		}
	}
}
