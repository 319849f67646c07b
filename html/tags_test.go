package html_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html"
	"github.com/tegenaria/tegenaria/internal/deep"
)

func TestTags(t *testing.T) {
	for _, test := range []struct{ name, page, want string }{
		{"start and end", `<A HREF=x>y</a ><br/>`, `<a></a><br>`},
		{"no tags", `a < b </> </ x> <!-- <p> --> <!doctype p> <?p> &lt;p>`, ``},
		{"cut off", `<p><a href="x`, `<p>`},
		{"raw text", `<script>"<p>"<!--<script></script>--></script><style><p></style><title><p></title><textarea><p></textarea><p>`,
			`<script></script><style></style><title></title><textarea></textarea><p>`},
		{"plaintext", `<p><plaintext><a></plaintext>`, `<p><plaintext>`},
		{"own names", `<X-Y><ö>`, `<x-y>`},
		{"foreign title", `<svg><title><a></a></title></svg><title><p></title>`, `<svg><title><a></a></title></svg><title></title>`},
		{"foreign style", `<svg><style><g/></style><![CDATA[<a>]]></svg><style><g/></style>`,
			`<svg><style><g></style></svg><style></style>`},
		{"left by a start tag", `<svg><div><style><g/></style>`, `<svg><div><style></style>`},
		{"left by font with color", `<math><font color=x><style><g/></style>`, `<math><font><style></style>`},
		{"not left by font", `<math><font><style><g/></style>`, `<math><font><style><g></style>`},
		{"left by an end tag", `<svg></p><style><g/></style>`, `<svg></p><style></style>`},
		{"closed at once", `<svg/><style><g/></style>`, `<svg><style></style>`},
		{"island", `<svg><foreignObject><style><g/></style></foreignObject><style><g/></style></svg>`,
			`<svg><foreignobject><style></style></foreignobject><style><g></style></svg>`},
		{"section that does not end", `<svg><![CDATA[<a>`, `<svg>`},
		{"section in HTML", `<![CDATA[<a>]]><p>`, `<p>`},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got strings.Builder
			tags := html.NewTags([]byte(test.page))
			for tags.Next() {
				slash := ""
				if tags.IsEnd() {
					slash = "/"
				}
				fmt.Fprintf(&got, "<%s%s>", slash, tags.Name())
			}
			if got.String() != test.want {
				t.Errorf("got  %s\nwant %s", got.String(), test.want)
			}
			if tags.Atom() != 0 || tags.Pos() != len(test.page) || tags.End() != len(test.page) || tags.IsEnd() || tags.Next() {
				t.Error("there is something after the last tag")
			}
		})
	}
}

func TestTagAttributes(t *testing.T) {
	const page = `x<A HREF='/?a&amp;b' href=no data-x=1 Title>y`
	tags := html.NewTags([]byte(page))
	if !tags.Next() || tags.Atom() != html.AtomA || page[tags.Pos():tags.End()] != page[1:len(page)-1] || tags.SelfClosing() {
		t.Fatalf("tag %q from %d to %d", tags.Name(), tags.Pos(), tags.End())
	}
	for _, test := range []struct {
		name  html.Atom
		value string
		ok    bool
	}{
		{html.AtomHref, "/?a&b", true},
		{html.AtomTitle, "", true},
		{html.AtomId, "", false},
		{0, "", false},
		{1 << 20, "", false},
	} {
		if value, ok := tags.Attr(test.name); string(value) != test.value || ok != test.ok {
			t.Errorf("%s: got %q, %v", test.name, value, ok)
		}
	}
	tags.Reset([]byte("<p/>"))
	if !tags.Next() || tags.Atom() != html.AtomP || !tags.SelfClosing() || tags.Next() {
		t.Error("another page was not read")
	}
}

func TestTagsAllocate(t *testing.T) {
	src := page(20 << 10)
	tags := html.NewTags(nil)
	links := 0
	if n := testing.AllocsPerRun(10, func() { tags.Reset(src); links = ourTags(tags) }); deep.Checks() && n != 0 {
		t.Errorf("%v allocations", n)
	}
	if want := netTags(src); links != want {
		t.Errorf("%d links, want %d", links, want)
	}
}

func TestTokenizer(t *testing.T) {
	const page = "<!DOCTYPE html PUBLIC 'p'><p Class=a class=b>x&amp;<!--c\r\n--></P ><svg/>\x00"
	z := html.NewTokenizer([]byte(page))
	var got []string
	for kind := z.Next(); kind != html.EndToken; kind = z.Next() {
		s := fmt.Sprintf("%s %q %s %q", kind, z.Name(), z.Atom(), z.Text())
		for name, value := range z.Attrs() {
			s += fmt.Sprintf(" %s=%s", name, value)
		}
		if d, force := z.Doctype(); kind == html.DoctypeToken {
			s += fmt.Sprint(d, force)
		}
		got = append(got, fmt.Sprint(s, " ", z.SelfClosing(), " ", z.Pos(), " ", len(z.Raw())))
	}
	want := []string{
		`doctype "html"  ""{html p  true false} false false 0 26`,
		`start tag "p" p "" class=a false 26 19`,
		`text ""  "x&" false 45 6`,
		`comment ""  "c\n" false 51 10`,
		`end tag "p" p "" false 61 5`,
		`start tag "svg" svg "" true 66 6`,
		`text ""  "\x00" true 72 1`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if z.Next() != html.EndToken || z.Pos() != len(page) || z.Name() != nil || z.Text() != nil || len(z.Raw()) != 0 {
		t.Error("there is something after the end")
	}
	z.Reset([]byte("<svg><![CDATA[a]]><style><b>"))
	z.AllowCDATA(true)
	got = nil
	for kind := z.Next(); kind != html.EndToken; kind = z.Next() {
		got = append(got, kind.String())
		z.SetState(html.DataState, "")
	}
	if want := []string{"start tag", "text", "start tag", "start tag"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range z.Attrs() {
		t.Error("the end has attributes")
	}
}

func TestAppendText(t *testing.T) {
	const markup = "a<b>c</b>&lt;<!--d--><script>e</script><style>f</style><title>&amp;</title><![CDATA[g]]>h\x00\r\n"
	if got, want := string(html.AppendText([]byte(">"), []byte(markup))), ">ac<&h\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
