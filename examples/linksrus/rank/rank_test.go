package rank_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/rank"
	"github.com/tegenaria/tegenaria/internal/deep"
)

var ctx = context.Background()

func url(name string) string { return "http://" + name + "/" }

func seq[T any](list []T, last error) iter.Seq2[*T, error] {
	return func(yield func(*T, error) bool) {
		for i := range list {
			if !yield(&list[i], nil) {
				return
			}
		}
		if last != nil {
			yield(nil, last)
		}
	}
}

// web reads pages and edges from words like "A", a page, and "A→B", an edge.
func web(words string) (links []graph.Link, edges []graph.Edge) {
	for word := range strings.FieldsSeq(words) {
		src, dst, isEdge := strings.Cut(word, "→")
		if isEdge {
			edges = append(edges, graph.Edge{Src: graph.LinkID(url(src)), Dst: graph.LinkID(url(dst))})
		} else {
			links = append(links, graph.Link{ID: graph.LinkID(url(word)), URL: url(word)})
		}
	}
	return links, edges
}

func compute(t *testing.T, words string, o rank.Options) map[string]float64 {
	t.Helper()
	links, edges := web(words)
	ranks, err := rank.Compute(seq(links, nil), seq(edges, nil), o)
	if err != nil {
		t.Fatal(err)
	}
	byName := make(map[string]float64)
	total := 0.0
	for _, r := range ranks {
		total += r.Value
		for _, link := range links {
			if link.ID == r.LinkID {
				byName[strings.Trim(link.URL, "htp:/")] = r.Value
			}
		}
	}
	if len(ranks) > 0 && math.Abs(total-1) > 1e-9 {
		t.Errorf("the ranks of %q add up to %v", words, total)
	}
	return byName
}

func TestKnownResults(t *testing.T) {
	const d = 0.85
	for _, c := range []struct {
		name, words string
		within      float64
		want        map[string]float64
	}{
		// The example of Wikipedia's article "PageRank", in per cent with one digit.
		{"Wikipedia", `A B C D E F G H I J K
			B→C C→B D→A D→B E→B E→D E→F F→B F→E G→B G→E H→B H→E I→B I→E J→E K→E`, 0.0005, map[string]float64{
			"A": 0.033, "B": 0.384, "C": 0.343, "D": 0.039, "E": 0.081, "F": 0.039,
			"G": 0.016, "H": 0.016, "I": 0.016, "J": 0.016, "K": 0.016}},
		{"one page", "A", 1e-12, map[string]float64{"A": 1}},
		{"no edges", "A B C D", 1e-12, map[string]float64{"A": 0.25, "B": 0.25, "C": 0.25, "D": 0.25}},
		{"a ring", "A B C A→B B→C C→A", 1e-12, map[string]float64{"A": 1.0 / 3, "B": 1.0 / 3, "C": 1.0 / 3}},
		// By hand: hub = (1-d)/3 + d(a+b), a = b = (1-d)/3 + d·hub/2.
		{"a star", "HUB A B HUB→A HUB→B A→HUB B→HUB", 1e-11, map[string]float64{
			"HUB": (1 + 2*d) / 3 / (1 + d), "A": (1 + d/2) / 3 / (1 + d), "B": (1 + d/2) / 3 / (1 + d)}},
		// By hand: a = (1-d)/2 + d·b/2, b = a + d·a: B has no links, so it votes for all.
		{"a dead end", "A B A→B", 1e-11, map[string]float64{"A": 1 / (2 + d), "B": (1 + d) / (2 + d)}},
		{"to itself, twice, and to strangers", "A B A→B A→B A→A B→B A→X X→B", 1e-11,
			map[string]float64{"A": 1 / (2 + d), "B": (1 + d) / (2 + d)}},
		{"nothing", "", 0, map[string]float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := compute(t, c.words, rank.Options{})
			if len(got) != len(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
			for name, want := range c.want {
				if math.Abs(got[name]-want) > c.within {
					t.Errorf("%s: %v, want %v", name, got[name], want)
				}
			}
		})
	}
}

// The order in which links and edges come makes no difference, not in the last bit, and ranks of a large graph
// add up to 1.
func TestDeterministic(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	const pages = 2000
	links := make([]graph.Link, pages)
	for i := range links {
		links[i].ID = graph.LinkID(fmt.Sprint(i))
	}
	edges := make([]graph.Edge, 10*pages)
	for i := range edges {
		// Few pages have most of the links, and many none.
		edges[i] = graph.Edge{Src: links[random.IntN(pages)].ID, Dst: links[random.IntN(1+random.IntN(pages))].ID}
	}
	first, err := rank.Compute(seq(links, nil), seq(edges, nil), rank.Options{})
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, r := range first {
		total += r.Value
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the ranks add up to %v", total)
	}
	random.Shuffle(len(links), func(i, j int) { links[i], links[j] = links[j], links[i] })
	random.Shuffle(len(edges), func(i, j int) { edges[i], edges[j] = edges[j], edges[i] })
	second, err := rank.Compute(seq(links, nil), seq(edges, nil), rank.Options{})
	if err != nil || !slices.Equal(first, second) {
		t.Errorf("another order gives other ranks, %v", err)
	}
}

func TestOptions(t *testing.T) {
	words := "A B C A→B B→C C→B"
	if got := compute(t, words, rank.Options{Damping: 1e-9}); math.Abs(got["A"]-1.0/3) > 1e-6 {
		t.Errorf("hardly any damping: %v", got)
	}
	one, all := compute(t, words, rank.Options{Steps: 1}), compute(t, words, rank.Options{})
	if one["A"] == 0 || math.Abs(one["B"]-all["B"]) < 1e-3 {
		t.Errorf("after one step %v, at the end %v", one, all)
	}
	if rough := compute(t, words, rank.Options{Tolerance: 10}); rough["B"] != one["B"] {
		t.Errorf("a large tolerance ends after one step: %v, want %v", rough, one)
	}
	for _, bad := range []rank.Options{{Damping: 1}, {Damping: -0.1}, {Damping: math.NaN()}, {Tolerance: -1}, {Steps: -1}} {
		if _, err := rank.Compute(seq[graph.Link](nil, nil), seq[graph.Edge](nil, nil), bad); err == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestErrors(t *testing.T) {
	links, edges := web("A B A→B")
	broken := errors.New("disk on fire")
	for name, f := range map[string]func() ([]rank.Rank, error){
		"links": func() ([]rank.Rank, error) {
			return rank.Compute(seq(links, broken), seq(edges, nil), rank.Options{})
		},
		"edges": func() ([]rank.Rank, error) {
			return rank.Compute(seq(links, nil), seq(edges, broken), rank.Options{})
		},
	} {
		if ranks, err := f(); !errors.Is(err, broken) || ranks != nil {
			t.Errorf("%s: %v, %v", name, ranks, err)
		}
	}
}

func ExampleCompute() {
	g := graph.NewMemory()
	page := func(url string) *graph.Link {
		link := &graph.Link{URL: url}
		_ = g.UpsertLink(ctx, link)
		return link
	}
	home, about, news := page("http://home/"), page("http://about/"), page("http://news/")
	for _, edge := range []graph.Edge{{Src: home.ID, Dst: about.ID}, {Src: home.ID, Dst: news.ID}, {Src: about.ID, Dst: home.ID}, {Src: news.ID, Dst: home.ID}} {
		_ = g.UpsertEdge(ctx, &edge)
	}
	now := g.Now()
	ranks, err := rank.Compute(g.Links(ctx, graph.All, now), g.Edges(ctx, graph.All, now), rank.Options{})
	for _, r := range ranks {
		link, _ := g.Link(ctx, r.LinkID)
		fmt.Printf("%s %.3f\n", link.URL, r.Value)
	}
	fmt.Println(err)
	// Unordered output:
	// http://home/ 0.486
	// http://about/ 0.257
	// http://news/ 0.257
	// <nil>
}

func BenchmarkCompute(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 1))
	links := make([]graph.Link, 10_000)
	for i := range links {
		links[i].ID = graph.LinkID(fmt.Sprint(i))
	}
	edges := make([]graph.Edge, 200_000)
	for i := range edges {
		edges[i] = graph.Edge{Src: links[random.IntN(len(links))].ID, Dst: links[random.IntN(len(links))].ID}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rank.Compute(seq(links, nil), seq(edges, nil), rank.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
