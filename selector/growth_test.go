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
			} {
				if err := caught(read); err != nil && !errors.As(err, new(*selector.SizeError)) && !errors.As(err, new(*selector.WorkError)) && !errors.As(err, new(*xpath.WorkError)) {
					t.Error(err)
				}
			}
		})
	})
}
