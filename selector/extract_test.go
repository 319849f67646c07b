package selector_test

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/selector"
)

const shop = `<!DOCTYPE html><html><head><base href="/shop/"><script type="application/ld+json">
{"name": "Tea", "offers": [{"price": 3.50, "stock": true}, {"price": 4}], "tags": ["green", "caf\u00e9", null], "note": null}
</script><script>var data = {"id": 17};</script></head><body>
<p class="price">Price: <b>3.50</b> EUR, was 4.00 EUR</p><p class=sku>SKU &amp;eacute; 12 &lt; 13 &gt; 11 &#169;</p>
<a href="tea?id=1">Tea</a><a href=" /cups ">Cups</a><a>no link</a><a href="">here</a><a href="http://[">bad</a>
<img src="tea.png"><form action="buy"></form><blockquote cite="//cite.test/"></blockquote>
<div data-state='{"page": {"next": "/p/2"}}'>//cdn.test/x.js</div>
</body></html>`

func TestRe(t *testing.T) {
	d := selector.Parse([]byte(shop))
	for _, test := range []struct {
		name string
		in   *selector.Selection
		expr string
		want []string
	}{
		{"matches", d.CSS(".price"), `\d+\.\d+`, []string{"3.50", "4.00"}},
		{"a group", d.CSS(".price"), `(\d+)\.\d+`, []string{"3", "4"}},
		{"groups, one after the other", d.CSS(".price"), `(\d+)\.(\d+)`, []string{"3", "50", "4", "00"}},
		{"a group that takes no part", d.CSS(".price"), `(x)?was (\d)`, []string{"", "4"}},
		{"extract", d.CSS(".price"), `(\d+)\.(?P<extract>\d+)`, []string{"50"}},
		{"extract without match", d.CSS(".price"), `(?P<extract>z)`, nil},
		{"markup", d.CSS(".price"), `<b>(.*)</b>`, []string{"3.50"}},
		{"text", d.CSS(".price::text"), `was (.*)`, []string{"4.00 EUR"}},
		{"references in markup", d.CSS(".sku"), `SKU.*©`, []string{"SKU &amp;eacute; 12 &lt; 13 > 11 ©"}},
		{"references in text", d.CSS(".sku::text"), `SKU \S+`, []string{"SKU é"}},
		{"several results", d.CSS("a"), `>(\w+)</a>`, []string{"Tea", "Cups", "here", "bad"}},
		{"numbers", d.XPath("count(//a)"), `\d`, []string{"5"}},
		{"nothing", d.CSS("nosuch"), `.`, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkStrings(t, test.expr, test.in.Re(test.expr), test.want...)
			first := ""
			if len(test.want) > 0 {
				first = test.want[0]
			}
			check(t, "ReFirst", test.in.ReFirst(test.expr), first)
		})
	}
}

// Scripts and attributes as sites write them. It fails if a text that can be repaired selects nothing.
func TestJSONRepaired(t *testing.T) {
	const attribute = "<p data-x='{\"a\": \"one\n\ttwo\",}'>"
	for _, test := range []struct{ name, page, path, want string }{
		{"line break in a string", "<script>{\"a\": \"one\ntwo\"}</script>", "a", "one\ntwo"},
		{"tab in a string", "<script>{\"a\": \"one\ttwo\"}</script>", "a", "one\ttwo"},
		{"HTML comment", `<script><!-- {"a": 1} --></script>`, "a", "1"},
		{"CDATA", "<script>//<![CDATA[\n{\"a\": 1}\n//]]></script>", "a", "1"},
		{"CDATA in a comment", "<script>/*<![CDATA[*/{\"a\": 1}/*]]>*/</script>", "a", "1"},
		{"comment of JavaScript", "<script>{\"a\": 1 // one\n}</script>", "a", "1"},
		{"semicolon behind", `<script>{"a": 1};</script>`, "a", "1"},
		{"comma behind", `<script>{"a": 1},</script>`, "a", "1"},
		{"comma before a bracket", `<script>{"a": [1, 2,],}</script>`, "a.1", "2"},
		{"byte order mark", "<script>\uFEFF{\"a\": 1}</script>", "a", "1"},
		{"several objects", `<script>{"b": 1}{"a": 2}</script>`, "a", "2"},
		{"key with @", `<script>{"@type": "P", "@reverse": {"a": 1},}</script>`, "@reverse.a", "1"},
		{"no JSON", `<script>var x = {"a": 1};</script>`, "a", ""},
		{"JSON and more", `<script>{"a": 1}.a</script>`, "a", ""},
		{"words", `<script>1, 2</script>`, "@this", ""},
		{"too deep to be repaired", "<script>" + strings.Repeat("[", 501) + strings.Repeat(",]", 501) + "</script>", "@this", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := selector.Parse([]byte(test.page))
			check(t, "JSON", d.CSS("script").JSON(test.path).Get(), test.want)
			fields, err := selector.NewFields("f", []selector.DataField{
				{Name: "v", Words: selector.Words{"css": "script", "path": test.path}, Type: reflect.TypeFor[string]()},
			})
			if err != nil {
				t.Fatal(err)
			}
			item, err := fields.Get(d)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := item["v"].(string)
			check(t, "a field", got, test.want)
		})
	}
	check(t, "attribute", selector.Parse([]byte(attribute)).CSS("p::attr(data-x)").JSON("a").Get(), "one\n\ttwo")
}

func TestJSON(t *testing.T) {
	d := selector.Parse([]byte(shop))
	data := d.CSS("script[type*=json]")
	checkResults(t, []results{
		{"string", data.JSON("name"), []string{"Tea"}},
		{"brackets", selector.Parse([]byte("<p>" + strings.Repeat("[", 8_000_000))).CSS("p").JSON("0"), nil},
		{"too many levels", selector.Parse([]byte("<p>" + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001))).CSS("p").JSON("0"), nil},
		{"not too many", selector.Parse([]byte("<p>" + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000))).CSS("p").JSON("0.0.#"), []string{"1"}},
		{"number as written", data.JSON("offers.0.price"), []string{"3.50"}},
		{"truth value", data.JSON("offers.0.stock"), []string{"true"}},
		{"each of an array", data.JSON("offers.#.price"), []string{"3.50", "4"}},
		{"values of an array", data.JSON("tags"), []string{"green", "café"}},
		{"object", data.JSON("offers.1"), []string{`{"price": 4}`}},
		{"null", data.JSON("note"), nil},
		{"absent", data.JSON("nosuch"), nil},
		{"nested", data.JSON("offers").JSON("price"), []string{"3.50", "4"}},
		{"no JSON", d.CSS("script:not([type])").JSON("id"), nil},
		{"of text that was cut out", d.CSS("script:not([type])"), []string{`<script>var data = {"id": 17};</script>`}},
		{"attribute", d.CSS("div::attr(data-state)").JSON("page.next"), []string{"/p/2"}},
		{"several results", d.CSS("script").JSON("name"), []string{"Tea"}},
		{"nothing", d.CSS("nosuch").JSON("name"), nil},
	})
}

func TestURLs(t *testing.T) {
	d := selector.Parse([]byte(shop), selector.URL("https://a.test/x/y"))
	for _, test := range []struct {
		name string
		got  *selector.Selection
		want []string
	}{
		{"links", d.CSS("a"), []string{"https://a.test/shop/tea?id=1", "https://a.test/cups"}},
		{"source", d.CSS("img"), []string{"https://a.test/shop/tea.png"}},
		{"action and cite", d.CSS("form, blockquote"), []string{"https://a.test/shop/buy", "https://cite.test/"}},
		{"attributes", d.CSS("a::attr(href)"), []string{"https://a.test/shop/tea?id=1", "https://a.test/cups"}},
		{"text", d.CSS("div::text"), []string{"https://cdn.test/x.js"}},
		{"computed", d.CSS("div::attr(data-state)").JSON("page.next"), []string{"https://a.test/p/2"}},
		{"base", d.CSS("base"), []string{"https://a.test/shop/"}},
		{"none", d.CSS("p"), nil},
		{"nothing", d.CSS("nosuch"), nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			checkStrings(t, "URLs", test.got.URLs(), test.want...)
			first := ""
			if len(test.want) > 0 {
				first = test.want[0]
			}
			check(t, "URL", test.got.URL(), first)
		})
	}
	own := selector.Parse([]byte(shop), selector.Resolver(func(ref string) (string, error) {
		if ref == "" {
			return "", errors.New("no reference")
		}
		return "x:" + ref, nil
	}))
	check(t, "URL by a resolver", own.CSS("img").URL(), "x:tea.png")
	if got := selector.Parse([]byte(shop)).CSS("a").URLs(); got != nil {
		t.Errorf("URLs of a page without URL: %q", got)
	}
}

// Pictures that scripts load later, and lists of candidates. It fails if a placeholder is taken for the address.
func TestURLsOfPictures(t *testing.T) {
	const page = `<base href="https://a.test/"><img id=p src="data:image/gif;base64,R0" data-src=1.jpg><img id=q data-lazy-srcset="2.jpg 1x, 3.jpg 2x">
<picture><source srcset="4.webp 1w, 5.webp 2w"></picture><img id=r src=6.jpg data-src=x.jpg><video poster=7.jpg></video>`
	d := selector.Parse([]byte(page), selector.URL("https://a.test/p/"))
	checkStrings(t, "elements", d.CSS("img, source, video").URLs(), "https://a.test/1.jpg", "https://a.test/2.jpg", "https://a.test/4.webp", "https://a.test/6.jpg", "https://a.test/7.jpg")
	checkStrings(t, "an attribute src", d.CSS("img::attr(src)").URLs(), "https://a.test/1.jpg", "https://a.test/6.jpg")
	checkStrings(t, "srcset", d.CSS("::attr(srcset)").URLs(), "https://a.test/4.webp", "https://a.test/5.webp")
	checkStrings(t, "another srcset", d.XPath("//@data-lazy-srcset").URLs(), "https://a.test/2.jpg", "https://a.test/3.jpg")
	check(t, "first of a srcset", d.CSS("source::attr(srcset)").URL(), "https://a.test/4.webp")
	checkStrings(t, "as written", d.CSS("source::attr(srcset)").GetAll(), "4.webp 1w, 5.webp 2w")

	var item struct {
		Picture string   `css:"#p" attr:"src" conv:"url"`
		Address *url.URL `css:"#p::attr(src)"`
		First   string   `css:"source" attr:"srcset" conv:"url"`
		All     []string `css:"source" attr:"srcset" conv:"url"`
		Text    string   `css:"#p" attr:"src"`
	}
	if err := d.Unmarshal(&item); err != nil {
		t.Fatal(err)
	}
	check(t, "field", item.Picture, "https://a.test/1.jpg")
	check(t, "field of a URL", item.Address.String(), "https://a.test/1.jpg")
	check(t, "field of a srcset", item.First, "https://a.test/4.webp")
	checkStrings(t, "list of a srcset", item.All, "https://a.test/4.webp", "https://a.test/5.webp")
	check(t, "text of an attribute", item.Text, "data:image/gif;base64,R0")
}
