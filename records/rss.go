package records

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/urlx"
	"github.com/tegenaria/tegenaria/sitemap"
)

// found are values that are less than those of RSS itself: they count where it has none.
type found struct {
	title, summary, content, link, date, language, rights, image string

	author, creator, itunesAuthor, atomAuthor Person
	keywords, topics, subjects                []string
}

// rssFeed reads the element rss or RDF, of which the items were taken out.
func (d *feedDocument) rssFeed(root html.Node, base *urlx.Base, f *Feed) {
	f.Kind, f.Version = "rss", strings.TrimSpace(root.Attr("version"))
	var (
		channel       html.Node
		less          found
		editor, owner string
	)
	for n := range root.Children() {
		switch {
		case !n.IsElement():
		case strings.EqualFold(n.LocalName(), "channel"):
			channel = n
		case strings.EqualFold(n.LocalName(), "image") && d.spaceOf(n) == core: // RSS 1.0
			first(&f.Image, d.resolve(base, child(n, "url")))
		}
	}
	if f.Version == "" && strings.EqualFold(root.LocalName(), "rdf") {
		if f.Version = "1.0"; strings.Contains(channel.NamespaceURI(), "0.9") || strings.Contains(channel.NamespaceURI(), "netscape") {
			f.Version = "0.9"
		}
	}
	base = d.baseOf(base, channel)
	for n := range channel.Children() {
		if !n.IsElement() {
			continue
		}
		name, space := strings.ToLower(n.LocalName()), d.spaceOf(n)
		if space != core {
			d.lessOfFeed(n, name, space, base, f, &less)
			continue
		}
		switch name {
		case "title":
			first(&f.Title, text(n))
		case "description":
			first(&f.Description, text(n))
		case "link":
			first(&f.URL, d.link(n, base))
		case "language":
			first(&f.Language, text(n))
		case "copyright":
			first(&f.Copyright, text(n))
		case "generator":
			first(&f.Generator, text(n))
		case "managingeditor":
			first(&editor, text(n))
		case "webmaster":
			first(&owner, text(n))
		case "pubdate":
			readDate(&f.Published, text(n), &f.UnreadDate)
		case "lastbuilddate":
			readDate(&f.Updated, text(n), &f.UnreadDate)
		case "category":
			f.Categories = appendText(f.Categories, text(n))
		case "ttl":
			if minutes, err := strconv.ParseUint(text(n), 10, 20); err == nil {
				f.TTL = time.Duration(minutes) * time.Minute
			}
		case "image":
			first(&f.Image, d.resolve(base, child(n, "url")))
		}
	}
	first(&f.Title, less.title)
	first(&f.Description, less.summary)
	first(&f.URL, less.link)
	first(&f.Language, less.language)
	first(&f.Copyright, less.rights)
	first(&f.Image, less.image)
	readDate(&f.Updated, less.date, &f.UnreadDate)
	f.Authors = author(person(editor), person(owner), less.author, less.creator, less.itunesAuthor, less.atomAuthor)
	f.Categories = slices.Concat(f.Categories, less.keywords, less.topics, less.subjects)
}

// lessOfFeed reads a child of the channel that is of another namespace.
func (d *feedDocument) lessOfFeed(n html.Node, name, space string, base *urlx.Base, f *Feed, less *found) {
	switch space + ":" + name {
	case "atom:link":
		switch rel := strings.ToLower(strings.TrimSpace(n.Attr("rel"))); rel {
		case "", "alternate":
			first(&less.link, d.resolve(base, strings.TrimSpace(n.Attr("href"))))
		case "self":
			first(&f.FeedURL, d.resolve(base, strings.TrimSpace(n.Attr("href"))))
		}
	case "dc:language":
		first(&less.language, text(n))
	case "dc:rights":
		first(&less.rights, text(n))
	default:
		d.less(n, name, space, base, less)
	}
}

// rssEntry reads an item.
func (d *feedDocument) rssEntry(item html.Node, base *urlx.Base, e *Entry) {
	var less found
	permanent, writer := "", ""
	for n := range item.Children() {
		if !n.IsElement() {
			continue
		}
		name, space := strings.ToLower(n.LocalName()), d.spaceOf(n)
		if space != core {
			d.less(n, name, space, base, &less)
			continue
		}
		switch name {
		case "title":
			first(&e.Title, text(n))
		case "description":
			first(&e.Summary, text(n))
		case "link":
			first(&e.URL, d.link(n, base))
		case "guid":
			if first(&e.ID, text(n)); !strings.EqualFold(strings.TrimSpace(n.Attr("isPermaLink")), "false") && urlx.Scheme(text(n)) != "" {
				first(&permanent, text(n))
			}
		case "author":
			first(&writer, text(n))
		case "comments":
			first(&e.Comments, d.resolve(base, text(n)))
		case "pubdate":
			readDate(&e.Published, text(n), &e.UnreadDate)
		case "category":
			e.Categories = appendText(e.Categories, text(n))
		case "enclosure":
			length, _ := strconv.ParseInt(strings.TrimSpace(n.Attr("length")), 10, 64)
			e.Enclosures = append(e.Enclosures, Enclosure{d.resolve(base, strings.TrimSpace(n.Attr("url"))), strings.TrimSpace(n.Attr("type")), max(length, 0)})
		}
	}
	first(&e.Title, less.title)
	first(&e.Summary, less.summary)
	first(&e.Content, less.content)
	first(&e.URL, less.link)
	first(&e.URL, d.resolve(base, permanent))
	first(&e.Image, less.image)
	for _, file := range e.Enclosures {
		if strings.HasPrefix(file.Type, "image/") {
			first(&e.Image, file.URL)
		}
	}
	readDate(&e.Updated, less.date, &e.UnreadDate)
	if e.Published.IsZero() {
		e.Published = e.Updated
	}
	d.atomInRSS(item, e)
	e.Authors = author(person(writer), less.author, less.creator, less.itunesAuthor, less.atomAuthor)
	e.Categories = slices.Concat(e.Categories, less.keywords, less.subjects)
}

// less reads a child of an item, or of the channel, that is of another namespace.
func (d *feedDocument) less(n html.Node, name, space string, base *urlx.Base, to *found) {
	switch space + ":" + name {
	case "content:encoded", "atom:content":
		first(&to.content, text(n))
	case "dc:title", "atom:title":
		first(&to.title, text(n))
	case "dc:description", "itunes:summary", "atom:summary", "atom:subtitle":
		first(&to.summary, text(n))
	case "dc:date":
		first(&to.date, text(n))
	case "dc:author":
		set(&to.author, person(text(n)))
	case "dc:creator":
		set(&to.creator, person(text(n)))
	case "dc:subject":
		to.subjects = appendText(to.subjects, text(n))
	case "itunes:author":
		set(&to.itunesAuthor, person(text(n)))
	case "itunes:keywords":
		for word := range strings.SplitSeq(text(n), ",") {
			to.keywords = appendText(to.keywords, word)
		}
	case "itunes:category":
		to.topics = appendText(to.topics, n.Attr("text"))
		for c := range n.Children() {
			if c.IsElement() && c.LocalName() == "category" {
				to.topics = appendText(to.topics, c.Attr("text"))
			}
		}
	case "itunes:image":
		first(&to.image, d.resolve(base, strings.TrimSpace(n.Attr("href"))))
	case "media:content":
		if strings.HasPrefix(n.Attr("type"), "image") || n.Attr("medium") == "image" {
			first(&to.image, d.resolve(base, strings.TrimSpace(n.Attr("url"))))
		}
	case "media:thumbnail":
		first(&to.image, d.resolve(base, strings.TrimSpace(n.Attr("url"))))
	case "media:group":
		for c := range n.Children() {
			if c.IsElement() {
				d.less(c, strings.ToLower(c.LocalName()), d.spaceOf(c), base, to)
			}
		}
	case "atom:link":
		if rel := strings.ToLower(strings.TrimSpace(n.Attr("rel"))); rel == "" || rel == "alternate" {
			first(&to.link, d.resolve(base, strings.TrimSpace(n.Attr("href"))))
		}
	case "atom:author":
		set(&to.atomAuthor, Person{Name: child(n, "name"), Email: child(n, "email"), URL: d.resolve(base, child(n, "uri"))})
	case "atom:category":
		to.subjects = appendText(to.subjects, n.Attr("term"))
	}
}

// atomInRSS reads the dates of Atom in an item of RSS.
func (d *feedDocument) atomInRSS(item html.Node, e *Entry) {
	for n := range item.Children() {
		if !n.IsElement() || d.spaceOf(n) != atom {
			continue
		}
		switch n.LocalName() {
		case "published":
			readDate(&e.Published, text(n), &e.UnreadDate)
		case "updated":
			readDate(&e.Updated, text(n), &e.UnreadDate)
		}
	}
}

// link is a URL as the text of an element, or as its href.
func (d *feedDocument) link(n html.Node, base *urlx.Base) string {
	base = d.baseOf(base, n)
	if ref := text(n); ref != "" {
		return d.resolve(base, ref)
	}
	return d.resolve(base, strings.TrimSpace(n.Attr("href")))
}

// readDate reads a date, unless there is one already or the text is empty. unread gets the text of the first one that cannot be read.
func readDate(to *time.Time, text string, unread *string) {
	if text = strings.TrimSpace(text); text == "" || !to.IsZero() {
		return
	}
	var err error
	if *to, err = sitemap.ParseTime(text); err != nil {
		first(unread, text)
	}
}

// author returns the first one of several.
func author(people ...Person) []Person {
	for _, p := range people {
		if p != (Person{}) {
			return []Person{p}
		}
	}
	return nil
}

func set(to *Person, p Person) {
	if *to == (Person{}) {
		*to = p
	}
}

// appendText appends a text that is not empty.
func appendText(list []string, text string) []string {
	if text = strings.TrimSpace(text); text == "" {
		return list
	}
	return append(list, text)
}
