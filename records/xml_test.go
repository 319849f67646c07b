package records_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/records"
	"github.com/tegenaria/tegenaria/selector"
)

// elements is read for XML, as text.
func elements(f records.Format[*selector.Selection], body string) string {
	all, errs := read(f, body)
	var b strings.Builder
	for _, s := range all {
		fmt.Fprintf(&b, "%s\n", s.HTML())
	}
	for _, err := range errs {
		b.WriteString(strings.TrimPrefix(err.Error(), "records: https://user:xxxxx@a.test/data: ") + "\n")
	}
	return b.String()
}

func TestXML(t *testing.T) {
	for _, tt := range []struct{ name, element, body, want string }{
		{"elements", "p", "<r><p>1</p>x<p a='2'/><q><p>3</p></q></r>", "<p>1</p>\n<p a=\"2\"/>\n<p>3</p>\n"},
		{"in each other", "p", "<r><p>1<p>2</p>3</p><p>4</p></r>", "<p>1<p>2</p>3</p>\n<p>4</p>\n"},
		{"the root", "r", "<?xml version='1.0'?><r>1</r>", "<r>1</r>\n"},
		{"any prefix", "p", `<r xmlns:g="u:g"><g:p>1</g:p></r>`, "<g:p>1</g:p>\n"},
		{"a prefix", "g:p", `<r xmlns:g="u:g"><p>0</p><g:p>1</g:p></r>`, "<g:p>1</g:p>\n"},
		{"what is no markup", "p", "<r><!-- <p>0</p> --><p><![CDATA[</p>]]><!-- </p> -->1</p><x a='<p>'/></r>", "<p>&lt;/p&gt;<!-- </p> -->1</p>\n"},
		{"another case", "p", "<r><P>1</P></r>", ""},
		{"missing end tags", "p", "<r><p><b>1</p><p>2</p></r>", "<p><b>1</b></p>\n<p>2</p>\n"},
		{"end tags too many", "p", "<r></b></q><p>1</x></p></r>", "<p>1</p>\n"},
		{"breaks off in one", "p", "<r><p>1</p><p>2", "<p>1</p>\nline 1, byte 15: the document breaks off in the element p that begins in line 1\n"},
		{"breaks off", "p", "<r>\n<p>1</p>\n", "<p>1</p>\nline 3, byte 13: the document breaks off\n"},
		{"entities", "p", `<!DOCTYPE r [<!ENTITY a "b">]><r><p>&a;</p></r>`, "line 1, byte 28: the document type declares entities\n"},
		{"bytes", "p", "<r>\n<p>\xff</p><p>2</p></r>", "<p>2</p>\nrecord 1, line 2, byte 4: it is not valid UTF-8: its encoding is not the declared one, or not declared\n"},
		{"an encoding", "p", "<?xml version='1.0' encoding='iso-8859-1'?><r><p>\xe9</p></r>", "<p>é</p>\n"},
		{"no element", "p", "text", "line 1, byte 4: the document has no elements\n"},
		{"nothing", "p", "", "line 1, byte 0: the document has no elements\n"},
		{"deep around", "p", strings.Repeat("<r>", 1001), "line 1, byte 3003: more than 1000 levels\n"},
		{"large ones", "p", "<r><p>" + strings.Repeat("x", 2000) + "</p><p>2</p></r>", "<p>2</p>\nrecord 1, line 1, byte 3: more than 1000 bytes in a record\n"},
		{"no name", "", "<r/>", "records: XML: the name of the elements is empty; name those that are records\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := elements(records.XML(tt.element, records.MaxRecord(1000)), tt.body); got != tt.want {
				t.Errorf("got\n%swant\n%s", got, tt.want)
			}
		})
	}
}

// An element knows the namespaces around it, and URLs in it are resolved.
func TestXMLQueries(t *testing.T) {
	all, errs := read(records.XML("item"), `<r xmlns:g="u:g"><item><g:id>7</g:id><a href="/x"/></item></r>`)
	if len(all) != 1 || len(errs) > 0 {
		t.Fatal(all, errs)
	}
	item := all[0]
	if got := item.XPath("g:id/text()").Get(); got != "7" {
		t.Errorf("g:id is %q", got)
	}
	if got := item.CSS("a::attr(href)").URL(); got != "https://user:secret@a.test/x" {
		t.Errorf("the URL is %q", got)
	}
	if got := item.CSS("id").Text(); got != "7" || len(item.XPath("..").Nodes()) != 1 {
		t.Errorf("id is %q", got)
	}
}

func TestOptions(t *testing.T) {
	for _, err := range records.XML("p", nil).Read(strings.NewReader("<p/>"), page) {
		if err == nil || !strings.Contains(err.Error(), "option 1 is nil") {
			t.Errorf("error %v", err)
		}
	}
	_, errs := read(records.XML("p", records.MaxBytes(10)), "<r><p/><p/><p/></r>")
	var limit *records.LimitError
	var named *records.Error
	if len(errs) != 1 || !errors.As(errs[0], &limit) || limit.Limit != 10 || !errors.As(errs[0], &named) || !named.Last() {
		t.Errorf("errors %v", errs)
	}
	var none records.Format[records.Row]
	for range none.Read(strings.NewReader("a"), page) {
		t.Error("the zero Format has a record")
	}
	for _, err := range records.CSV(records.Dialect{}).Read(iotest.ErrReader(io.ErrClosedPipe), page) {
		if !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "a.test") {
			t.Errorf("error %v", err)
		}
	}
	_, errs = read(records.JSON(""), "\x1f\x8bnot gzip")
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "broken gzip") {
		t.Errorf("errors %v", errs)
	}
}

// In well-formed documents the elements are those that encoding/xml finds, with the same text.
func FuzzXML(f *testing.F) {
	for _, s := range []string{"<r><p>1</p></r>", "<r><p><p>1</p>2</p><p/></r>", "<r><!-- <p> --><p a='>'>&lt;<![CDATA[</p>]]></p></r>", "<p/>", "<r><p>", "<r xmlns:g='u'><g:p>x</g:p></r>"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		deep.Growth(t, deep.Stretched([]byte(body)), readAll(records.XML("p")))
		var got []string
		var failed error
		for s, err := range records.XML("p").Read(iotest.OneByteReader(strings.NewReader(body)), page) {
			if err != nil {
				failed = err
				continue
			}
			got = append(got, s.XPath("string()").Get())
		}
		want, err := textsOf(body)
		if err != nil || encoded(body) || strings.ContainsAny(body, "\r:?") {
			return // not well-formed, or what encoding/xml reads in its own way
		}
		if failed != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: got %q and the error %v, want %q", body, got, failed, want)
		}
	})
}

// textsOf returns the texts of the outermost elements p, as encoding/xml reads them.
func textsOf(body string) (texts []string, err error) {
	d := xml.NewDecoder(strings.NewReader(body))
	level, text, roots, open := 0, "", 0, 0
	for {
		token, err := d.Token()
		if err == io.EOF && roots == 1 {
			return texts, nil
		}
		if err != nil {
			return nil, err
		}
		switch v := token.(type) {
		case xml.StartElement:
			if open++; open == 1 {
				roots++
			}
			if v.Name.Local == "p" {
				level++
			}
		case xml.CharData:
			if level > 0 {
				text += string(v)
			}
		case xml.Directive:
			return nil, errors.New("a document type")
		case xml.EndElement:
			open--
			if v.Name.Local == "p" {
				if level--; level == 0 {
					texts, text = append(texts, text), ""
				}
			}
		}
	}
}
