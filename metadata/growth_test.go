package metadata_test

import (
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/metadata"
)

// Pages whose metadata would take the square of their size in time or memory: what is too much is left out, with a note.
func TestMetadataInEachOther(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for _, test := range []struct {
		name, page string
		noted      bool
	}{
		{"items", strings.Repeat("<div itemscope>", 240_000), true},
		{"properties", strings.Repeat("<div itemscope itemprop=a>", 100_000), true},
		{"resources", strings.Repeat("<div typeof=a>", 100_000), true},
		{"types of a long vocabulary", "<div vocab=" + long + " typeof='" + strings.Repeat("a ", 50_000) + "'><b property=p>x", true},
		{"icons of a long base", "<base href=http://a.test/" + long + "/>" + strings.Repeat("<link rel=icon href=x>", 10_000), true},
		{"alternates of a long base", "<base href=http://a.test/" + long + "/>" + strings.Repeat("<link rel=alternate hreflang=a href=x>", 10_000), true},
		{"one icon, said many times", "<link href=x rel='" + strings.Repeat("icon ", 50_000) + "' sizes=" + long + ">", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := extract(t, test.page)
			size := 0
			for _, icon := range p.Icons {
				size += len(icon.URL) + len(icon.Sizes)
			}
			for _, other := range p.Alternates {
				size += len(other.URL)
			}
			for _, item := range p.RDFa {
				for _, typ := range item.Types {
					size += len(typ)
				}
			}
			if most := 4*len(test.page) + 1<<20; size > most {
				t.Errorf("%d bytes of a page of %d bytes", size, len(test.page))
			}
			if (len(p.Notes) > 0) != test.noted || len(p.Microdata) > 10_000 || len(p.RDFa) > 10_000 {
				t.Errorf("%d items, %d resources, %d notes", len(p.Microdata), len(p.RDFa), len(p.Notes))
			}
		})
	}
}

// In XML a script may be inside of another one, whose text it is a part of.
func TestScriptsInEachOther(t *testing.T) {
	doc, err := html.ParseXML([]byte("<html xmlns='http://www.w3.org/1999/xhtml'>"+strings.Repeat("<script type='application/ld+json'>[", 100_000)), html.Lenient())
	if err != nil {
		t.Fatal(err)
	}
	if p := metadata.Extract(doc, site); len(p.Notes) == 0 || len(p.Notes) > 100 || !strings.Contains(p.Notes[len(p.Notes)-1].Text, "cost too much") {
		t.Errorf("%d notes", len(p.Notes))
	}
}

// FuzzGrowth fails if a page of twice the size takes far more than twice the time.
func FuzzGrowth(f *testing.F) {
	for _, s := range [][2]string{
		{"<div itemscope>", "x "}, {"<div itemscope itemprop=a>", "<b itemprop=c>d</b>"}, {"<div vocab=v typeof=a property=b prefix='c: d'>", "x"},
		{"<b itemscope itemref='x y'></b>", "<i id=x itemprop=a>"}, {`<script type="application/ld+json">{"@graph":[{"@type":"a"}]}</script>`, "<meta name=date content=x>"},
		{"<link rel='icon alternate canonical' hreflang=a href=x>", "<meta property=og:a content=b>"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, part, tail string) {
		deep.Growth(t, deep.Repeated(part, tail), func(page []byte) {
			doc, err := html.Parse(page)
			if err != nil {
				return
			}
			p := metadata.Extract(doc, site)
			for range p.TypeOf("Product") {
			}
			p.ByID("#x")
		})
	})
}
