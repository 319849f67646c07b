package metadata_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/metadata"
)

// objects returns the items as JSON.
func objects(t *testing.T, items []*metadata.Item) (list []string) {
	t.Helper()
	for _, item := range items {
		b, err := json.Marshal(item)
		if err != nil {
			t.Fatal(err)
		}
		if n := item.Node(); n.String() != string(b) {
			t.Errorf("Node is %s, and JSON is %s", n, b)
		}
		list = append(list, string(b))
	}
	return list
}

type itemTest struct {
	name, page string
	want       []string
	notes      []string
}

func checkItems(t *testing.T, tests []itemTest, of func(*metadata.Page) []*metadata.Item) {
	t.Helper()
	for _, test := range tests {
		p := extract(t, test.page)
		if got := objects(t, of(p)); !reflect.DeepEqual(got, test.want) || !reflect.DeepEqual(notes(p), test.notes) {
			t.Errorf("%s:\n got %q\nwant %q\n got %q\nwant %q", test.name, got, test.want, notes(p), test.notes)
		}
	}
}

func TestMicrodata(t *testing.T) {
	const orphan = "microdata: an item has an itemprop and is in no other item: it is taken for one by itself"
	const cycle = "microdata: an item that is inside of itself, or of too many others, was left out"
	checkItems(t, []itemTest{
		{"values", `<div itemscope itemtype="http://schema.org/Thing http://other.example/T" itemid="urn:x">
<p itemprop="text"> a <b>b</b><br>c<script>no</script></p><meta itemprop=meta content=" m "><meta itemprop=none>
<img itemprop=img src=i.png><img itemprop=img><a itemprop=a href="?q">x</a><a itemprop=bad href="http://[">x</a><link itemprop=link href="//i.example">
<object itemprop=object data=o></object><data itemprop=data value=v>x</data><meter itemprop=meter value=3>x</meter><data itemprop=empty>x</data>
<time itemprop=time datetime="2024-01-02">x</time><time itemprop=time>2024</time><span itemprop=content content=c>x</span><time itemprop=time content=t>x</time></div>`,
			[]string{`{"@type":["Thing","http://other.example/T"],"@id":"urn:x","text":"a b c","meta":" m ","none":"","img":["http://h.example/d/i.png",""],` +
				`"a":"http://h.example/d/p?q","bad":"","link":"http://i.example/","object":"http://h.example/d/o","data":"v","meter":"3","empty":"",` +
				`"time":["2024-01-02","2024","t"],"content":"c"}`}, nil},
		{"nesting", `<div itemscope><div itemprop="a b a" itemscope><i itemprop=x>1</i><div itemscope><i itemprop=y>2</i></div></div><i itemprop=z>3</i></div>`,
			[]string{`{"a":{"x":"1"},"b":{"x":"1"},"z":"3"}`, `{"y":"2"}`}, nil},
		{"no type, no identifier", `<div itemscope itemid=x></div>`, []string{`{}`}, nil},
		{"itemref", `<i id=r itemprop=x>1</i><div itemscope itemref="r q nosuch r"><i itemprop=x>2</i></div><p id=q><i itemprop=y>3</i></p><i id=q itemprop=y>4</i>`,
			[]string{`{"x":["1","2"],"y":"3"}`}, nil},
		{"itemref of an item, twice", `<div itemscope itemref=o></div><div itemscope itemref=o></div><div id=o itemprop=offer itemscope><i itemprop=price>1</i></div>`,
			[]string{`{"offer":{"price":"1"}}`, `{"offer":{"price":"1"}}`}, nil},
		{"itemref of what is inside", `<div itemscope itemref=r><p id=r><i itemprop=x>1</i></p></div>`, []string{`{"x":"1"}`}, nil},
		{"cycle", `<div itemscope itemref=b></div><div id=b itemprop=b itemscope itemref=b><i itemprop=x>1</i></div>`, []string{`{"b":{"x":"1"}}`}, []string{cycle}},
		{"cycle alone", `<div id=a itemprop=a itemscope itemref=b></div><div id=b itemprop=b itemscope itemref=a></div>`, []string{`{"b":{}}`}, []string{orphan, cycle}},
		{"orphan", `<div itemscope><i itemprop=x>1</i></div><div itemprop=y itemscope><i itemprop=z>2</i></div><div itemscope></div>`,
			[]string{`{"x":"1"}`, `{"z":"2"}`, `{}`}, []string{orphan}},
		{"property outside", `<i itemprop=x>1</i>`, nil, nil},
		{"template", `<div itemscope><template><i itemprop=x>1</i><b itemscope></b></template></div><svg itemscope></svg>`, []string{`{}`}, nil},
		{"empty itemprop", `<div itemscope><i itemprop=" ">1</i></div>`, []string{`{}`}, nil},
	}, func(p *metadata.Page) []*metadata.Item { return p.Microdata })
}

func TestItem(t *testing.T) {
	p := extract(t, `<div itemscope itemtype=http://schema.org/Article><div itemprop=name itemscope></div><i itemprop=name>N</i>
<meta itemprop=datePublished content="2024-05-06"><meta itemprop=dateModified content="no date"></div><meta itemprop=dateModified content="2024-06-07">`)
	item := p.Microdata[0]
	if item.Get("name") != "N" || item.Get("x") != "" || item.Types[0] != "http://schema.org/Article" {
		t.Errorf("%+v", item)
	}
	if got := fmt.Sprint(p.Published.Format("0102"), p.Modified.Format("0102")); got != "05060607" {
		t.Errorf("published and modified %s", got)
	}
}

func TestRDFa(t *testing.T) {
	checkItems(t, []itemTest{
		{"values", `<div vocab="http://schema.org/" typeof="Product Thing" resource="#p"><h1 property="name alternateName name"> a  b </h1>
<img property=image src=i.png><a property=url href="?q">x</a><meta property=sku content=" s "><span property=gtin content=g>x</span>
<time property=releaseDate datetime=2024>x</time><b property=sameAs resource=r>x</b><object property=o data=d></object><data property=d data=x>t</data></div>`,
			[]string{`{"@type":["Product","Thing"],"@id":"http://h.example/d/p#p","name":"a b","alternateName":"a b","image":"http://h.example/d/i.png",` +
				`"url":"http://h.example/d/p?q","sku":" s ","gtin":"g","releaseDate":"2024","sameAs":"http://h.example/d/r","o":"http://h.example/d/d","d":"t"}`}, nil},
		{"nesting", `<div vocab="https://schema.org/" typeof=A><div property=b typeof=B><i property=x>1</i><div typeof=C><i property=y>2</i></div></div><i property=z>3</i></div>`,
			[]string{`{"@type":"A","b":{"@type":"B","x":"1"},"z":"3"}`, `{"@type":"C","y":"2"}`}, nil},
		{"prefixes", `<div prefix="s: http://schema.org/ o: http://o.example/ns#" typeof=s:Thing><i property="s:name schema:url o:x p:y z">1</i>
<p prefix="p: http://p.example/" vocab="http://v.example/"><i property="p:y z">2</i></p></div>`,
			[]string{`{"@type":"Thing","name":"1","url":"1","http://o.example/ns#x":"1","p:y":"1","z":"1","http://p.example/y":"2","http://v.example/z":"2"}`}, nil},
		{"of the page", `<meta property=og:title content=x><i property=y>1</i><div property=z typeof=T></div>`, []string{`{"@type":"T"}`}, nil},
		{"template", `<div typeof=A><template><i property=x>1</i></template></div><i property=y>2</i>`, []string{`{"@type":"A"}`}, nil},
	}, func(p *metadata.Page) []*metadata.Item { return p.RDFa })
}

// A picture that a script loads later has its address elsewhere. It fails if the placeholder is taken for it.
func TestPicturesLoadedLater(t *testing.T) {
	const picture = `<img itemprop=image property=image src="data:image/gif,x" data-src=/1.jpg>`
	page := extract(t, `<div itemscope vocab="http://schema.org/" typeof=A>`+picture+`</div>`)
	for name, items := range map[string][]*metadata.Item{"microdata": page.Microdata, "RDFa": page.RDFa} {
		if len(items) != 1 || len(items[0].Properties) != 1 || !strings.HasSuffix(items[0].Properties[0].Text, "/1.jpg") {
			t.Errorf("%s: got %+v", name, items)
		}
	}
}

func TestDates(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"2024-02-03T04:05:06Z", "2024-02-03T04:05:06Z"}, {"2024-02-03T04:05:06.789+02:00", "2024-02-03T04:05:06+02:00"},
		{"2024-02-03T04:05:06+0200", "2024-02-03T04:05:06+02:00"}, {"2024-02-03T04:05+02:00", "2024-02-03T04:05:00+02:00"},
		{"2024-02-03T04:05:06", "2024-02-03T04:05:06Z"}, {" 2024-02-03 04:05:06 ", "2024-02-03T04:05:06Z"}, {"2024-02-03", "2024-02-03T00:00:00Z"},
		{"2024/02/03", "2024-02-03T00:00:00Z"}, {"20240203", "2024-02-03T00:00:00Z"}, {"2024-02", "2024-02-01T00:00:00Z"},
		{"Sat, 03 Feb 2024 04:05:06 GMT", "2024-02-03T04:05:06Z"}, {"Sat, 03 Feb 2024 04:05:06 -0100", "2024-02-03T04:05:06-01:00"},
		{"February 3, 2024", "2024-02-03T00:00:00Z"}, {"3 February 2024", "2024-02-03T00:00:00Z"},
		{"Sat, 03 Feb 2024 04:05:06 EST", "2024-02-03T04:05:06-05:00"}, {"Sat, 03 Feb 2024 04:05:06 -0700 (MST)", "2024-02-03T04:05:06-07:00"},
		{"2024-02-03 04:05:06 UTC", "2024-02-03T04:05:06Z"}, {"3-Feb-2024", "2024-02-03T00:00:00Z"}, {"Sat Feb  3 04:05:06 2024", "2024-02-03T04:05:06Z"},
		{"02/03/2024", ""}, {"yesterday", ""}, {"", ""}, {strings.Repeat("2", 100), ""}, {"2024-13-01", ""}, {"0000-01-01", ""},
	} {
		got := ""
		if p := extract(t, `<meta name=date content="`+test.text+`">`); !p.Published.IsZero() {
			got = p.Published.Format("2006-01-02T15:04:05Z07:00")
		}
		if got != test.want {
			t.Errorf("%q is %q, want %q", test.text, got, test.want)
		}
	}
}
