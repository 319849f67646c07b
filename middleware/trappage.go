package middleware

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// trapPage is what the guard reads of a page: its text without links, numbers and dates, the pictures between, and where
// its links lead.
type trapPage struct {
	seed    maphash.Seed
	url     *trapURL
	words   func(hash uint64) (common bool) // counts a word of the page; whether most pages of the host have it
	text    uint64                          // sum over the words and the pictures' names
	numbers uint64                          // sum over the numbers that are not dates
	rare    int                             // different words that few pages have
	path    uint64                          // sum over the words and numbers of the URL's path that the text repeats
	query   []uint64                        // those of its query
	links   [][]byte
}

// Bounds of what is read of a page. A larger one is judged by its beginning and counts as one that has much text.
const (
	mostOfPage      = 256 << 10
	mostLinksOfPage = 200
	rareWords       = 8 // a page with more of them has a text of its own
)

// read reads a page. Text is compared by its words, in no order: rows that are sorted otherwise are the same rows.
func (p *trapPage) read(body []byte) {
	if len(body) > mostOfPage {
		body, p.rare = body[:mostOfPage], rareWords+1
	}
	path := p.url.path
	inLink := false
	for i := 0; i < len(body); {
		c := body[i]
		switch {
		case c == '<':
			tag := body[i:]
			end := bytes.IndexByte(tag, '>')
			switch name := tagName(tag); {
			case bytes.HasPrefix(tag, []byte("<!--")):
				end = indexAfter(tag, "-->")
			case name == "script" || name == "style":
				if end = indexAfter(tag, "</"+name); end >= 0 {
					end--
				}
			case name == "img" && end >= 0 && !inLink:
				p.picture(attribute(tag[:end], "src"))
			case name == "a":
				inLink = true
				if end >= 0 && len(p.links) < mostLinksOfPage {
					if href := attribute(tag[:end], "href"); len(href) > 0 && href[0] != '#' {
						p.links = append(p.links, href)
					}
				}
			case len(tag) > 3 && tag[1] == '/' && tag[2]|0x20 == 'a' && !isWordByte(tag[3]):
				inLink = false
			}
			if end < 0 {
				return
			}
			i += end + 1
		case c == '&':
			i++
			for i < len(body) && (isWordByte(body[i]) || body[i] == '#') {
				i++
			}
		case c == '/' && len(path) > 1 && bytes.HasPrefix(body[i:], []byte(path)):
			i += len(path)
		case isWordByte(c):
			from, digits := i, 0
			for i < len(body) && isWordByte(body[i]) {
				if body[i]-'0' <= 9 {
					digits++
				}
				i++
			}
			if !inLink {
				p.word(body, from, i, digits)
			}
		default:
			i++
		}
	}
}

// word takes a word or a number of the text.
func (p *trapPage) word(body []byte, from, to, digits int) {
	hash := maphash.Bytes(p.seed, body[from:to])
	if p.url.mask&(1<<(hash&63)) != 0 && p.echo(hash) {
		return
	}
	if digits == 0 {
		p.text += hash | 1
		if !p.words(hash) {
			p.rare++
		}
		return
	}
	if digits == to-from && digits <= 4 && p.nearMonth(body, from, to) {
		return
	}
	if digits == to-from && (from > 0 && joinsDate(body[from-1]) || to < len(body) && joinsDate(body[to])) {
		return
	}
	p.numbers += hash | 1
}

// picture takes the name of a picture's file as a word of the text: a page of a gallery may show nothing else.
func (p *trapPage) picture(src []byte) {
	if i := bytes.IndexAny(src, "?#"); i >= 0 {
		src = src[:i]
	}
	if name := src[bytes.LastIndexByte(src, '/')+1:]; len(name) > 0 {
		p.text += maphash.Bytes(p.seed, name) | 1
	}
}

// nearMonth reports whether the name of a month stands beside a number.
func (p *trapPage) nearMonth(body []byte, from, to int) bool {
	const near = 16
	around := string(body[max(from-near, 0):min(to+near, len(body))])
	for _, month := range [...]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"} {
		if strings.Contains(around, month) {
			return true
		}
	}
	return false
}

// joinsDate reports whether a byte stands between the numbers of dates and times.
func joinsDate(c byte) bool { return c == '-' || c == ':' || c == '/' }

// echo notes that the text repeats a word or a number of the URL; false if it is none of it.
func (p *trapPage) echo(hash uint64) bool {
	for i, token := range p.url.tokens {
		if token != hash {
			continue
		}
		if bit := uint32(1) << i; p.url.echoed&bit == 0 {
			p.url.echoed |= bit
			if i < p.url.ofPath {
				p.path += hash | 1
			} else {
				p.query = append(p.query, hash)
			}
		}
		return true
	}
	return false
}

func isWordByte(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 25 || c >= 0x80
}

// tagName returns the name of an opening tag in lower case, if it is one that matters here.
func tagName(tag []byte) string {
	for _, name := range [...]string{"a", "img", "script", "style"} {
		n := len(name)
		if len(tag) > n+1 && !isWordByte(tag[n+1]) && strings.EqualFold(string(tag[1:n+1]), name) {
			return name
		}
	}
	return ""
}

// indexAfter returns the index of the last byte of the first end; -1 if there is none.
func indexAfter(s []byte, end string) int {
	if i := bytes.Index(s, []byte(end)); i >= 0 {
		return i + len(end) - 1
	}
	return -1
}

// attribute returns the value of a tag's attribute.
func attribute(tag []byte, name string) []byte {
	for i := 2; i+len(name) < len(tag); i++ {
		if tag[i]|0x20 != name[0] || isWordByte(tag[i-1]) || !strings.EqualFold(string(tag[i:i+len(name)]), name) {
			continue
		}
		value := bytes.TrimLeft(tag[i+len(name):], " \t\r\n")
		if len(value) == 0 || value[0] != '=' {
			continue
		}
		value = bytes.TrimLeft(value[1:], " \t\r\n")
		if len(value) == 0 {
			return nil
		}
		if quote := value[0]; quote == '"' || quote == '\'' {
			value, _, _ = bytes.Cut(value[1:], []byte{quote})
			return bytes.TrimSpace(value)
		}
		if end := bytes.IndexAny(value, " \t\r\n>"); end >= 0 {
			value = value[:end]
		}
		return value
	}
	return nil
}
