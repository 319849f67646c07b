package content_test

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/selector"
)

// These hashes are stored with jobs. It fails if a change would make them worthless.
func TestSimhashStays(t *testing.T) {
	long := strings.Repeat("The quick brown fox jumps over the lazy dog, twice. ", 20)
	for _, tt := range []struct {
		text     string
		hash     uint64
		shingles int
	}{
		{"", 0, 0},
		{" ,.-\x00\xff ", 0, 0},
		{"one", 0xfcd5eb459c6b96af, 1},
		{"one two", 0x17208b8d8419ae15, 1},
		{"one two three", 0xe767e8a8b2a8de98, 1},
		{"ONE, two; «Three»!", 0xe767e8a8b2a8de98, 1},
		{"Ärger im Süden 42", 0x22b2100812508418, 2},
		{"網站爬蟲框架", 0x885088206921289, 4},
		{long, 0x280de61bd9b206a4, 198},
	} {
		hash, shingles := content.Simhash(tt.text)
		if hash != tt.hash || shingles != tt.shingles {
			t.Errorf("%.30q: %#x of %d, want %#x of %d", tt.text, hash, shingles, tt.hash, tt.shingles)
		}
	}
}

// plainSimhash is the method written down as its paper has it, with a counter for each bit. Only the hash of a feature is the same.
func plainSimhash(text string) (hash uint64, features int) {
	var words []uint64
	fields := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	for _, f := range fields {
		h := uint64(0)
		for _, r := range strings.ToLower(f) {
			h = bits.RotateLeft64(h, 7) + uint64(r)
		}
		h *= 0x9e3779b97f4a7c15
		h = (h ^ h>>32) * 0xd6e8feb86659fd93
		words = append(words, h^h>>32)
	}
	if n := len(words); n > 0 && n < 3 {
		words = append(words, make([]uint64, 3-n)...)
		if n == 1 {
			words[0], words[2] = 0, words[0]
		} else {
			words = []uint64{0, words[0], words[1]}
		}
	}
	var votes [64]int
	for i := 2; i < len(words); i++ {
		f := (words[i] + bits.RotateLeft64(words[i-1], 21) + bits.RotateLeft64(words[i-2], 42)) * 0xd6e8feb86659fd93
		f ^= f >> 32
		for b := range votes {
			votes[b] += int(f >> b & 1)
		}
		features++
	}
	for b, n := range votes {
		if 2*n > features {
			hash |= 1 << b
		}
	}
	return hash, features
}

// It fails if the counting in planes is not the counting bit by bit, at any number of features.
func TestSimhashCounts(t *testing.T) {
	seed := deep.Seed()
	random := rand.New(rand.NewPCG(seed, 1))
	for range 2000 {
		text := strings.Join(wordsOf(random, random.IntN(300)), " ")
		hash, n := content.Simhash(text)
		if want, features := plainSimhash(text); hash != want || n != features {
			t.Fatalf("seed %d: %q: %#x of %d, want %#x of %d", seed, text, hash, n, want, features)
		}
	}
}

// vocabulary are the words of wordsOf.
var vocabulary = func() (list [1 << 14]string) {
	for i := range list {
		list[i] = fmt.Sprintf("w%x", i)
	}
	return list
}()

// wordsOf makes words, of which some are frequent and most are not.
func wordsOf(random *rand.Rand, n int) []string {
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[int(3/(random.Float64()+3e-4))]
	}
	return words
}

// A small edit of a long text changes few bits, another text changes about half of them.
func TestSimhashTells(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	words := wordsOf(random, 2000)
	text := strings.Join(words, " ")
	hash, _ := content.Simhash(text)
	for name, other := range map[string]string{
		"other case and punctuation": "«" + strings.ToUpper(strings.ReplaceAll(text, " ", ",  ")) + "»",
		"a line more":                text + " printed on 3 May 2026 by nobody",
		"a word less":                strings.Join(append(append([]string(nil), words[:700]...), words[701:]...), " "),
	} {
		if h, _ := content.Simhash(other); content.Distance(h, hash) > content.MaxDistance {
			t.Errorf("%s: %d bits", name, content.Distance(h, hash))
		}
	}
	if h, _ := content.Simhash(strings.Join(wordsOf(rand.New(rand.NewPCG(2, 2)), 2000), " ")); content.Distance(h, hash) < 10 {
		t.Errorf("another text: %d bits", content.Distance(h, hash))
	}
}

func TestSimhashAllocates(t *testing.T) {
	text := strings.Repeat("Ein Satz, der wächst: 網站. ", 100)
	if n := testing.AllocsPerRun(10, func() { content.Simhash(text) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// FuzzSimhash compares with the plain method, and fails if the punctuation counts.
func FuzzSimhash(f *testing.F) {
	f.Add("Two texts that say nearly the same")
	f.Add("Ä \xff x\x00y 網站")
	f.Fuzz(func(t *testing.T, text string) {
		hash, n := content.Simhash(text)
		if again, m := content.Simhash("… " + text + " !"); again != hash || m != n {
			t.Errorf("with punctuation %#x of %d, without %#x of %d", again, m, hash, n)
		}
		if isASCII(text) {
			if want, features := plainSimhash(text); hash != want || n != features {
				t.Errorf("%#x of %d, want %#x of %d", hash, n, want, features)
			}
		}
		if (n == 0) != (hash == 0 && n == 0) || n < 0 || n > len(text) {
			t.Errorf("%d shingles", n)
		}
	})
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII || r == unicode.ReplacementChar })
}

// listing is a page of n entries, about 300 bytes each, of which a third is text.
func listing(n int) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><title>Shop</title></head><body><ul id=list>")
	for i := range n {
		fmt.Fprintf(&b, `<li class="entry" id="entry-%d"><h3><a href="/entry/%d?from=list" title="Entry %d">Entry number %d</a></h3>`+
			"\n  <p class=\"text text-short\">Some text about it &amp; more, in <em>two</em> sentences. It is as long as such texts are.</p><span class=price>%d.99</span></li>\n", i, i, i, i, i)
	}
	b.WriteString("</ul></body></html>")
	return []byte(b.String())
}

// BenchmarkSimhash measures pages in turns: each round parses a page and makes the hash of its text, which was taken before. The ratio of
// the best times is reported.
func BenchmarkSimhash(b *testing.B) {
	for _, entries := range []int{10, 80, 1000} {
		body := listing(entries)
		text := selector.Parse(body).CSS("body").Text()
		b.Run(fmt.Sprint(len(body)>>10, "KB"), func(b *testing.B) {
			b.ReportAllocs()
			parse, hash := time.Hour, time.Hour
			for b.Loop() {
				begin := time.Now()
				selector.Parse(body)
				parsed := time.Now()
				content.Simhash(text)
				parse, hash = min(parse, parsed.Sub(begin)), min(hash, time.Since(parsed))
			}
			b.ReportMetric(float64(hash)/float64(parse), "×parse")
			b.ReportMetric(float64(hash.Nanoseconds())/float64(len(text)), "ns/byte")
		})
	}
}
