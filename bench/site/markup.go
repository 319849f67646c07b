package site

import (
	"fmt"
	"html"
	"strconv"
	"sync"
)

// The pages of a Plan with Markup are built as those of a shop: a head with metadata, styles and inline scripts, a menu with
// pictures in SVG, a product with entities in its texts, cards, a table, nested lists, reviews. Their links are written in five
// ways, and what stands in a script or a comment is none.

// spellings is how many ways there are to write a link.
const spellings = 5

// appendSpelled appends a reference from a page to another one, in the i-th of the ways that links are written.
func (p Plan) appendSpelled(b []byte, from, to, i int, port string) []byte {
	authority := func(b []byte) []byte { return append(append(append(b, p.Host(to)...), ':'), port...) }
	path := p.Reference(to) // "/" or "/p/1"
	switch i % spellings {
	case 0:
		return append(authority(append(b, "http://"...)), path...)
	case 1:
		return append(authority(append(b, "//"...)), path...)
	case 2: // relative to /p/ or to /
		if to == 0 {
			return append(b, "../"...)
		}
		if from == 0 {
			return append(b, path[1:]...)
		}
		return append(b, path[len("/p/"):]...)
	case 3:
		return append(append(b, "../a/.././."...), path...)
	}
	return append(b, path...)
}

// markupItemOf is the item of a product page that is written with entities.
func markupItemOf(page int) Item {
	it := ItemOf(page)
	it.Title = it.Title + " & " + words(page, 8, 1)
	it.Price = "€ " + it.Price
	it.Description = "“" + it.Description + "” – café, 5 < 6"
	return it
}

// entities writes text as an editor for web pages does.
func entities(b []byte, text string) []byte {
	for _, c := range text {
		switch c {
		case '“':
			b = append(b, "&ldquo;"...)
		case '”':
			b = append(b, "&#8221;"...)
		case '–':
			b = append(b, "&ndash;"...)
		case 'é':
			b = append(b, "&eacute;"...)
		case '€':
			b = append(b, "&#x20AC;"...)
		case '\u00a0':
			b = append(b, "&nbsp;"...)
		default:
			b = append(b, html.EscapeString(string(c))...)
		}
	}
	return b
}

// markup writes one page.
type markup struct {
	Plan
	b    []byte
	page int
	port string
	link int // how many links are written
}

// a writes the next link if there are any left, with what stands in it.
func (m *markup) a(before, class, inside string) {
	if m.link == m.Links {
		return
	}
	target := m.target(m.page, m.link)
	m.b = append(m.b, before...)
	m.b = append(m.b, "<a"...)
	if class != "" && m.link%2 == 0 {
		m.b = fmt.Appendf(m.b, " class=\"%s\"", class)
	}
	m.b = append(m.b, " href=\""...)
	m.b = m.appendSpelled(m.b, m.page, target, int(mix(m.page, 700+m.link)), m.port)
	if mix(m.page, 500+m.link)%10 == 0 {
		m.b = strconv.AppendInt(append(m.b, "#s"...), int64(m.link), 10)
	}
	m.b = append(m.b, '"')
	if class != "" && m.link%2 != 0 {
		m.b = fmt.Appendf(m.b, " class='%s' data-id=%d", class, target)
	}
	if m.link%7 == 6 {
		m.b = append(m.b, " rel=\"nofollow noopener\""...)
	}
	m.b = append(m.b, '>')
	m.b = append(m.b, inside...)
	m.b = appendWords(m.b, target, 7, 2)
	m.link++
}

const markupHead = `<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/site.css"><link rel="icon" href="/icon.svg" type="image/svg+xml">
<style>.card{display:grid;gap:1rem}.card>a:hover{color:#345}@media (max-width:40em){.menu ul{display:none}}</style>
<script>window.app=window.app||{};(function(d,a){a.ready=function(f){d.readyState!=="loading"?f():d.addEventListener("DOMContentLoaded",f)};
a.row=function(t){return "<tr><td><a href='/p/none'>"+t+"<\/a><\/td><\/tr>"}})(document,window.app);</script>
<!-- <a href="/p/none">old menu</a> -->
`

const markupIcon = `<svg width="16" height="16" viewBox="0 0 16 16" aria-hidden="true"><title>go</title><path d="M8 1l7 7-7 7-1-1 5-5H1V7h11L7 2z"/></svg> `

// markupBody is Body for a Plan with Markup.
func (p Plan) markupBody(page int, port string) []byte {
	m := &markup{Plan: p, b: make([]byte, 0, p.Bytes+4000), page: page, port: port}
	m.b = fmt.Appendf(m.b, "<!DOCTYPE html>\n<html lang=en><head><title>Page %d &ndash; shop</title>\n%s", page, markupHead)
	m.b = fmt.Appendf(m.b, `<script type="application/ld+json">{"@context":"https://schema.org","@type":"WebPage","name":"Page %d","url":"http://shop.example/p/%d","breadcrumb":"a > b","potentialAction":{"@type":"SearchAction","target":"http://shop.example/s?q={q}"}}</script>`+"\n", page, page)
	m.b = append(m.b, "</head><body class=\"page wide\"><header><nav class=\"menu\"><ul>\n"...)
	for range 6 {
		m.a("<li class=\"menu-item\">", "menu-link", markupIcon)
		m.b = append(m.b, "</a></li>\n"...)
	}
	m.b = append(m.b, "</ul></nav><ol class=crumbs>"...)
	for range 3 {
		m.a("<li>", "", "")
		m.b = append(m.b, "</a> &rsaquo;\n"...) // the end tag of li is optional
	}
	m.b = append(m.b, "</ol></header>\n<main><div class=\"grid\"><section>\n"...)
	if HasItem(page) {
		m.product()
	}
	for range 8 {
		m.a("<article class=\"card\" itemscope><div class=\"card-media\">", "card-link",
			"<img src=\"/img/1.jpg\" alt=\"A &amp; B\" loading=lazy width=320 height=240><span class=\"card-name\">")
		m.b = append(m.b, "</span></a></div><div class=\"card-body\"><p>In <em>stock</em>,<br>ships <strong>today</strong></p><button type=\"button\" disabled>Buy</button></div></article>\n"...)
	}
	m.b = append(m.b, "</section><aside><table class=\"specs\"><thead><tr><th>Name<th>Value</thead><tbody>\n"...)
	for i := range 7 {
		m.a("<tr><td>", "", "")
		m.b = fmt.Appendf(m.b, "</a></td><td>%d&nbsp;mm &times; %d&nbsp;mm</td></tr>\n", i+3, i*7)
	}
	m.b = append(m.b, "</tbody></table><ul class=tree>"...)
	for m.link < m.Links {
		m.a("<li>", "", "")
		m.b = append(m.b, "</a><ul>"...)
		m.a("<li>", "", "<b>")
		m.b = append(m.b, "</b></a></li></ul></li>\n"...)
	}
	m.b = append(m.b, "</ul></aside></div></main>\n"...)
	m.b = fill(m.b, reviews, page, p.Bytes)
	return append(m.b, "<footer><address>Some Street 1<br>Town</address></footer></body></html>\n"...)
}

func (m *markup) product() {
	it := markupItemOf(m.page)
	m.b = append(m.b, "<div class=\"product\"><h1 class=\"title\">"...)
	m.b = entities(m.b, it.Title)
	m.b = fmt.Appendf(m.b, "</h1>\n<dl><dt>SKU</dt><dd><span class=\"sku\">%s</span></dd><dt>Price</dt><dd><span class=\"price\">", it.SKU)
	m.b = entities(m.b, it.Price)
	m.b = append(m.b, "</span></dd></dl>\n<div class=\"text\"><p class=\"description\">"...)
	m.b = entities(m.b, it.Description)
	m.b = append(m.b, "</p></div><ul class=\"tags\">"...)
	for _, tag := range it.Tags {
		m.b = append(append(append(m.b, "<li>"...), tag...), "</li>"...)
	}
	m.b = append(m.b, "</ul></div>\n"...)
}

// reviews fill the pages with markup as rows fill the others.
var reviews = sync.OnceValues(func() (text []byte, starts []int) {
	for i := range 1024 {
		starts = append(starts, len(text))
		text = fmt.Appendf(text, "<div class=\"review r%d\" id=review-%d data-score=\"%d\"><div class=\"head\"><span class=\"stars\" title=\"%d of 5\"><i></i><i></i><i></i></span> <time datetime=\"2026-01-%02d\">%d&nbsp;Jan</time></div>"+
			"<blockquote><p>%s &mdash; <em>%s</em>, it&#39;s &ldquo;<b>%s</b>&rdquo;!<p>%s<br><small>A &amp; B</small></blockquote><ul><li>%s<li>%s</ul></div>\n",
			i%7, i, i%5, i%5, 1+i%28, 1+i%28, words(i, 600, 8), words(i, 601, 2), words(i, 602, 1), words(i, 603, 6), words(i, 604, 2), words(i, 605, 2))
	}
	return text, append(starts, len(text))
})
