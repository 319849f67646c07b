package html_test

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"
)

// soup makes a page of random tags, text and comments, many of them misnested.
func soup(r *rand.Rand, length int) string {
	names := strings.Fields(`a b i em font nobr p div span ul li dl dd dt h1 h2 table tbody thead tr td th caption
		colgroup col form button input select option optgroup textarea title script style template svg math
		foreignObject desc mi mtext annotation-xml mglyph frameset frame body head html noscript br hr img
		pre object marquee applet ruby rb rt rtc rp plaintext x-y base area link meta iframe noframes address main`)
	texts := strings.Fields(`a b c &amp; &lt; x&y; <!--c--> <? <! </ <![CDATA[d]]> <!doctype>`)
	texts = append(texts, " ", "\n", "\r\n", "\x00")
	attrs := []string{"", "", "", " a=1", " a=2 b='c'", " type=hidden", " color", " href=d rel='e'", " encoding=text/html", " xlink:href=c viewbox=0"}
	if r.IntN(2) == 0 { // few names, of which more than three are open at once
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		names = names[:2+r.IntN(6)]
	}
	var b strings.Builder
	for range length {
		name := names[r.IntN(len(names))]
		if name == "plaintext" && r.IntN(20) > 0 {
			name = "b"
		}
		switch r.IntN(10) {
		case 0, 1, 2, 3, 4:
			b.WriteString("<" + name + attrs[r.IntN(len(attrs))])
			if r.IntN(12) == 0 {
				b.WriteByte('/')
			}
			b.WriteByte('>')
		case 5, 6, 7:
			b.WriteString("</" + name + ">")
		default:
			b.WriteString(texts[r.IntN(len(texts))])
		}
	}
	return b.String()
}

var soups = flag.Int("soups", 3000, "random pages of TestSoup")

// TestSoup compares the trees of random pages with those of x/net, and their links with those of Tags.
func TestSoup(t *testing.T) {
	compared, noted := 0, 0
	for seed := range uint64(*soups) {
		r := rand.New(rand.NewPCG(seed, 7))
		source := soup(r, 2+r.IntN(40))
		d := parse(t, source)
		if err := check(d); err != nil {
			t.Fatalf("seed %d: %q: %v", seed, source, err)
		}
		if checkLinkTags(t, d) {
			noted++
		}
		theirs, why := witnessTree([]byte(source), d)
		if why != "" {
			continue
		}
		compared++
		if ours := dump(d); ours != theirs {
			t.Errorf("seed %d: %q\nours\n%stheirs\n%s", seed, source, ours, theirs)
		}
	}
	if compared < *soups/2 || noted < *soups/2 {
		t.Errorf("only %d pages could be compared, and %d know their links", compared, noted)
	}
}
