package html_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// linkTags writes the tags that LinkTags finds, the name and the attributes of each.
func linkTags(d *html.Document) string {
	var b strings.Builder
	for tag, first := range d.LinkTags() {
		b.WriteString(tag.String())
		for a := first; !a.IsZero(); a = a.Next() {
			fmt.Fprintf(&b, " %s=%q", lowerCase(a.Name()), a.Value())
		}
		b.WriteString("\n")
	}
	return b.String()
}

// lowerCase undoes what names get in SVG and MathML. It leaves alone what is not UTF-8.
func lowerCase(name string) string {
	b := []byte(name)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	return string(b)
}

// streamedLinkTags is linkTags by Tags and Tokenizer.
func streamedLinkTags(source []byte) string {
	var b strings.Builder
	templates := 0
	for tags := html.NewTags(source); tags.Next(); {
		tag := tags.Atom()
		switch {
		case tag == html.AtomTemplate && !tags.Foreign() && tags.IsEnd():
			templates = max(0, templates-1)
		case tag == html.AtomTemplate && !tags.Foreign():
			templates++
		case tags.IsEnd():
		case tag == html.AtomA, tag == html.AtomArea, tag == html.AtomBase && templates == 0 && !tags.Foreign():
			z := html.NewTokenizer(source[tags.Pos():tags.End()])
			z.Next()
			list := ""
			for name, value := range z.Attrs() {
				list += fmt.Sprintf(" %s=%q", name, value)
			}
			if list != "" {
				fmt.Fprintf(&b, "%s%s\n", tag, list)
			}
		}
	}
	return b.String()
}

// checkLinkTags compares the tags that a document has noted with those that the stream has. It reports
// whether the document says that it knows them.
func checkLinkTags(t *testing.T, d *html.Document) bool {
	t.Helper()
	if !d.HasLinkTags() {
		return false
	}
	if got, want := linkTags(d), streamedLinkTags(d.Source()); got != want {
		t.Errorf("%q\nthe tree notes\n%sthe stream has\n%s", d.Source(), got, want)
	}
	checkResume(t, d)
	return true
}

// checkResume compares what Tags finds behind the tags of a document with what it finds there when it reads the page from its
// beginning.
func checkResume(t *testing.T, d *html.Document) {
	t.Helper()
	const enough = 5 // of the tags behind each
	type found struct {
		from, end        int
		tag              html.Atom
		isEnd, inForeign bool
	}
	var all []found
	behind := map[int]int{} // the number of the tag after the one that ends there
	for tags := html.NewTags(d.Source()); tags.Next(); {
		all = append(all, found{tags.Pos(), tags.End(), tags.Atom(), tags.IsEnd(), tags.Foreign()})
		behind[tags.End()] = len(all)
	}
	tags, based := html.NewTags(nil), false
	for tag, first := range d.LinkTags() {
		based = based || tag == html.AtomBase
		for a := first; !a.IsZero(); a = a.Next() {
			if known := tags.Resume(a); known != (d.CanResume() && len(a.Raw()) > 0) {
				t.Fatalf("%q: Resume of %s=%q = %v", d.Source(), a.Name(), a.Value(), known)
			} else if !known {
				continue
			}
			next, ends := behind[tags.End()]
			if !ends || all[next-1].tag != tag {
				t.Fatalf("%q: no tag %s ends at %d", d.Source(), tag, tags.End())
			}
			for _, want := range all[next:min(next+enough, len(all))] {
				if more := tags.Next(); !more || (found{tags.Pos(), tags.End(), tags.Atom(), tags.IsEnd(), tags.Foreign()}) != want {
					t.Fatalf("%q: behind %s=%q is a tag at %d, want one at %d", d.Source(), a.Name(), a.Value(), tags.Pos(), want.from)
				}
			}
		}
	}
	if d.HasBaseTag() != based {
		t.Errorf("%q: HasBaseTag = %v", d.Source(), !based)
	}
}

func TestLinkTags(t *testing.T) {
	for _, test := range []struct {
		name, page, want string
		unknown          bool
	}{
		{name: "in order", page: `<base href=b><p><a href=1 rel=x>a</a><map><AREA HREF="2&amp;">`,
			want: `base href="b"` + "\n" + `a href="1" rel="x"` + "\n" + `area href="2&"` + "\n"},
		{name: "attributes twice and other names", page: `<a x-y=1 href=2 href=3 id=c><b id=a>`, want: `a x-y="1" href="2" id="c"` + "\n"},
		{name: "without attributes", page: `<a><area><base>`},
		{name: "end tags", page: `<p>x</a href=1></area href=2></base href=3>`},
		{name: "no markup", page: `<!--<a href=1>--><title><a href=2></title><script><a href=3></script><textarea><a href=4></textarea><plaintext><a href=5>`},
		{name: "nested, and copied by the parser", page: `<a href=1><p>x<a href=2>y</p>z</a><b><a href=3><div></b>x</div>`,
			want: `a href="1"` + "\n" + `a href="2"` + "\n" + `a href="3"` + "\n"},
		{name: "fostered", page: `<table><a href=1><tr><td><a href=2></table>`, want: `a href="1"` + "\n" + `a href="2"` + "\n"},
		{name: "in a template", page: `<template><a href=1><tr></template><a href=2>`, want: `a href="1"` + "\n" + `a href="2"` + "\n"},
		{name: "in noscript and select", page: `<noscript><a href=1></noscript><select><a href=2></select>`, want: `a href="1"` + "\n" + `a href="2"` + "\n"},
		{name: "in SVG", page: `<svg><title><a href=0></a></title><base href=1><a href=2 xlink:href=3></svg><base href=4>`,
			want: `a href="0"` + "\n" + `a href="2" xlink:href="3"` + "\n" + `base href="4"` + "\n"},
		{name: "section in SVG", page: `<svg><![CDATA[<a href=1>]]></svg><![CDATA[<a href=2>]]>`},
		{name: "foreign style", page: `<svg><style><a href=1></style></svg><style><a href=2></style>`, want: `a href="1"` + "\n"},
		{name: "> in values, and behind them", page: `<a title="a>b" href=1 href='c>d' / rel x="" y>x</a><a href=/>y</a><a x'=1 href=">">z</a>`,
			want: `a title="a>b" href="1" rel="" x="" y=""` + "\n" + `a href="/"` + "\n" + `a x'="1" href=">"` + "\n"},
		{name: "SVG in a link", page: `<a href=1><svg><title><b></svg><style><a href=2></style></a><a href=3></a>`, want: `a href="1"` + "\n" + `a href="3"` + "\n"},
		{name: "base after a template", page: `<template><base href=1></template><base href=2>`, unknown: true},
		{name: "link in a frameset", page: `<frameset><a href=1>`, unknown: true},
		{name: "text in a frameset", page: `<frameset><title><a href=1></title>`, unknown: true},
		{name: "link in a column group", page: `<template><col><a href=1></template>`, unknown: true},
		{name: "foreign for the stream alone", page: `<frameset><svg><noframes></noframes>`, unknown: true},
		{name: "foreign for the parser alone", page: `<svg><g></math><title><a href=1></title>`, unknown: true},
		{name: "HTML in MathML that the stream does not know", page: `<math><annotation-xml encoding=text/html><title><a href=1></title>`, unknown: true},
		{name: "section for the parser alone", page: `<svg><g></math><![CDATA[<a href=1>]]>`, unknown: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := parse(t, test.page)
			if known := checkLinkTags(t, d); known == test.unknown {
				t.Errorf("known: %v", known)
			}
			if got := linkTags(d); !test.unknown && got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

// TestLinkTagsUnknown has the documents whose tags are not noted whatever they hold.
func TestLinkTagsUnknown(t *testing.T) {
	const page = `<a href="1"></a>`
	xml := parseXML(t, page)
	fragment := parseFragment(t, page)
	for name, d := range map[string]*html.Document{"XML": xml, "fragment": fragment} {
		if d.HasLinkTags() {
			t.Errorf("the tags of %s are said to be known", name)
		}
	}
	if zero := new(html.Document); linkTags(zero) != "" || !zero.HasLinkTags() {
		t.Error("the zero Document has tags, or does not know that it has none")
	}
	// What one document did not know says nothing about the next one in the same memory.
	if err := fragment.Reset([]byte(page)); err != nil {
		t.Fatal(err)
	}
	if list := linkTags(fragment); list != "a href=\"1\"\n" || !fragment.HasLinkTags() {
		t.Errorf("a document that is used again has the tags %q, known: %v", list, fragment.HasLinkTags())
	}
}

func TestLinkTagsAllocate(t *testing.T) {
	d := parse(t, string(page(20<<10)))
	count := 0
	if n := testing.AllocsPerRun(10, func() {
		for _, first := range d.LinkTags() {
			if first.Atom() == html.AtomHref {
				count++
			}
		}
	}); n != 0 || count == 0 {
		t.Errorf("%v allocations, %d links", n, count)
	}
}
