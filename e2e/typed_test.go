package e2e_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/demosite"
	"github.com/tegenaria/tegenaria/selector"
)

var typedDocs = flag.String("typeddocs", "", "folders of HTML pages, python3.11-doc's and postgresql-doc-15's, with a comma between: TestTypedParsers reads them, too")

// typedParser is a parser that is written twice: by hand, and as tags.
type typedParser struct {
	name string
	// compare parses a page both ways, and returns how many items there are, and what differs first.
	compare func(doc *selector.Document) (items int, difference string)
}

// whole is a parser of one item from the whole page. The hand-written one returns whether there is an item.
func whole[T any](name string, hand func(d *selector.Document) (T, bool)) typedParser {
	return typedParser{name, func(doc *selector.Document) (int, string) {
		want, ok := hand(doc)
		if !ok {
			return 0, ""
		}
		var got T
		if err := doc.Unmarshal(&got); err != nil {
			return 1, err.Error()
		}
		if !reflect.DeepEqual(got, want) {
			return 1, fmt.Sprintf("tags: %+v\nhand: %+v", got, want)
		}
		return 1, ""
	}}
}

// each is a parser of one item from each result of a selector.
func each[T any](name, query string, hand func(s *selector.Selection) T) typedParser {
	return typedParser{name, func(doc *selector.Document) (int, string) {
		var want []T
		for _, s := range doc.CSS(query).All() {
			want = append(want, hand(s))
		}
		var got []T
		for item, err := range selector.Each[T](doc, query) {
			if err != nil {
				return len(want), err.Error()
			}
			got = append(got, item)
		}
		if !reflect.DeepEqual(got, want) {
			return len(want), fmt.Sprintf("tags: %+v\nhand: %+v", got, want)
		}
		return len(want), ""
	}}
}

var digits = regexp.MustCompile(`\d+`)

func number(text string) int {
	n, err := strconv.Atoi(digits.FindString(text))
	if err != nil {
		return 0
	}
	return n
}

func pounds(text string) selector.Money {
	if text == "" {
		return selector.Money{}
	}
	return selector.Money{Amount: strings.TrimPrefix(text, "£"), Currency: "GBP"}
}

func table(s *selector.Selection) map[string]string {
	var m map[string]string
	for _, row := range s.CSS("tr").All() {
		if head, cell := row.CSS("th").First(), row.CSS("td").First(); head.Len() > 0 && cell.Len() > 0 {
			if m == nil {
				m = make(map[string]string)
			}
			m[head.Text()] = cell.Text()
		}
	}
	return m
}

// siteParsers are those of the demo site.
func siteParsers() []typedParser {
	type quote struct {
		Text   string   `css:".text"`
		Author string   `css:".author"`
		About  string   `css:".author + a" attr:"href"`
		Tags   []string `css:"a.tag"`
	}
	type author struct {
		Name  string `css:"h1"`
		Life  string `css:".author-life"`
		Place string `css:".author-born-location"`
		About string `css:".author-description"`
	}
	type years struct {
		Born int `css:".author-life" re:"\\d+"`
		Died int `css:".author-life" re:"\\d+\\D+(?P<extract>\\d+)"`
	}
	type book struct {
		Title  string         `css:"h1"`
		Author string         `css:".author"`
		Year   int            `css:".year"`
		Price  selector.Money `css:".price_color" conv:"money,GBP"`
		Stock  int            `css:"article .availability" re:"\\d+" default:"0"`
		Cover  string         `css:"img.cover" attr:"src" conv:"url"`
		Rating string         `css:".star-rating" attr:"class" re:"star-rating (\\w+)"`
	}
	type information struct {
		Rows map[string]string `css:"table.product_information tr" key:"th" value:"td"`
	}
	type prices struct {
		Net   selector.Money `xpath:"//tr[th='Price (excl. tax)']/td" conv:"money"`
		Gross selector.Money `xpath:"//tr[th='Price (incl. tax)']/td" conv:"money"`
		Tax   selector.Money `xpath:"//tr[th='Tax']/td" conv:"money"`
	}
	type pod struct {
		Title string         `css:"h2 a" attr:"title"`
		Link  *url.URL       `css:"h2 a" attr:"href"`
		Price selector.Money `css:".price_color" conv:"money,GBP"`
		Has   bool           `css:".availability" conv:"bool,in stock,out of stock"`
	}
	type link struct {
		Href string `attr:"href"`
		Text string `css:":scope"`
	}
	type pager struct {
		Previous *string `css:".pager .previous a" attr:"href"`
		Next     *string `css:".pager .next a" attr:"href"`
	}
	type listing struct {
		Title string `css:"title"`
		Books []struct {
			Title string  `css:"a"`
			Price float64 `css:".price_color" re:"[\\d.]+"`
		} `css:"article.product_pod"`
	}
	type head struct {
		Lang    string  `css:"html" attr:"lang"`
		Charset string  `css:"meta[charset]" attr:"charset" conv:"lower"`
		Refresh *string `css:"meta[http-equiv=refresh]" attr:"content" re:"url=(.*)"`
	}
	type form struct {
		Action string            `css:"form" attr:"action" conv:"url"`
		Method string            `css:"form" attr:"method"`
		Hidden map[string]string `css:"input[type=hidden]" key:"::attr(name)" value:"::attr(value)"`
		Names  []string          `css:"input" attr:"name"`
	}
	type tags struct {
		_    struct{} `css:".tags-box"`
		Head string   `css:"h2"`
		Tags []string `css:"li a"`
	}
	type categories struct {
		Names map[string]string `css:".side_categories li" key:"a" value:"a::attr(href)"`
	}
	type markup struct {
		Rating []string `css:"p.star-rating" html:"true"`
	}
	type count struct {
		Links int  `xpath:"count(//a)"`
		Form  bool `css:"form" conv:"exists"`
	}
	pointer := func(s *selector.Selection) *string {
		if s.Len() == 0 {
			return nil
		}
		text := s.First().Get()
		return &text
	}
	return []typedParser{
		each("quotes", "div.quote", func(s *selector.Selection) quote {
			return quote{s.CSS(".text").Text(), s.CSS(".author").Text(), s.CSS(".author + a").Attr("href"), s.CSS("a.tag").Texts()}
		}),
		whole("author", func(d *selector.Document) (author, bool) {
			return author{d.CSS("h1").Text(), d.CSS(".author-life").Text(), d.CSS(".author-born-location").Text(), d.CSS(".author-description").Text()},
				d.CSS(".author-details").Len() > 0
		}),
		whole("years", func(d *selector.Document) (y years, ok bool) {
			all := digits.FindAllString(d.CSS(".author-life").Text(), -1)
			if len(all) < 2 {
				return y, false
			}
			return years{number(all[0]), number(all[1])}, true
		}),
		whole("book", func(d *selector.Document) (book, bool) {
			_, rating, _ := strings.Cut(d.CSS(".star-rating").Attr("class"), " ")
			b := book{d.CSS("h1").Text(), d.CSS(".author").Text(), number(d.CSS(".year").Text()), pounds(d.CSS("p.price_color").Text()),
				number(d.CSS("article p.availability").Text()), d.CSS("img.cover::attr(src)").URL(), rating}
			return b, d.CSS("article.product_page").Len() > 0
		}),
		whole("information", func(d *selector.Document) (information, bool) {
			return information{table(d.CSS("table.product_information"))}, d.CSS("table.product_information").Len() > 0
		}),
		whole("prices", func(d *selector.Document) (prices, bool) {
			rows := table(d.CSS("table.product_information"))
			return prices{pounds(rows["Price (excl. tax)"]), pounds(rows["Price (incl. tax)"]), pounds(rows["Tax"])}, len(rows) > 0
		}),
		each("pods", "article.product_pod", func(s *selector.Selection) pod {
			u, _ := url.Parse("http://demo.test" + s.CSS("h2 a").Attr("href"))
			return pod{s.CSS("h2 a").Attr("title"), u, pounds(s.CSS(".price_color").Text()), s.CSS(".availability").Text() == "In stock"}
		}),
		each("links", "a[href]", func(s *selector.Selection) link { return link{s.Attr("href"), s.Text()} }),
		whole("pager", func(d *selector.Document) (pager, bool) {
			return pager{pointer(d.CSS(".pager .previous a::attr(href)")), pointer(d.CSS(".pager .next a::attr(href)"))}, true
		}),
		whole("listing", func(d *selector.Document) (l listing, ok bool) {
			l.Title = d.CSS("title").Text()
			for _, s := range d.CSS("article.product_pod").All() {
				price, _ := strconv.ParseFloat(strings.TrimPrefix(s.CSS(".price_color").Text(), "£"), 64)
				l.Books = append(l.Books, struct {
					Title string  `css:"a"`
					Price float64 `css:".price_color" re:"[\\d.]+"`
				}{s.CSS("a").Text(), price})
			}
			return l, l.Books != nil
		}),
		whole("head", func(d *selector.Document) (head, bool) {
			h := head{Lang: d.CSS("html").Attr("lang"), Charset: strings.ToLower(d.CSS("meta[charset]").Attr("charset"))}
			if _, target, ok := strings.Cut(d.CSS("meta[http-equiv=refresh]").Attr("content"), "url="); ok {
				h.Refresh = &target
			}
			return h, true
		}),
		whole("form", func(d *selector.Document) (f form, ok bool) {
			if d.CSS("form").Len() == 0 {
				return f, false
			}
			f = form{Action: d.CSS("form::attr(action)").URL(), Method: d.CSS("form").Attr("method"), Names: d.CSS("input").Attrs("name"), Hidden: map[string]string{}}
			for _, in := range d.CSS("input[type=hidden]").All() {
				f.Hidden[in.Attr("name")] = in.Attr("value")
			}
			return f, true
		}),
		whole("tags", func(d *selector.Document) (tags, bool) {
			return tags{Head: d.CSS(".tags-box h2").Text(), Tags: d.CSS(".tags-box li a").Texts()}, true
		}),
		whole("categories", func(d *selector.Document) (c categories, ok bool) {
			for _, a := range d.CSS(".side_categories li a").All() {
				if c.Names == nil {
					c.Names = make(map[string]string)
				}
				c.Names[a.Text()] = a.Attr("href")
			}
			return c, c.Names != nil
		}),
		whole("markup", func(d *selector.Document) (markup, bool) {
			return markup{d.CSS("p.star-rating").GetAll()}, d.CSS("p.star-rating").Len() > 0
		}),
		whole("count", func(d *selector.Document) (count, bool) {
			return count{d.CSS("a").Len(), d.CSS("form").Len() > 0}, true
		}),
	}
}

// pythonParsers are those of Python's documentation.
func pythonParsers() []typedParser {
	type page struct {
		Title   string `css:"title" re:"^(.*?)( — |$)"`
		Heading string `css:"h1" re:"[^¶]+"`
		Version string `css:"title" re:"Python (\\d+\\.\\d+)"`
	}
	type relations struct {
		Next *string `css:"link[rel=next]" attr:"href"`
		Prev *string `css:"link[rel=prev]" attr:"title"`
	}
	type function struct {
		ID   string   `css:"dt" attr:"id"`
		Name string   `css:"dt .sig-name"`
		Args []string `css:"dt .sig-param"`
	}
	type heading struct {
		ID    string `attr:"id"`
		Title string `xpath:"/h1 | /h2 | /h3"`
	}
	type code struct {
		Text string `css:"pre" html:"true"`
	}
	type versions struct {
		Added   []string `css:".versionadded" re:"New in version ([\\d.]+)"`
		Changed []string `css:".versionchanged" re:"Changed in version ([\\d.]+)"`
	}
	type links struct {
		Internal []string `css:"a.reference.internal" attr:"href"`
		External []string `css:"a.reference.external" attr:"href"`
	}
	type row struct {
		Cells []string `css:"td"`
	}
	type tables struct {
		Rows []row `css:"table.docutils tbody tr"`
	}
	type glossary struct {
		ID   string `attr:"id"`
		Term string `css:":scope" re:"^[^¶]*"`
	}
	type admonition struct {
		Kind string `attr:"class" re:"admonition (?P<extract>\\w+)"`
		Head string `css:".admonition-title"`
	}
	type metas struct {
		Names map[string]string `css:"meta[name]" key:"::attr(name)" value:"::attr(content)"`
	}
	type counts struct {
		Functions int      `xpath:"count(//dl[contains(@class,'function')])"`
		First     [2]int64 `css:"h1" default:"7"`
	}
	match := func(re *regexp.Regexp, text string, group int) string {
		if m := re.FindStringSubmatch(text); m != nil {
			return m[group]
		}
		return ""
	}
	short, heads, version := regexp.MustCompile(`^(.*?)( — |$)`), regexp.MustCompile(`[^¶]+`), regexp.MustCompile(`Python (\d+\.\d+)`)
	added, changed := regexp.MustCompile(`New in version ([\d.]+)`), regexp.MustCompile(`Changed in version ([\d.]+)`)
	all := func(re *regexp.Regexp, texts []string) (list []string) {
		for _, text := range texts {
			for _, m := range re.FindAllStringSubmatch(text, -1) {
				list = append(list, m[1])
			}
		}
		return list
	}
	first := func(s *selector.Selection, attr string) *string {
		if s.Len() == 0 {
			return nil
		}
		value := s.Attr(attr)
		return &value
	}
	notEmpty := func(texts []string) (list []string) {
		for _, text := range texts {
			if strings.TrimSpace(text) != "" {
				list = append(list, text)
			}
		}
		return list
	}
	return []typedParser{
		whole("python page", func(d *selector.Document) (page, bool) {
			title := d.CSS("title").First().Text()
			return page{match(short, title, 1), match(heads, d.CSS("h1").First().Text(), 0), match(version, title, 1)}, true
		}),
		whole("python relations", func(d *selector.Document) (relations, bool) {
			return relations{first(d.CSS("link[rel=next]"), "href"), first(d.CSS("link[rel=prev]"), "title")}, true
		}),
		each("python functions", "dl.function", func(s *selector.Selection) function {
			return function{s.CSS("dt").First().Attr("id"), s.CSS("dt .sig-name").First().Text(), s.CSS("dt .sig-param").Texts()}
		}),
		each("python sections", "section", func(s *selector.Selection) heading {
			return heading{s.Attr("id"), s.XPath("h1|h2|h3").First().Text()}
		}),
		each("python code", "div.highlight", func(s *selector.Selection) code { return code{s.CSS("pre").HTML()} }),
		whole("python versions", func(d *selector.Document) (versions, bool) {
			return versions{all(added, d.CSS(".versionadded").Texts()), all(changed, d.CSS(".versionchanged").Texts())}, true
		}),
		whole("python links", func(d *selector.Document) (links, bool) {
			return links{notEmpty(d.CSS("a.reference.internal").Attrs("href")), notEmpty(d.CSS("a.reference.external").Attrs("href"))}, true
		}),
		whole("python tables", func(d *selector.Document) (t tables, ok bool) {
			for _, s := range d.CSS("table.docutils tbody tr").All() {
				t.Rows = append(t.Rows, row{notEmpty(s.CSS("td").Texts())})
			}
			return t, t.Rows != nil
		}),
		each("python glossary", "dl.glossary > dt", func(s *selector.Selection) glossary {
			term, _, _ := strings.Cut(s.Text(), "¶")
			return glossary{s.Attr("id"), term}
		}),
		each("python admonitions", "div.admonition", func(s *selector.Selection) admonition {
			kind := ""
			if fields := strings.Fields(s.Attr("class")); len(fields) > 1 && fields[0] == "admonition" {
				kind = regexp.MustCompile(`^\w+`).FindString(fields[1])
			}
			return admonition{kind, s.CSS(".admonition-title").First().Text()}
		}),
		whole("python metas", func(d *selector.Document) (m metas, ok bool) {
			for _, s := range d.CSS("meta[name]").All() {
				if m.Names == nil {
					m.Names = make(map[string]string)
				}
				if s.CSS("::attr(content)").Get() != "" {
					m.Names[s.Attr("name")] = s.Attr("content")
				}
			}
			return m, m.Names != nil
		}),
		whole("python counts", func(d *selector.Document) (counts, bool) {
			return counts{d.CSS("dl[class*=function]").Len(), [2]int64{7, 0}}, d.CSS("h1").Len() == 0
		}),
	}
}

// postgresParsers are those of PostgreSQL's documentation.
func postgresParsers() []typedParser {
	type ways struct {
		Prev *url.URL `css:"link[rel=prev]" attr:"href"`
		Next *url.URL `css:"link[rel=next]" attr:"href"`
	}
	type command struct {
		Name     string `css:".refnamediv .refentrytitle"`
		Purpose  string `css:".refnamediv p" re:"— (.*)"`
		Synopsis string `css:"pre.synopsis"`
	}
	type grid struct {
		Summary string   `attr:"summary" conv:"lower"`
		Heads   []string `css:"thead th"`
		Border  int      `attr:"border" default:"-1"`
	}
	type navigation struct {
		_    struct{} `css:".navheader"`
		Head string   `css:"th"`
		Up   string   `xpath:"//a[@accesskey='u']" `
		Home struct {
			Title string `css:"a[accesskey=h]" attr:"title"`
			Minor int    `css:"a[accesskey=h]" attr:"title" re:"PostgreSQL \\d+\\.(\\d+)"`
		}
	}
	type literal struct {
		Words []string `css:"code.literal" conv:"lower"`
	}
	type program struct {
		Text []byte `css:":scope"`
	}
	texts := func(s *selector.Selection) (list []string) {
		for _, text := range s.Texts() {
			if text != "" {
				list = append(list, text)
			}
		}
		return list
	}
	at := func(href string) *url.URL {
		if href == "" {
			return nil
		}
		u, _ := url.Parse("http://demo.test/" + href)
		return u
	}
	return []typedParser{
		whole("postgres ways", func(d *selector.Document) (ways, bool) {
			return ways{at(d.CSS("link[rel=prev]").Attr("href")), at(d.CSS("link[rel=next]").Attr("href"))}, true
		}),
		whole("postgres commands", func(d *selector.Document) (command, bool) {
			_, purpose, _ := strings.Cut(d.CSS(".refnamediv p").First().Text(), "— ")
			return command{d.CSS(".refnamediv .refentrytitle").First().Text(), purpose, d.CSS("pre.synopsis").First().Text()}, d.CSS(".refentry").Len() > 0
		}),
		each("postgres tables", "table.table", func(s *selector.Selection) grid {
			border, err := strconv.Atoi(s.Attr("border"))
			if err != nil {
				border = -1
			}
			return grid{strings.ToLower(s.Attr("summary")), texts(s.CSS("thead th")), border}
		}),
		whole("postgres navigation", func(d *selector.Document) (n navigation, ok bool) {
			header := d.CSS(".navheader").First()
			n.Head, n.Up = header.CSS("th").First().Text(), header.CSS("a[accesskey=u]").First().Text()
			n.Home.Title = header.CSS("a[accesskey=h]").Attr("title")
			if _, minor, ok := strings.Cut(n.Home.Title, "."); ok {
				n.Home.Minor = number(minor)
			}
			return n, header.Len() > 0
		}),
		whole("postgres literals", func(d *selector.Document) (l literal, ok bool) {
			for _, text := range texts(d.CSS("code.literal")) {
				l.Words = append(l.Words, strings.ToLower(text))
			}
			return l, true
		}),
		each("postgres programs", "pre.programlisting", func(s *selector.Selection) (p program) {
			if text := s.Text(); text != "" {
				p.Text = []byte(text)
			}
			return p
		}),
	}
}

// The same parsers, written by hand and as tags, find the same on all pages of the demo site, and of the documentation
// of Python and of PostgreSQL if these are there. It fails, too, if a parser has found nothing at all, since then it
// has compared nothing.
func TestTypedParsers(t *testing.T) {
	found := make(map[string]int)
	compare := func(parsers []typedParser, name string, doc *selector.Document) {
		for _, p := range parsers {
			items, difference := p.compare(doc)
			if found[p.name] += items; difference != "" {
				t.Errorf("%s on %s:\n%.3000s", p.name, name, difference)
			}
		}
	}
	check := func(parsers []typedParser) {
		t.Helper()
		for _, p := range parsers {
			if t.Logf("%s: %d items", p.name, found[p.name]); found[p.name] == 0 {
				t.Errorf("%s has found nothing", p.name)
			}
		}
	}
	site := demosite.MustStart()
	defer site.Close()
	parsers := siteParsers()
	seen := map[string]bool{"/login/": true, "/": true}
	for queue := []string{"/", "/login/"}; len(queue) > 0; queue = queue[1:] {
		body := get(t, site.URL()+queue[0])
		doc := selector.Parse(body, selector.URL("http://demo.test"+queue[0]))
		compare(parsers, queue[0], doc)
		for _, href := range doc.CSS("a, link").Attrs("href") {
			if strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "/old/lo") && !strings.HasPrefix(href, "/api/") && !strings.HasPrefix(href, "/covers") && !seen[href] {
				seen[href] = true
				queue = append(queue, href)
			}
		}
	}
	check(parsers)
	t.Run("JSON", func(t *testing.T) { compareAPI(t, get(t, site.URL()+"/api/quotes?page=2")) })
	if *typedDocs == "" {
		return
	}
	folders := strings.Split(*typedDocs, ",")
	for i, parsers := range [][]typedParser{pythonParsers(), postgresParsers()}[:len(folders)] {
		err := filepath.WalkDir(folders[i], func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".html") {
				return err
			}
			body, err := os.ReadFile(path)
			if err == nil {
				compare(parsers, path, selector.Parse(body, selector.URL("http://demo.test/"+filepath.Base(path))))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		check(parsers)
	}
}

// compareAPI compares typed quotes of a JSON answer with those that encoding/json decodes.
func compareAPI(t *testing.T, body []byte) {
	var want struct {
		Page   int `json:"page"`
		Quotes []struct {
			Text   string   `json:"text"`
			Tags   []string `json:"tags"`
			Author struct {
				Name string `json:"name"`
			} `json:"author"`
		} `json:"quotes"`
	}
	if err := json.Unmarshal(body, &want); err != nil || len(want.Quotes) == 0 {
		t.Fatalf("%s, %v", body, err)
	}
	type quote struct {
		Text   string   `path:"text"`
		Tags   []string `path:"tags"`
		Author string   `path:"author.name"`
	}
	var got struct {
		Page   int     `path:"page"`
		Quotes []quote `path:"quotes"`
	}
	if err := selector.Parse(body, selector.JSON()).Unmarshal(&got); err != nil {
		t.Fatal(err)
	}
	if got.Page != want.Page || len(got.Quotes) != len(want.Quotes) {
		t.Fatalf("got %+v, want %+v", got, want)
	}
	for i, w := range want.Quotes {
		if g := got.Quotes[i]; g.Text != w.Text || g.Author != w.Author.Name || strings.Join(g.Tags, " ") != strings.Join(w.Tags, " ") {
			t.Errorf("got %+v, want %+v", g, w)
		}
	}
}

// get returns the body of a page, whatever its status.
func get(t *testing.T, address string) []byte {
	t.Helper()
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return body
}
