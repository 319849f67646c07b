package forms_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/forms"
	"github.com/tegenaria/tegenaria/html"
)

// FuzzEntries checks what holds for any page: a form has what it sends, no entry of it is without a name, the urlencoded fields read back are the
// entries, and what is found by its names can be set.
func FuzzEntries(f *testing.F) {
	for i := range browserCases {
		f.Add([]byte(browserCases[i].page))
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		doc, err := html.Parse(page)
		if err != nil {
			return
		}
		for n := range doc.Root().Descendants() {
			if !n.Is(html.AtomForm) {
				continue
			}
			form, err := forms.Of(n, pageURL)
			if err != nil {
				t.Fatal(err)
			}
			entries := form.Entries()
			for _, e := range entries {
				if e.Name == "" {
					t.Fatalf("an entry without a name: %+v", e)
				}
			}
			s, err := form.Submit()
			if err != nil {
				continue
			}
			text := ""
			if s.Body == nil {
				_, text, _ = strings.Cut(strings.SplitN(s.URL, "#", 2)[0], "?")
			} else if s.Body.Type == "application/x-www-form-urlencoded" {
				data, _ := s.Body.Bytes()
				text = string(data)
			} else {
				continue
			}
			got, err := url.ParseQuery(text)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			number := 0
			for _, values := range got {
				number += len(values)
			}
			if number != len(entries) {
				t.Fatalf("%d entries are sent as %d pairs: %q", len(entries), number, text)
			}
			for _, name := range form.Names() {
				_ = form.Set(name, "1")
			}
		}
	})
}
