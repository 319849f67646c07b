package html_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// FuzzTokenizer: tokens lie side by side in order, their ranges are in the page, and the tags are
// those that Tags finds where no tree is needed to know them.
func FuzzTokenizer(f *testing.F) {
	for _, s := range []string{
		"<a href='?a=1&amp;b' A=2 x>t&notin;&#0;</a><!--c--!><!doctype html public \"p\" 's'>",
		"<script><!--<script></script>--></script><title>&lt;</title ><textarea>\r\n<plaintext></plaintext>",
		"<svg><![CDATA[x]]><title><b/></title></svg><?p><!x></ y></><a b=c/><a/>",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		before := bytes.Clone(source)
		z := html.NewTokenizer(source)
		end := 0
		for n := 0; ; n++ {
			kind := z.Next()
			if z.Pos() < end {
				t.Fatalf("token %d starts at %d, before the end of the last, %d", n, z.Pos(), end)
			}
			if kind == html.EndToken {
				break
			}
			end = z.Pos() + len(z.Raw())
			if len(z.Raw()) == 0 || n > len(source) {
				t.Fatalf("token %d, a %s, is empty", n, kind)
			}
			z.Text()
			z.Name()
			z.Doctype()
			names := map[string]bool{}
			for name := range z.Attrs() {
				if len(name) == 0 || names[string(name)] {
					t.Fatalf("attribute %q is empty or twice", name)
				}
				names[string(name)] = true
			}
			if a := z.Atom(); a != 0 && a.String() != string(z.Name()) {
				t.Fatalf("atom of %q is that of %q", z.Name(), a)
			}
		}
		tags := html.NewTags(source)
		for end = 0; tags.Next(); end = tags.End() {
			if tags.Pos() < end || tags.End() <= tags.Pos() || source[tags.Pos()] != '<' || source[tags.End()-1] != '>' {
				t.Fatalf("a tag from %d to %d after %d", tags.Pos(), tags.End(), end)
			}
			tags.Attr(html.AtomHref)
			tags.Name()
		}
		html.AppendText(nil, source)
		if !bytes.Equal(source, before) {
			t.Fatal("the page was changed")
		}
	})
}

// FuzzParse: any page has a sound tree, made in a number of steps in proportion to it, equal to that of
// x/net where that follows the standard, the same for a document that is used again. The same holds
// for what it is written as.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"<!doctype html><title>a</title><p class=x>b<b><p>c</b><table>d<tr><td>e</table><ul><li>f<li>g</ul>",
		"<table><a>1<p>2</a>3</p><svg><desc><b></svg><math><mi><i></math><template><td></template><frameset>",
		"<select><option>a<optgroup>b<hr></select><pre>\n\nc</pre><textarea>&lt;</textarea><form><div></form>\x00\r\n",
		"<b><b x><b><b><b><b></b></b></b></b></b><i>", // the first and the third are no active formatting elements in the end
	} {
		f.Add([]byte(s))
	}
	var again html.Document
	f.Fuzz(func(t *testing.T, source []byte) {
		before := bytes.Clone(source)
		d := compare(t, source, &again)
		if !bytes.Equal(source, before) {
			t.Fatal("the page was changed")
		}
		if d == nil {
			return
		}
		d.Root().CollapsedText()
		for n := range d.Root().Descendants() {
			if n.Pos() > len(source) {
				t.Fatalf("%s at %d of %d", n.Kind(), n.Pos(), len(source))
			}
		}
		compare(t, d.Root().AppendHTML(nil), &again)
		body := find(d, html.AtomBody)
		if _, err := html.ParseFragment(source, html.Context{Name: body.FirstChild().Name()}); err != nil {
			isLimit(t, err)
		}
	})
}

func isLimit(t *testing.T, err error) {
	t.Helper()
	var limit *html.LimitError
	if !errors.As(err, &limit) {
		t.Fatal(err)
	}
}

// compare parses a page twice, checks the tree and compares it with x/net's. It returns nil if the
// page makes too many nodes.
func compare(t *testing.T, source []byte, again *html.Document) *html.Document {
	t.Helper()
	d, err := html.Parse(source)
	if err != nil {
		isLimit(t, err)
		return nil
	}
	if err := check(d); err != nil {
		t.Fatalf("%q: %v", source, err)
	}
	if work := html.Work(d); work > 40*(len(source)+d.Len()) {
		t.Fatalf("%d steps for %d bytes and %d nodes", work, len(source), d.Len())
	}
	checkLinkTags(t, d)
	tree := dump(d)
	if err := again.Reset(source); err != nil || dump(again) != tree {
		t.Fatalf("%q: a document that is used again has another tree (%v)", source, err)
	}
	if theirs, why := witnessTree(source, d); why == "" && theirs != tree {
		t.Fatalf("%q\nours\n%stheirs\n%s", source, tree, theirs)
	}
	return d
}
