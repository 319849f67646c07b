package demosite

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"time"
)

// newsFirst is how many entries the feed begins with, and newsMost how many it has at most.
const (
	newsFirst = 3
	newsMost  = 10
)

// news answers with a feed (RSS 2.0) that says which books are new. Every second request finds one more, and all find
// the newest first. A request with the ETag of what is there now is answered with 304.
func (h *handler) news(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	n := newsFirst + h.asked/2
	h.asked++
	h.mu.Unlock()
	n = min(n, len(h.books))
	tag := fmt.Sprintf(`"%d"`, n)
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	feed := rss{Version: "2.0", Channel: channel{Title: "New books", Link: "/books/", Description: "What has come in"}}
	for i := n - 1; i >= max(n-newsMost, 0); i-- {
		b := h.books[i]
		feed.Channel.Items = append(feed.Channel.Items, newsItem{b.Title, "/books/" + b.Slug + "/", "book-" + b.Slug,
			time.Date(2024, 1, 1+i, 9, 0, 0, 0, time.UTC).Format(time.RFC1123Z)})
	}
	w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	// The status is sent: a client that went away cannot be told anything more.
	_, _ = w.Write([]byte(xml.Header))
	_ = xml.NewEncoder(w).Encode(feed)
}

// The feed of /news.xml.
type (
	rss struct {
		XMLName xml.Name `xml:"rss"`
		Version string   `xml:"version,attr"`
		Channel channel  `xml:"channel"`
	}
	channel struct {
		Title       string     `xml:"title"`
		Link        string     `xml:"link"`
		Description string     `xml:"description"`
		Items       []newsItem `xml:"item"`
	}
	newsItem struct {
		Title string `xml:"title"`
		Link  string `xml:"link"`
		GUID  string `xml:"guid"`
		Date  string `xml:"pubDate"`
	}
)
