package graph_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// always is later than all times of a test.
var always = time.Now().Add(1000 * time.Hour)

// Both stores pass the same tests.
func TestGraph(t *testing.T) {
	stores := map[string]func(t *testing.T) graph.Graph{
		"memory": func(*testing.T) graph.Graph { return graph.NewMemory() },
		"SQLite": func(t *testing.T) graph.Graph { return open(t, filepath.Join(t.TempDir(), "graph?.db")) },
	}
	tests := []struct {
		name string
		test func(t *testing.T, g graph.Graph)
	}{
		{"links", testLinks},
		{"edges", testEdges},
		{"example of t0 and t1", testStaleEdges},
		{"partitions", testPartitions},
		{"many edges", testManyEdges},
		{"clock", testClock},
		{"store used inside a loop", testLoop},
		{"concurrent use", testConcurrent},
		{"done context", testDone},
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					g := store(t)
					test.test(t, g)
					if err := g.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

func open(t *testing.T, path string) *graph.SQLite {
	t.Helper()
	g, err := graph.OpenSQLite(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// upsert adds links and returns their IDs.
func upsert(t *testing.T, g graph.Graph, urls ...string) []uuid.UUID {
	t.Helper()
	ids := make([]uuid.UUID, len(urls))
	for i, url := range urls {
		link := graph.Link{URL: url}
		if err := g.UpsertLink(t.Context(), &link); err != nil {
			t.Fatal(err)
		}
		ids[i] = link.ID
	}
	return ids
}

func connect(t *testing.T, g graph.Graph, src uuid.UUID, dsts ...uuid.UUID) {
	t.Helper()
	for _, dst := range dsts {
		if err := g.UpsertEdge(t.Context(), &graph.Edge{Src: src, Dst: dst}); err != nil {
			t.Fatal(err)
		}
	}
}

// all collects what an iterator gives.
func all[T any](t *testing.T, seq iter.Seq2[*T, error]) []T {
	t.Helper()
	var list []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, *v)
	}
	return list
}

func targets(t *testing.T, g graph.Graph) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	for _, edge := range all(t, g.Edges(t.Context(), graph.All, always)) {
		ids = append(ids, edge.Dst)
	}
	return ids
}

func testLinks(t *testing.T, g graph.Graph) {
	url := "https://example.com/ä?q='"
	if _, err := g.Link(t.Context(), graph.LinkID(url)); !errors.Is(err, graph.ErrNotFound) {
		t.Errorf("an unknown link: %v", err)
	}
	first := graph.Link{URL: url}
	if err := g.UpsertLink(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	if first.ID != graph.LinkID(url) || !first.RetrievedAt.IsZero() || first.Submitted {
		t.Errorf("the first upsert: %+v", first)
	}
	now := time.Now().UTC()
	for _, c := range []struct {
		name string
		link graph.Link
		want graph.Link
	}{
		{"retrieved", graph.Link{URL: url, RetrievedAt: now}, graph.Link{RetrievedAt: now}},
		{"found again", graph.Link{URL: url}, graph.Link{RetrievedAt: now}},
		{"an older retrieval", graph.Link{URL: url, RetrievedAt: now.Add(-time.Hour)}, graph.Link{RetrievedAt: now}},
		{"submitted", graph.Link{URL: url, Submitted: true}, graph.Link{RetrievedAt: now, Submitted: true}},
		{"found once more", graph.Link{URL: url, ID: uuid.New()}, graph.Link{RetrievedAt: now, Submitted: true}},
		{"retrieved again", graph.Link{URL: url, RetrievedAt: now.Add(1)}, graph.Link{RetrievedAt: now.Add(1), Submitted: true}},
	} {
		c.want.URL, c.want.ID = url, first.ID
		if err := g.UpsertLink(t.Context(), &c.link); err != nil {
			t.Fatal(err)
		}
		stored, err := g.Link(t.Context(), first.ID)
		if err != nil || !same(c.link, c.want) || !same(*stored, c.want) {
			t.Errorf("%s: the link is %+v, the store has %+v, %v; want %+v", c.name, c.link, stored, err, c.want)
		}
	}
	upsert(t, g, "https://example.com/other")
	for _, c := range []struct {
		before time.Time
		want   int
	}{{time.Time{}, 0}, {now, 1}, {now.Add(1), 1}, {now.Add(2), 2}} {
		if got := all(t, g.Links(t.Context(), graph.All, c.before)); len(got) != c.want {
			t.Errorf("retrieved before %v: %v, want %d", c.before, got, c.want)
		}
	}
}

func same(a, b graph.Link) bool {
	return a.ID == b.ID && a.URL == b.URL && a.Submitted == b.Submitted && a.RetrievedAt.Equal(b.RetrievedAt)
}

func testEdges(t *testing.T, g graph.Graph) {
	ids := upsert(t, g, "http://a/", "http://b/")
	edge := graph.Edge{Src: ids[0], Dst: ids[1]}
	if err := g.UpsertEdge(t.Context(), &edge); err != nil {
		t.Fatal(err)
	}
	first := edge.UpdatedAt
	if err := g.UpsertEdge(t.Context(), &edge); err != nil || !edge.UpdatedAt.After(first) {
		t.Errorf("updated at %v, then %v, %v", first, edge.UpdatedAt, err)
	}
	got := all(t, g.Edges(t.Context(), graph.All, always))
	if len(got) != 1 || got[0].Src != ids[0] || got[0].Dst != ids[1] || !got[0].UpdatedAt.Equal(edge.UpdatedAt) {
		t.Errorf("the edges are %+v, want one: %+v", got, edge)
	}
	if got := all(t, g.Edges(t.Context(), graph.All, edge.UpdatedAt)); len(got) != 0 {
		t.Errorf("an edge of %v is before it", edge.UpdatedAt)
	}
	for name, unknown := range map[string]graph.Edge{
		"target": {Src: ids[0], Dst: uuid.New()},
		"source": {Src: uuid.New(), Dst: ids[0]},
	} {
		if err := g.UpsertEdge(t.Context(), &unknown); !errors.Is(err, graph.ErrUnknownLink) {
			t.Errorf("an unknown %s: %v", name, err)
		}
	}
}

// At t0 example.com links to foo.com and bar.com; at t1 the link to foo.com has gone, one to baz.com has come.
func testStaleEdges(t *testing.T, g graph.Graph) {
	ids := upsert(t, g, "https://example.com/", "http://foo.com/", "https://bar.com/", "https://baz.com/")
	example, foo, bar, baz := ids[0], ids[1], ids[2], ids[3]
	connect(t, g, foo, example)
	pass := func(dsts ...uuid.UUID) {
		start := g.Now()
		connect(t, g, example, dsts...)
		if err := g.RemoveStaleEdges(t.Context(), example, start); err != nil {
			t.Fatal(err)
		}
	}
	of := func() (dsts []uuid.UUID) {
		for _, edge := range all(t, g.Edges(t.Context(), graph.Range{First: example, Last: example}, always)) {
			dsts = append(dsts, edge.Dst)
		}
		return dsts
	}
	pass(foo, bar)
	if got := of(); !slices.Equal(got, sorted(foo, bar)) {
		t.Fatalf("after t0: %v", got)
	}
	pass(bar, baz)
	if got := of(); !slices.Equal(got, sorted(bar, baz)) {
		t.Errorf("after t1: %v, want bar.com and baz.com", got)
	}
	if got := all(t, g.Edges(t.Context(), graph.All, always)); len(got) != 3 {
		t.Errorf("the edge of foo.com is gone too: %v", got)
	}
	pass()
	if got := of(); len(got) != 0 {
		t.Errorf("a page without links has the edges %v", got)
	}
}

func sorted(ids ...uuid.UUID) []uuid.UUID {
	slices.SortFunc(ids, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	return ids
}

func testPartitions(t *testing.T, g graph.Graph) {
	const links = 600 // more than two pieces of SQLite
	urls := make([]string, links)
	for i := range urls {
		urls[i] = fmt.Sprintf("https://example.com/%d", i)
	}
	ids := upsert(t, g, urls...)
	for i, id := range ids {
		connect(t, g, id, ids[(i+1)%links])
	}
	want := sorted(ids...)
	for _, n := range []int{1, 2, 3, 7} {
		var gotLinks, gotEdges []uuid.UUID
		for i := range n {
			part := graph.Partition(i, n)
			for _, link := range all(t, g.Links(t.Context(), part, always)) {
				gotLinks = append(gotLinks, link.ID)
			}
			for _, edge := range all(t, g.Edges(t.Context(), part, always)) {
				gotEdges = append(gotEdges, edge.Src)
			}
			if even := links / n; len(gotLinks) < (i+1)*even-100 || len(gotLinks) > (i+1)*even+100 {
				t.Errorf("the first %d of %d partitions have %d links", i+1, n, len(gotLinks))
			}
		}
		if !slices.Equal(gotLinks, want) || !slices.Equal(gotEdges, want) {
			t.Errorf("%d partitions: %d links, %d edges, not each of %d once and in order", n, len(gotLinks), len(gotEdges), links)
		}
	}
	for range g.Links(t.Context(), graph.All, always) {
		break // leaves nothing open
	}
}

// More edges of one page than are read at once.
func testManyEdges(t *testing.T, g graph.Graph) {
	const edges = 600
	src := upsert(t, g, "https://example.com/")[0]
	var dsts []uuid.UUID
	for i := range edges {
		dsts = append(dsts, upsert(t, g, fmt.Sprintf("https://example.com/%d", i))...)
	}
	connect(t, g, src, dsts...)
	if got := targets(t, g); !slices.Equal(got, sorted(dsts...)) {
		t.Errorf("%d edges, not each of %d once and in order", len(got), edges)
	}
}

func testClock(t *testing.T, g graph.Graph) {
	last := g.Now()
	for range 1000 {
		now := g.Now()
		if !now.After(last) {
			t.Fatalf("the clock gives %v after %v", now, last)
		}
		last = now
	}
}

func testLoop(t *testing.T, g graph.Graph) {
	upsert(t, g, "http://a/", "http://b/")
	for link, err := range g.Links(t.Context(), graph.All, always) {
		if err != nil {
			t.Fatal(err)
		}
		connect(t, g, link.ID, link.ID)
	}
	for edge, err := range g.Edges(t.Context(), graph.All, always) {
		if err != nil {
			t.Fatal(err)
		}
		if err := g.RemoveStaleEdges(t.Context(), edge.Src, always); err != nil {
			t.Fatal(err)
		}
	}
	if left := targets(t, g); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
}

func testConcurrent(t *testing.T, g graph.Graph) {
	hub := upsert(t, g, "https://example.com/")[0]
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for i := range 20 {
				link := graph.Link{URL: fmt.Sprintf("https://example.com/%d", i), RetrievedAt: time.Now()}
				err := errors.Join(g.UpsertLink(t.Context(), &link),
					g.UpsertEdge(t.Context(), &graph.Edge{Src: hub, Dst: link.ID}),
					g.RemoveStaleEdges(t.Context(), link.ID, g.Now()))
				for _, linkErr := range g.Links(t.Context(), graph.Partition(i%3, 3), always) {
					err = errors.Join(err, linkErr)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	workers.Wait()
	if links, edges := all(t, g.Links(t.Context(), graph.All, always)), targets(t, g); len(links) != 21 || len(edges) != 20 {
		t.Errorf("%d links and %d edges, want 21 and 20", len(links), len(edges))
	}
}

func testDone(t *testing.T, g graph.Graph) {
	id := upsert(t, g, "http://a/")[0]
	connect(t, g, id, id)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, lookup := g.Link(ctx, id)
	errs := map[string]error{
		"UpsertLink":       g.UpsertLink(ctx, &graph.Link{URL: "http://b/"}),
		"Link":             lookup,
		"UpsertEdge":       g.UpsertEdge(ctx, &graph.Edge{Src: id, Dst: id}),
		"RemoveStaleEdges": g.RemoveStaleEdges(ctx, id, always),
		"Links":            nil,
		"Edges":            nil,
	}
	for _, err := range g.Links(ctx, graph.All, always) {
		errs["Links"] = err
	}
	for _, err := range g.Edges(ctx, graph.All, always) {
		errs["Edges"] = err
	}
	for name, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(all(t, g.Links(t.Context(), graph.All, always))) != 1 || len(targets(t, g)) != 1 {
		t.Error("a cancelled call has changed the store")
	}
}

// A file is there again when it is opened again, and its clock does not go back.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "graph.db")
	g := open(t, path)
	ids := upsert(t, g, "http://a/", "http://b/")
	link := graph.Link{URL: "http://a/", RetrievedAt: time.Now().Add(time.Hour)} // the system's clock was wrong
	if err := g.UpsertLink(t.Context(), &link); err != nil {
		t.Fatal(err)
	}
	connect(t, g, ids[0], ids[1])
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}

	g = open(t, path)
	stored, err := g.Link(t.Context(), ids[0])
	if err != nil || !same(*stored, link) {
		t.Errorf("got %+v, %v, want %+v", stored, err, link)
	}
	if got := targets(t, g); !slices.Equal(got, ids[1:]) {
		t.Errorf("the edges are %v, want %v", got, ids[1:])
	}
	if now := g.Now(); !now.After(link.RetrievedAt) {
		t.Errorf("the clock says %v, before %v", now, link.RetrievedAt)
	}
}

func TestOpenMistakes(t *testing.T) {
	if g, err := graph.OpenSQLite(t.TempDir()); err == nil {
		t.Error("a directory was opened as a file", g.Close())
	}
}

func TestPartitionBounds(t *testing.T) {
	for _, n := range []int{1, 2, 3, 1000, 1 << 16} {
		last := graph.Partition(n-1, n)
		if graph.Partition(0, n).First != uuid.Nil || last.Last != uuid.Max || !last.Contains(uuid.Max) {
			t.Errorf("%d partitions are not all", n)
		}
		if n == 1 {
			continue
		}
		first, second := graph.Partition(0, n), graph.Partition(1, n)
		if first.Contains(second.First) || second.Contains(first.Last) || bytes.Compare(first.Last[:], second.First[:]) >= 0 {
			t.Errorf("%d partitions: %v and %v overlap", n, first, second)
		}
	}
	for _, bad := range [][2]int{{0, 0}, {-1, 2}, {2, 2}, {0, 1<<16 + 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Partition(%d, %d) does not panic", bad[0], bad[1])
				}
			}()
			graph.Partition(bad[0], bad[1])
		}()
	}
}

func ExamplePartition() {
	for i := range 4 {
		fmt.Println(graph.Partition(i, 4).First)
	}
	// Output:
	// 00000000-0000-0000-0000-000000000000
	// 40000000-0000-0000-0000-000000000000
	// 80000000-0000-0000-0000-000000000000
	// c0000000-0000-0000-0000-000000000000
}

func BenchmarkUpsertEdge(b *testing.B) {
	for name, open := range map[string]func() (graph.Graph, error){
		"memory": func() (graph.Graph, error) { return graph.NewMemory(), nil },
		"SQLite": func() (graph.Graph, error) { return graph.OpenSQLite(filepath.Join(b.TempDir(), "graph.db")) },
	} {
		b.Run(name, func(b *testing.B) {
			g, err := open()
			if err != nil {
				b.Fatal(err)
			}
			defer g.Close()
			src := graph.Link{URL: "http://a/"}
			if err := g.UpsertLink(b.Context(), &src); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				dst := graph.Link{URL: fmt.Sprintf("http://a/%d", i)}
				if err := errors.Join(g.UpsertLink(b.Context(), &dst),
					g.UpsertEdge(b.Context(), &graph.Edge{Src: src.ID, Dst: dst.ID})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
