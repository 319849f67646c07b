package sitemap

import (
	"strconv"
	"strings"
	"time"
)

// Alternate is the same page for another language, region or device.
type Alternate struct {
	URL   string // absolute
	Lang  string // hreflang: a language, perhaps with a region, or "x-default"; "" if missing
	Media string // a media query, for example of a page for small screens; "" if missing
}

// Image is a picture of a page (image:image). Missing values are empty.
type Image struct {
	URL         string // absolute
	Title       string
	Caption     string
	GeoLocation string
	License     string // a URL
}

// Video is a video of a page (video:video). Missing values are empty, zero or false.
type Video struct {
	Title        string
	Description  string
	Thumbnail    string // the URLs are absolute
	Content      string // the video itself
	Player       string // what plays it
	Duration     time.Duration
	Published    time.Time
	Expires      time.Time
	Rating       float64 // 0 to 5
	Views        int64
	Tags         []string
	Category     string
	Uploader     string
	UploaderInfo string // a URL
	Countries    Restriction
	Platforms    Restriction // "web", "mobile", "tv"
	AdultsOnly   bool        // family_friendly is "no"
	Subscription bool        // is required
	Live         bool
}

// Restriction is where a video may be shown.
type Restriction struct {
	Names []string // none: everywhere
	Deny  bool     // Names are where it may not be shown
}

// News is a news article (news:news). Missing values are empty.
type News struct {
	Publication string // the name of the paper
	Lang        string
	Title       string
	Published   time.Time
	Access      string // "Subscription" or "Registration"
	Genres      []string
	Keywords    []string
	Tickers     []string // of the companies that it is about
}

// imageField notes a child element of image:image.
func (d *document) imageField(name, value string) {
	i := &d.entry.Images[len(d.entry.Images)-1]
	switch name {
	case "loc":
		i.URL = d.address(value)
	case "title":
		i.Title = value
	case "caption":
		i.Caption = value
	case "geo_location":
		i.GeoLocation = value
	case "license":
		i.License = d.address(value)
	}
}

// newsField notes a child element of news:news or news:publication.
func (d *document) newsField(name, value string) {
	n := d.entry.News
	switch name {
	case "name":
		n.Publication = value
	case "language":
		n.Lang = value
	case "title":
		n.Title = value
	case "publication_date":
		n.Published = d.time(value)
	case "access":
		n.Access = value
	case "genres":
		n.Genres = list(value)
	case "keywords":
		n.Keywords = list(value)
	case "stock_tickers":
		n.Tickers = list(value)
	}
}

// videoField notes a child element of video:video.
func (d *document) videoField(name, value string) {
	v := &d.entry.Videos[len(d.entry.Videos)-1]
	switch name {
	case "title":
		v.Title = value
	case "description":
		v.Description = value
	case "thumbnail_loc":
		v.Thumbnail = d.address(value)
	case "content_loc":
		v.Content = d.address(value)
	case "player_loc":
		v.Player = d.address(value)
	case "duration":
		if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
			v.Duration = time.Duration(seconds) * time.Second
		}
	case "publication_date":
		v.Published = d.time(value)
	case "expiration_date":
		v.Expires = d.time(value)
	case "rating":
		v.Rating = between(value, 0, 5, 0)
	case "view_count":
		if views, err := strconv.ParseUint(value, 10, 63); err == nil {
			v.Views = int64(views)
		}
	case "tag":
		v.Tags = append(v.Tags, value)
	case "category":
		v.Category = value
	case "uploader":
		v.Uploader, v.UploaderInfo = value, d.extra
	case "restriction":
		v.Countries = Restriction{strings.Fields(value), d.extra == "deny"}
	case "platform":
		v.Platforms = Restriction{strings.Fields(value), d.extra == "deny"}
	case "family_friendly":
		v.AdultsOnly = isNo(value)
	case "requires_subscription":
		v.Subscription = isYes(value)
	case "live":
		v.Live = isYes(value)
	}
}

// address resolves a URL; one that cannot be is left as it is written.
func (d *document) address(raw string) string {
	if url, err := d.resolve(raw); err == nil {
		return url
	}
	return raw
}

func isYes(s string) bool {
	s = lower(s)
	return s == "yes" || s == "true" || s == "1"
}

func isNo(s string) bool {
	s = lower(s)
	return s == "no" || s == "false" || s == "0"
}

// list takes a comma-separated list apart.
func list(s string) (parts []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

// between reads a number; standard stands for what is none, or out of range. A comma may be its decimal point.
func between(s string, low, high, standard float64) float64 {
	f, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	if err != nil || !(f >= low && f <= high) {
		return standard
	}
	return f
}

// lower is strings.ToLower for ASCII without white space around.
func lower(s string) string { return strings.ToLower(strings.TrimSpace(s)) }
