package middleware_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
)

// namedPages gives 10,000 pages names that nobody can guess, and finds a page by its name.
type namedPages struct {
	names   []string
	numbers map[string]int
}

func newNamedPages(format func(r *rand.Rand) string) *namedPages {
	r := rand.New(rand.NewPCG(11, 14))
	n := &namedPages{numbers: make(map[string]int)}
	for len(n.names) < 10_000 {
		name := format(r)
		if _, taken := n.numbers[name]; !taken {
			n.numbers[name] = len(n.names)
			n.names = append(n.names, name)
		}
	}
	return n
}

func uuid(r *rand.Rand) string {
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.Uint32()>>16, r.Uint32()>>20, r.Uint32()>>20, r.Uint64()>>16)
}

func sku(r *rand.Rand) string { return fmt.Sprint(10_000_000 + r.IntN(90_000_000)) }

// list writes one of 200 pages that list 50 of the 10,000 each, if the request asks for one.
func (n *namedPages) list(p *trapWriter, format string) bool {
	if p.path != "/" {
		return false
	}
	page := asNumber(p.form["list"])
	p.text("<title>All</title><h1>All, page %d</h1>", page)
	for i := range 50 {
		p.link(format, n.names[page*50+i])
	}
	if page < 199 {
		p.link("/?list=%d", page+1)
	}
	return true
}

// related writes links to four other pages.
func (n *namedPages) related(p *trapWriter, page int, format string) {
	for i := range 4 {
		p.link(format, n.names[(page*7919+i*i*1303+1)%len(n.names)])
	}
}

// Large sites with little text, and with addresses as random as those of a trap: each page is fetched, and nothing is
// cut. The gate crawls a third of these sites, the deep checks all. What tells them from soft 404s is that their pages
// link to the same URLs again, since there is an end to them.
//
// They fail if kind.isWild is always true. The galleries fail if trapPage.picture does nothing.
func TestLargeHonestSites(t *testing.T) {
	uuids, skus := newNamedPages(uuid), newNamedPages(sku)
	name := func(n int) string { return trapWords[n/24%24] + " " + trapWords[n%24] + " " + trapWords[n/576%24] }
	inPath := func(p *trapWriter) string { return p.segment(1) }
	shop := func(articles *namedPages, ref string, article func(p *trapWriter) string) func(p *trapWriter) {
		return func(p *trapWriter) {
			if article(p) == "" && articles.list(p, ref) {
				return
			}
			n := articles.numbers[article(p)]
			p.real(n)
			p.text("<title>Shop</title><h1>%s</h1><p>%d.90 EUR, in stock</p>", name(n), n%97)
			articles.related(p, n, ref)
		}
	}
	for i, site := range []trapSite{
		{"shop with UUIDs", 10_000, 0, shop(uuids, "/p/%s", inPath)},
		{"shop with UUIDs in the query", 10_000, 0, shop(uuids, "/?item=%s", func(p *trapWriter) string { return p.form["item"] })},
		{"shop with sparse numbers", 10_000, 0, shop(skus, "/item/%s", inPath)},
		{"shop without lists", 10_000, 0, func(p *trapWriter) {
			n := skus.numbers[p.segment(1)]
			if p.path == "/" {
				n = 0
			}
			p.real(n)
			p.text("<title>Shop</title><h1>%s</h1><p>Only today</p>", name(n))
			for i := range 3 { // each page is linked to by the one before it in a heap, and by two others
				p.link("/item/%s", skus.names[(n*3+i+1)%len(skus.names)])
			}
		}},
		{"shop whose pages differ by their number alone", 10_000, 0, func(p *trapWriter) {
			if skus.list(p, "/item/%s") {
				return
			}
			n := skus.numbers[p.segment(1)]
			p.real(n)
			p.text("<title>Shop</title><h1>Article %s</h1><p>In stock</p>", p.segment(1))
			skus.related(p, n, "/item/%s")
		}},
		{"gallery of numbers", 10_000, 0, func(p *trapWriter) {
			if skus.list(p, "/photo/%s") {
				return
			}
			n := skus.numbers[p.segment(1)]
			p.real(n)
			p.text(`<title>Photo</title><img alt="" src="/full/%s.jpg?size=2">`, uuids.names[n])
			skus.related(p, n, "/photo/%s")
		}},
		{"gallery of UUIDs", 10_000, 0, func(p *trapWriter) {
			if uuids.list(p, "/photo/%s") {
				return
			}
			n := uuids.numbers[p.segment(1)]
			p.real(n)
			p.text(`<title>Photo</title><img src="/full/%s.jpg">`, uuids.names[n])
			p.link("/photo/%s", uuids.names[(n+1)%10_000])
			p.link("/photo/%s", uuids.names[(n+9_999)%10_000])
		}},
		{"forum of short posts", 10_000, 0, func(p *trapWriter) {
			if p.path == "/" {
				page := asNumber(p.form["list"])
				for i := range 20 {
					p.link("/t/%s.%d/page-1", strings.ReplaceAll(name(page*20+i), " ", "-"), page*20+i)
				}
				if page < 99 {
					p.link("/?list=%d", page+1)
				}
				return
			}
			_, thread, _ := strings.Cut(p.segment(1), ".")
			n, page := asNumber(thread), asNumber(strings.TrimPrefix(p.segment(2), "page-"))
			p.real(n*5 + page - 1)
			p.text("<title>%s</title><p>%s wrote on 3 May 2019, 12:04: Thanks, %s!</p>", name(n), randomWord(), randomWord())
			for other := 1; other <= 5; other++ {
				p.link("/t/%s/page-%d", p.segment(1), other)
			}
		}},
		{"archive of events by day", 4_000, 0, func(p *trapWriter) {
			day := time.Date(2014, 1, 1, 0, 0, 0, 0, time.UTC)
			if p.path == "/" {
				for i := range 132 {
					p.link("/%s/", day.AddDate(0, i, 0).Format("2006/01"))
				}
				return
			}
			if month, err := time.Parse("/2006/01/", p.path); err == nil {
				for at := month; at.Month() == month.Month(); at = at.AddDate(0, 0, 1) {
					if at.Before(day.AddDate(0, 0, 4_000)) {
						p.link("%s", at.Format("/2006/01/02"))
					}
				}
				return
			}
			at, _ := time.Parse("/2006/01/02", p.path)
			n := int(at.Sub(day).Hours() / 24)
			p.real(n)
			p.text("<title>%s</title><h1>%[1]s</h1><p>20:00 Concert: %s</p>", at.Format("2 January 2006"), name(n))
			p.link("%s", day.AddDate(0, 0, max(n-1, 0)).Format("/2006/01/02"))
			p.link("%s", day.AddDate(0, 0, min(n+1, 3_999)).Format("/2006/01/02"))
		}},
		{"reference of an API", 10_000, 0, func(p *trapWriter) {
			if p.path == "/" {
				for i := range 100 {
					p.link("/api/pkg%d/", i)
				}
				return
			}
			pkg := asNumber(strings.TrimPrefix(p.segment(1), "pkg"))
			if p.segment(2) == "" {
				for i := range 100 {
					p.link("/api/pkg%d/%s.html", pkg, strings.ReplaceAll(name(pkg*100+i), " ", ""))
				}
				return
			}
			for i := range 100 {
				if strings.ReplaceAll(name(pkg*100+i), " ", "")+".html" == p.segment(2) {
					p.real(pkg*100 + i)
					p.text("<title>API</title><h1>%s</h1><p>Returns the value.</p>", p.segment(2))
					p.link("/api/pkg%d/%s.html", pkg, strings.ReplaceAll(name(pkg*100+(i+1)%100), " ", ""))
				}
			}
			p.link("/api/pkg%d/", pkg)
		}},
		{"tree of species", 10_000, 0, func(p *trapWriter) {
			n := uuids.numbers[p.segment(1)]
			if p.path == "/" {
				n = 0
			}
			p.real(n)
			p.text("<title>Species</title><h1>%s</h1>", name(n))
			for i := n*6 + 1; i <= n*6+6 && i < 10_000; i++ {
				p.link("/node/%s", uuids.names[i])
			}
			p.link("/node/%s", uuids.names[max(n-1, 0)/6])
		}},
	} {
		if i%3 != 0 && !deep.Checks() {
			continue
		}
		t.Run(site.name, func(t *testing.T) { crawlTrapSite(t, site) })
	}
}
