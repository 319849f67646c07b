package report_test

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/report"
)

func TestPages(t *testing.T) {
	var p report.Pages
	key := func(i int) report.PageID {
		sum := sha256.Sum256(fmt.Append(nil, i))
		return report.PageByKey([4]byte(sum[:4]))
	}
	if got := p.Of(key(1)); got != "" {
		t.Errorf("empty: %q", got)
	}
	const many = 100_000
	for i := range many {
		p.Add(key(i), fmt.Sprint("http://a.test/", i))
		if got, want := p.Of(key(i)), fmt.Sprint("http://a.test/", i); got != want {
			t.Fatalf("page %d: %q", i, got)
		}
	}
	known, wrong := 0, 0
	for i := range many {
		switch p.Of(key(i)) {
		case "":
		case fmt.Sprint("http://a.test/", i):
			known++
		default:
			wrong++
		}
	}
	if known < 1<<13 || known > 1<<14 || wrong > 20 {
		t.Errorf("%d pages are remembered, %d others have another page's URL", known, wrong)
	}
	p.Add(report.PageByNumber(0), "http://a.test/zero")
	if got := p.Of(report.PageByKey([4]byte{})); got != "" {
		t.Errorf("a seed came from %q", got)
	}
	p.Add(report.PageByNumber(7), "http://a.test/7")
	if got := p.Of(report.PageByNumber(7)); got != "http://a.test/7" {
		t.Errorf("number 7 is %q", got)
	}
	if got := p.Of(report.PageByKey([4]byte{7})); got == "http://a.test/7" {
		t.Error("a key was taken for a number")
	}
}

// URLs of any length are told right or not at all; the last ones are remembered, and no more than a MiB of them.
func TestPagesOfAnyLength(t *testing.T) {
	var p report.Pages
	seed := deep.Seed()
	rng := rand.New(rand.NewPCG(seed, 0))
	var urls []string
	for i := range 20_000 {
		n := rng.IntN(200)
		if rng.IntN(50) == 0 {
			n = rng.IntN(10_000)
		}
		url := fmt.Sprint(i, "/", strings.Repeat("x", n))
		urls = append(urls, url)
		p.Add(report.PageByNumber(uint64(i+1)), url)
		if got := p.Of(report.PageByNumber(uint64(i + 1))); got != url && (got != "" || n < 4000) {
			t.Fatalf("seed %d, page %d of %d bytes: %d bytes", seed, i, len(url), len(got))
		}
	}
	text := 0
	for i, url := range urls {
		got := p.Of(report.PageByNumber(uint64(i + 1)))
		if got != "" && got != url {
			t.Fatalf("seed %d, page %d: %.40s", seed, i, got)
		}
		text += len(got)
	}
	if text < 1<<20-20_000 || text > 1<<20 {
		t.Errorf("seed %d: %d bytes are remembered", seed, text)
	}
}

func BenchmarkPages(b *testing.B) {
	var p report.Pages
	for i := range b.N {
		p.Add(report.PageByNumber(uint64(i)), "http://a.test/")
	}
}
