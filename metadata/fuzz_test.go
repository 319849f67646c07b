package metadata_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/metadata"
)

// FuzzExtract checks what holds for any page: nodes are JSON, URLs are absolute, the page is not changed, and the bounds hold.
func FuzzExtract(f *testing.F) {
	for _, page := range []string{
		shopPage, "", "<!--", "<base href=//><link rel='canonical icon alternate feed' hreflang=x href=a><meta property=og:x content><title>\x00",
		block("<!--\n//<![CDATA[\n{\"@graph\":[{\"@type\":\"A\",\"x\":\"\t\\'\",},,],}//]]>-->") + block(`[1,{"a":{"@id":"b"}}]`) + block(`{&quot;a&quot;:1}`),
		`<div itemscope itemtype="a b" itemid=c itemref="d e"><time itemprop="f g">2024</time></div><div id=d itemprop=h itemscope itemref=d><a itemprop=i href=j>`,
		`<div vocab="http://schema.org/" prefix="a: b c:d" typeof="A a:B" resource=x><b property="name a:b"><i property=c typeof=D><time property=datePublished>2024-01-02`,
	} {
		f.Add([]byte(page))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		doc, err := html.Parse(body)
		if err != nil {
			return
		}
		p := metadata.Extract(doc, site)
		if !bytes.Equal(body, before) {
			t.Fatal("the page was changed")
		}
		for n := range p.Nodes() {
			checkNode(t, n)
			for _, name := range n.Types() {
				of := 0
				for range p.TypeOf(name) {
					of++
				}
				if of == 0 {
					t.Errorf("TypeOf(%q) does not find %s", name, n)
				}
			}
		}
		checkURLs(t, p)
		for _, n := range p.Notes {
			if n.Offset < 0 || n.Offset > len(body) || n.Text == "" {
				t.Errorf("%+v", n)
			}
		}
	})
}

func checkNode(t *testing.T, n metadata.Node) {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(n.String()), &object); err != nil {
		t.Fatalf("%q: %v", n.String(), err)
	}
	if n.Syntax() == metadata.JSONLD && !utf8.ValidString(n.String()) {
		t.Errorf("%q is not UTF-8", n.String())
	}
	if id, ok := object["@id"].(string); ok && n.ID() != id {
		t.Errorf("ID of %s is %q", n, n.ID())
	}
}
