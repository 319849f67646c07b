package demosite_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tegenaria/tegenaria/examples/demosite"
)

// Every second request finds one more entry, the newest first; one with the ETag of what is there finds nothing.
func TestNews(t *testing.T) {
	h := demosite.Handler()
	tag := ""
	for i, want := range []string{"200 3", "304 0", "200 4", "304 0", "200 5"} {
		r := httptest.NewRequest(http.MethodGet, "/news.xml", nil)
		r.Header.Set("If-None-Match", tag)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		tag = w.Header().Get("ETag")
		var feed struct {
			Items []struct {
				GUID string `xml:"guid"`
			} `xml:"channel>item"`
		}
		if w.Code == http.StatusOK {
			if err := xml.Unmarshal(w.Body.Bytes(), &feed); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(w.Code, " ", len(feed.Items)); got != want {
			t.Errorf("answer %d is %s, want %s", i, got, want)
		}
		if n := len(feed.Items); n > 3 && feed.Items[0].GUID == "book-pride-and-prejudice" {
			t.Errorf("the oldest entry is the first of %d", n)
		}
	}
}
