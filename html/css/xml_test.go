package css_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/html/css"
)

// TestXML checks what differs in XML documents: names keep their case, and elements of any namespace
// have the names that they have without prefix.
func TestXML(t *testing.T) {
	doc, err := html.ParseXML([]byte(`<feed xmlns="urn:feed" xmlns:m="urn:media" xml:lang="fr"><Entry id="1" class="A a">
<m:title id="2">One</m:title></Entry><entry id="3"><title id="4" xmlns="urn:other">Two</title><title id="5" m:type="x" TYPE="Y"/></entry></feed>`))
	if err != nil {
		t.Fatal(err)
	}
	namespaces := map[string]string{"m": "urn:media", "o": "urn:other", "f": "urn:feed"}
	for _, test := range []struct{ selector, want string }{
		{"entry", "3"},
		{"Entry", "1"},
		{"ENTRY", ""},
		{"title", "2 4 5"},
		{"m|title", "2"},
		{"o|title", "4"},
		{"f|title", "5"},
		{"|title", ""},
		{"f|*", "feed 1 3 5"},
		{"entry > title + title", "5"},
		{".a", "1"},
		{".A", "1"},
		{"[type]", ""},
		{"[TYPE=Y]", "5"},
		{"[TYPE=y]", ""},
		{"[m|type=x]", "5"},
		{"title:lang(fr)", "2 4 5"},
		{"entry title::text", "'Two'"},
		{"title:nth-child(2)", "5"},
		{":root", "feed"},
	} {
		s, err := css.Options{Namespaces: namespaces}.Compile(test.selector)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := strings.Join(names(s.Select(doc.Root())), " "); got != test.want {
			t.Errorf("%s selects %s, want %s", test.selector, got, test.want)
		}
	}
}
