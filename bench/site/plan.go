package site

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Plan says what a site is like. All of it follows from the plan: two sites of one plan are the same, byte for byte.
type Plan struct {
	Pages   int           // how many there are; without a number if FanOut is set
	Bytes   int           // about how many each has
	Links   int           // on each page
	FanOut  int           // so many links on each page, each to a page that no other page links to, without end
	Queries bool          // pages have queries, and one link in ten has the parameters in another order
	Hosts   int           // pages are spread over so many loopback addresses; 0 and 1: one
	Markup  bool          // pages are marked up as real ones are, with links in five spellings
	Gzip    bool          // compress for clients that accept it
	Latency time.Duration // before each answer
}

// DefaultLinks is how many links a page of [New] has.
const DefaultLinks = 34

// children is how many links of a page lead to pages that are found there first.
const children = 3

// maxHosts is how many loopback addresses [Plan.Host] knows.
const maxHosts = 250 * 250

// Check says what is wrong with a plan.
func (p Plan) Check() error {
	switch {
	case p.FanOut < 0 || p.Bytes < 0 || p.Latency < 0:
		return fmt.Errorf("site: a plan with a negative number: %+v", p)
	case p.FanOut == 0 && (p.Pages < 1 || p.Links < children):
		return fmt.Errorf("site: a plan needs a page and %d links on each, this has %d and %d", children, p.Pages, p.Links)
	case p.FanOut > 0 && (p.Queries || p.Hosts > 1):
		return fmt.Errorf("site: a plan with FanOut has neither Queries nor Hosts")
	case p.Markup && (p.FanOut > 0 || p.Queries || p.Hosts > 1):
		return fmt.Errorf("site: a plan with Markup has neither FanOut nor Queries nor Hosts")
	case p.Hosts < 0 || p.Hosts > maxHosts:
		return fmt.Errorf("site: %d hosts, a site has at most %d", p.Hosts, maxHosts)
	}
	return nil
}

// Host is the loopback address of a page.
func (p Plan) Host(page int) string {
	if p.Hosts < 2 {
		return "127.0.0.1"
	}
	host := page % p.Hosts
	return fmt.Sprintf("127.0.%d.%d", host/250, 1+host%250)
}

// Reference is what follows the host in the URL of a page: "/" for page 0.
func (p Plan) Reference(page int) string { return string(p.appendReference(nil, page, false)) }

// appendReference appends a reference, on demand with the parameters of its query in another order.
func (p Plan) appendReference(b []byte, page int, permuted bool) []byte {
	switch {
	case page == 0:
		return append(b, '/')
	case p.FanOut > 0: // with http://127.0.0.1:12345 it makes 55 bytes
		digits := strconv.Itoa(page)
		b = append(b, "/p/"...)
		b = append(b, strings.Repeat("0", 30-len(digits))...)
		return append(b, digits...)
	}
	b = append(b, "/p/"...)
	b = strconv.AppendInt(b, int64(page), 10)
	if !p.Queries {
		return b
	}
	names := parameters
	if permuted {
		names[0], names[2] = names[2], names[0]
	}
	for i, name := range names {
		b = append(b, "?&&"[i], name[0], '=')
		b = strconv.AppendUint(b, uint64(parameter(page, name)), 10)
	}
	return b
}

// parameters are the names of those of a query, sorted.
var parameters = [3]string{"a", "b", "c"}

func parameter(page int, name string) uint32 { return mix(page, 10+int(name[0])) % 1000 }

// pageOf is the page that a request asks for; ok is false if there is none.
func (p Plan) pageOf(host string, u *url.URL) (page int, ok bool) {
	if u.Path != "/" {
		digits, found := strings.CutPrefix(u.Path, "/p/")
		number, err := strconv.Atoi(digits)
		if !found || err != nil || number < 1 || p.FanOut == 0 && number >= p.Pages {
			return 0, false
		}
		page = number
	}
	if p.Hosts > 1 && host != p.Host(page) {
		return 0, false
	}
	if !p.Queries || page == 0 {
		return page, u.RawQuery == "" && u.Path == string(p.appendPath(page))
	}
	query := u.Query()
	if len(query) != len(parameters) || u.Path != string(p.appendPath(page)) {
		return 0, false
	}
	for _, name := range parameters {
		if values := query[name]; len(values) != 1 || values[0] != strconv.Itoa(int(parameter(page, name))) {
			return 0, false
		}
	}
	return page, true
}

// appendPath is the reference of a page without its query.
func (p Plan) appendPath(page int) []byte {
	p.Queries = false
	return p.appendReference(nil, page, false)
}

// target is the page that the i-th link of a page leads to.
func (p Plan) target(page, i int) int {
	if p.FanOut > 0 {
		return int(mix64(uint64(page)*0x9e3779b97f4a7c15+uint64(i)+1) >> 1)
	}
	if target := children*page + 1 + i; i < children && target < p.Pages {
		return target
	}
	return int(mix(page, 100+i) % uint32(p.Pages))
}

// Items are those of all product pages, by SKU: what a crawler has to bring home.
func (p Plan) Items() map[string]Item {
	items := make(map[string]Item)
	if p.FanOut > 0 {
		return items
	}
	for page := range p.Pages {
		if HasItem(page) {
			item := ItemOf(page)
			if p.Markup {
				item = markupItemOf(page)
			}
			items[item.SKU] = item
		}
	}
	return items
}
