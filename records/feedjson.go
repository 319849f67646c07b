package records

import (
	"errors"
	"io"
	"net/url"
	"path"
	"strings"

	"github.com/tidwall/gjson"
)

// maxHead bounds what is kept of a feed beside its entries.
const maxHead = 1 << 20

// readJSON reads a JSON Feed (https://www.jsonfeed.org/version/1.1/).
func (r *feedReader) readJSON(j *jsonScanner) error {
	head, known := []byte{'{'}, false
	fill := func() { // with what was read so far
		r.feedOfJSON(gjson.ParseBytes(append(head[:len(head):len(head)], '}')))
	}
	items := func(item Value, err error) bool {
		if wrong := (*Error)(nil); errors.As(err, &wrong) {
			return r.send(nil, wrong) == nil
		}
		if !known {
			known = true
			fill()
		}
		if v := gjson.ParseBytes(item.raw); v.IsObject() {
			e := r.entryOfJSON(v)
			e.raw.json = item.raw
			return r.send(e, nil) == nil
		}
		return r.send(nil, r.wrong("it is no object", nil)) == nil
	}
	err := j.object(func(name string) error {
		if name == "items" {
			if c, err := j.must(); err != nil || c == '[' {
				return errors.Join(err, j.records(items))
			}
			return j.skip()
		}
		text, large, err := j.take(maxHead)
		if err != nil || large || len(head)+len(text) > maxHead || !gjson.ValidBytes(text) {
			return err
		}
		if len(head) > 1 {
			head = append(head, ',')
		}
		head = append(gjson.AppendJSONString(head, name), ':')
		head = append(head, text...)
		return nil
	})
	if err != nil {
		return err
	}
	if fill(); r.feed.Kind == "" {
		return r.broken("it is no feed: the JSON object has neither version nor items", nil)
	}
	if _, err := j.peek(); !errors.Is(err, io.EOF) {
		if err != nil {
			return r.fail(err)
		}
		return r.broken("there is something behind the end of the document", nil)
	}
	return nil
}

// feedOfJSON reads the top-level object without its items.
func (r *feedReader) feedOfJSON(v gjson.Result) {
	f := r.feed
	version := v.Get("version").String()
	if !strings.Contains(version, "jsonfeed.org/version/") && r.record == 0 && v.Get("title").String() == "" {
		return
	}
	f.Kind = "json"
	if u, err := url.Parse(version); err == nil && version != "" {
		f.Version = path.Base(u.Path)
	}
	f.Title, f.Description = v.Get("title").String(), v.Get("description").String()
	f.URL, f.FeedURL = r.resolve(r.base, v.Get("home_page_url").String()), r.resolve(r.base, v.Get("feed_url").String())
	f.Language = v.Get("language").String()
	f.Image = r.resolve(r.base, v.Get("icon").String())
	f.Authors = r.authorsOfJSON(v)
}

// entryOfJSON reads an item.
func (r *feedReader) entryOfJSON(v gjson.Result) *Entry {
	e := &Entry{
		Feed:    r.feed,
		ID:      v.Get("id").String(),
		URL:     r.resolve(r.base, v.Get("url").String()),
		Title:   v.Get("title").String(),
		Summary: v.Get("summary").String(),
		Content: v.Get("content_html").String(),
		Image:   r.resolve(r.base, v.Get("image").String()),
		Authors: r.authorsOfJSON(v),
		Base:    baseURL(r.base),
	}
	if e.URL == "" {
		e.URL = r.resolve(r.base, v.Get("external_url").String())
	}
	if e.Content == "" {
		e.Content = v.Get("content_text").String()
	}
	if e.Image == "" {
		e.Image = r.resolve(r.base, v.Get("banner_image").String())
	}
	readDate(&e.Published, v.Get("date_published").String(), &e.UnreadDate)
	readDate(&e.Updated, v.Get("date_modified").String(), &e.UnreadDate)
	for _, tag := range v.Get("tags").Array() {
		e.Categories = append(e.Categories, tag.String())
	}
	for _, a := range v.Get("attachments").Array() {
		e.Enclosures = append(e.Enclosures, Enclosure{r.resolve(r.base, a.Get("url").String()), a.Get("mime_type").String(), max(a.Get("size_in_bytes").Int(), 0)})
	}
	return e
}

// authorsOfJSON reads the authors of a feed or an item: one in version 1, several in 1.1.
func (r *feedReader) authorsOfJSON(v gjson.Result) (authors []Person) {
	list := v.Get("authors").Array()
	if one := v.Get("author"); len(list) == 0 && one.Exists() {
		list = []gjson.Result{one}
	}
	for _, a := range list {
		p := person(a.Get("name").String())
		if p.URL = r.resolve(r.base, a.Get("url").String()); p != (Person{}) {
			authors = append(authors, p)
		}
	}
	return authors
}
