package html_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tegenaria/tegenaria/html"
)

// TestEntities decodes each entity of the standard, in text and in the value of an attribute.
func TestEntities(t *testing.T) {
	data, err := os.ReadFile("testdata/entities.txt")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for line := range strings.Lines(string(data)) {
		count++
		fields := strings.Fields(line)
		want := ""
		for _, hex := range fields[1:] {
			r, err := strconv.ParseUint(hex, 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			want += string(rune(r))
		}
		d := parseFragment(t, "<p a='-&"+fields[0]+"-'>-&"+fields[0]+"-")
		p := d.Root().FirstChild()
		if got := p.Text(); got != "-"+want+"-" {
			t.Errorf("&%s in text: got %q, want %q", fields[0], got, want)
		}
		if got := p.Attr("a"); got != "-"+want+"-" {
			t.Errorf("&%s in a value: got %q, want %q", fields[0], got, want)
		}
	}
	if count != 2231 {
		t.Errorf("%d entities", count)
	}
}

// TestStaticAtoms looks up each name that all documents know, as a name of a tag in either case.
func TestStaticAtoms(t *testing.T) {
	count := 0
	for a := html.Atom(1); a.String() != ""; a++ {
		count++
		name := a.String()
		if got := html.LookupAtom(name); got != a {
			t.Errorf("%s is %d, found as %d", name, a, got)
		}
		if strings.ToLower(name) != name {
			continue // the parser makes these of others
		}
		for _, tag := range []string{name, strings.ToUpper(name)} {
			tags := html.NewTags([]byte("<" + tag + " " + tag + "='1'>"))
			if !tags.Next() || tags.Atom() != a {
				t.Errorf("<%s> is %d, not %d", tag, tags.Atom(), a)
			}
			if _, ok := tags.Attr(a); !ok {
				t.Errorf("the attribute %s is not found", tag)
			}
		}
	}
	if count < 580 {
		t.Errorf("%d names", count)
	}
}

// TestForeignNames has the names whose letters the parser changes in SVG and MathML.
func TestForeignNames(t *testing.T) {
	for a := html.Atom(1); a.String() != ""; a++ {
		name := a.String()
		lower := strings.ToLower(name)
		if lower == name || name == "pubDate" {
			continue
		}
		space := "svg"
		if name == "definitionURL" {
			space = "math"
		}
		d := parseFragment(t, "<"+space+" "+lower+"=1><"+lower+">")
		root := d.Root().FirstChild()
		element, attribute := root.FirstChild().Name(), root.FirstAttr().Name()
		if element != name && attribute != name || element != name && element != lower || attribute != name && attribute != lower {
			t.Errorf("%s: the element is %s, the attribute %s", name, element, attribute)
		}
	}
}

// TestConcurrentReaders is for the race detector.
func TestConcurrentReaders(t *testing.T) {
	d := parse(t, string(page(20<<10)))
	want := d.Root().CollapsedText()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			if got := d.Root().CollapsedText(); got != want {
				t.Error("another text")
			}
			for n := range d.Root().Descendants() {
				for a := range n.Attrs() {
					if a.Value() != n.Attr(a.Name()) {
						t.Errorf("%s: another value", a.Name())
					}
				}
			}
			if len(d.Root().HTML()) == 0 {
				t.Error("no markup")
			}
		})
	}
	wait.Wait()
}
