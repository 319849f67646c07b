package selector_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/html/xpath"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/selector"
)

// caught returns the error that f panics with.
func caught(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

// deepTexts has the text of each div, in ways that each read it anew.
type deepTexts struct {
	Texts []string `css:"div"`
}

type deepMatches struct {
	Texts []string `css:"div" re:"nothing"`
}

type deepMarkup struct {
	Texts []string `css:"div" html:"true" re:"nothing"`
}

type deepJSON struct {
	Texts []string `css:"div" path:"a"`
}

// What is read in each of many elements that contain each other, or beside each of many siblings, ends with an error that names the
// limit.
func TestWorkError(t *testing.T) {
	nested := strings.Repeat("<div>", 20_000)
	blank := strings.Repeat("<div>", 1_000) + strings.Repeat(" ", 1<<20)
	wide := "<main>" + strings.Repeat("<div></div>", 20_000)
	for name, test := range map[string]struct {
		page string
		read func(d *selector.Document)
	}{
		"texts":             {nested, func(d *selector.Document) { d.CSS("div").Texts() }},
		"text":              {nested, func(d *selector.Document) { d.CSS("div").Text() }},
		"JSON":              {nested, func(d *selector.Document) { d.CSS("div").JSON("a") }},
		"white space":       {blank, func(d *selector.Document) { d.CSS("div").Texts() }},
		"siblings of each":  {wide, func(d *selector.Document) { d.CSS("div").XPath("following-sibling::p") }},
		"ancestors of each": {nested, func(d *selector.Document) { d.CSS("div").XPath("ancestor::p") }},
		"Unmarshal":         {nested, func(d *selector.Document) { must(d.Unmarshal(new(deepTexts))) }},
		"expression":        {nested, func(d *selector.Document) { must(d.Unmarshal(new(deepMatches))) }},
		"markup":            {nested, func(d *selector.Document) { must(d.Unmarshal(new(deepMarkup))) }},
		"path":              {nested, func(d *selector.Document) { must(d.Unmarshal(new(deepJSON))) }},
		"blank struct":      {blank, func(d *selector.Document) { must(d.Unmarshal(new(deepTexts))) }},
	} {
		t.Run(name, func(t *testing.T) {
			doc := selector.Parse([]byte(test.page))
			err := caught(func() { test.read(doc) })
			var work *selector.WorkError
			var steps *xpath.WorkError
			switch {
			case errors.As(err, &work) && strings.Contains(err.Error(), fmt.Sprint(work.Limit)):
			case errors.As(err, &steps) && strings.Contains(err.Error(), fmt.Sprint(steps.Limit)):
			default:
				t.Errorf("the error is %v", err)
			}
			if n := len(doc.CSS("div").First().Texts()); n != 1 {
				t.Errorf("then %d texts", n)
			}
		})
	}
}

// All items of a loop share one limit, which ends the loop.
func TestWorkErrorOfEach(t *testing.T) {
	doc := selector.Parse([]byte(strings.Repeat("<div>", 20_000) + strings.Repeat("<p></p>", 5_000)))
	last, after := error(nil), 0
	for _, err := range selector.Each[struct {
		Image string `css:"img" attr:"src"`
	}](doc, "div") {
		if last != nil {
			after++
		}
		last = err
	}
	var work *selector.WorkError
	if !errors.As(last, &work) || after > 0 || !strings.Contains(last.Error(), fmt.Sprint(work.Limit)) {
		t.Errorf("the last error is %v; %d more items came", last, after)
	}
}

// A page with thousands of items is read whole, also by absolute expressions and by those that leave the item.
func TestEachOfManyItems(t *testing.T) {
	const items = 5_000
	item := `<li class="item"><h2><a href="/x">name</a></h2><p class="price">1</p><img src="i.png"></li>`
	doc := selector.Parse([]byte("<h1>list</h1><ul>" + strings.Repeat(item, items) + "</ul>"))
	n := 0
	for v, err := range selector.Each[struct {
		Name  string `css:"h2 a"`
		Price int    `css:".price"`
		Path  string `xpath:"//h2/a"`
		Text  string `xpath:"string(//h2)"`
		Title string `xpath:"ancestor::html//h1"`
		Image string `css:"img" attr:"src"`
	}](doc, "li.item") {
		if n++; err != nil || v.Name != "name" || v.Price != 1 || v.Path != "name" || v.Text != "name" || v.Title != "list" || v.Image != "i.png" {
			t.Fatalf("item %d: %+v, %v", n, v, err)
		}
	}
	if n != items {
		t.Errorf("%d items", n)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// Elements that contain each other as deep as pages of people have them are read whole.
func TestDeepTexts(t *testing.T) {
	doc := selector.Parse([]byte(strings.Repeat("<div>a ", 1_000)))
	if texts := doc.CSS("div").Texts(); len(texts) != 1_000 || texts[998] != "a a" {
		t.Errorf("%d texts", len(texts))
	}
	if found := doc.CSS("div").XPath("string(.)"); found.Len() != 1_000 {
		t.Errorf("%d strings", found.Len())
	}
}

// A base element in a template is none, however deep it lies and however many there are.
func TestBasesInATemplate(t *testing.T) {
	doc := selector.Parse([]byte("<body><template>" + strings.Repeat("<div>", 200_000) + strings.Repeat("<base href=x>", 200_000)))
	if base := doc.Base(); base != "" {
		t.Errorf("base is %q", base)
	}
	doc = selector.Parse([]byte("<template><base href=x></template><base><base href=y>"))
	if base := doc.Base(); base != "y" {
		t.Errorf("base is %q", base)
	}
}

// FuzzGrowth fails if a page of twice the size takes far more than twice the time, unless that ends with an error.
func FuzzGrowth(f *testing.F) {
	for _, s := range [][2]string{{"<div>", "x "}, {"<p>", "<b>x</b>"}, {"<a href=x>", "<script>{}</script>"}, {"<div class='a b'>", "<i></i>"}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, part, tail string) {
		deep.Growth(t, deep.Repeated(part, tail), func(page []byte) {
			doc := selector.Parse(page, selector.URL("http://a.test/"))
			for _, read := range []func(){
				func() { doc.CSS("p ~ b, div > i, :has(b), :nth-last-child(2 of .a)") }, func() { doc.Base() },
				func() { doc.CSS("a").Texts() }, func() { doc.CSS("div").GetAll() }, func() { doc.CSS("a").URLs() },
				func() { doc.XPath("//div[.//b]//i") }, func() { _ = doc.Unmarshal(new(hostile)) },
				func() {
					for range selector.Each[hostile](doc, "*") {
						continue
					}
				},
			} {
				if err := caught(read); err != nil && !errors.As(err, new(*selector.SizeError)) && !errors.As(err, new(*selector.WorkError)) && !errors.As(err, new(*xpath.WorkError)) {
					t.Error(err)
				}
			}
		})
	})
}
