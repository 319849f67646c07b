package pipeline_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria"
	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
	"github.com/tegenaria/tegenaria/pipeline"
	"github.com/tegenaria/tegenaria/spidertest"
)

type text struct {
	Text string
	Near *pipeline.NearDuplicate
}

func textOf(v text) string { return v.Text }

// words is a text that is like no other number's. Its variants are near it, but for a few bits.
func words(number, variant int) string {
	random := rand.New(rand.NewPCG(uint64(number), 7))
	list := make([]string, 400)
	for i := range list {
		list[i] = fmt.Sprintf("w%x", random.IntN(1<<16))
	}
	if variant > 0 {
		list = append(list, strings.Fields(fmt.Sprintf("variant%d of%d the%d text%d", variant, variant, variant, variant))[:1+variant%4]...)
	}
	return strings.Join(list, " ")
}

// nearVariant returns a variant of a text whose hash is near, as far as the test counts the bits itself.
func nearVariant(t testing.TB, number, after int) (variant, distance int) {
	t.Helper()
	hash, _ := content.Simhash(words(number, 0))
	for variant = after + 1; variant < after+200; variant++ {
		other, _ := content.Simhash(words(number, variant))
		if d := content.Distance(hash, other); d > 0 && d <= 3 {
			return variant, d
		}
	}
	t.Fatal("no variant is near")
	return 0, 0
}

// Near duplicates are marked, and name the page and the distance; by option they are dropped.
func TestNearDuplicates(t *testing.T) {
	variant, distance := nearVariant(t, 1, 0)
	near := text{Text: words(1, variant)}
	items := map[string][]any{
		"http://a.test/first": {text{Text: words(1, 0)}},
		"http://a.test/copy":  {&text{Text: strings.ToUpper(words(1, 0))}},
		"http://a.test/near":  {near},
		"http://a.test/other": {text{Text: words(2, 0)}, text{Text: words(2, 0)}}, // twice on one page
		"http://a.test/short": {text{Text: "too short"}, text{Text: "too short"}, text{}, text{}, 7},
	}
	order := []string{"http://a.test/first", "http://a.test/copy", "http://a.test/near", "http://a.test/other", "http://a.test/short"}
	out, err := crawlOrder(t, order, items, pipeline.NearDuplicates(textOf, pipeline.NearOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	var marks []string
	for _, item := range out.passed {
		mark := (*pipeline.NearDuplicate)(nil)
		switch v := item.(type) {
		case text:
			mark = v.Near
		case *text:
			mark = v.Near
		}
		if mark == nil {
			marks = append(marks, "-")
		} else {
			marks = append(marks, fmt.Sprint(strings.TrimPrefix(mark.URL, "http://a.test/"), " ", mark.Distance))
		}
	}
	if want := []string{"-", "first 0", fmt.Sprint("first ", distance), "-", "other 0", "-", "-", "-", "-", "-"}; !slices.Equal(marks, want) {
		t.Errorf("marked %q, want %q", marks, want)
	}
	if items["http://a.test/copy"][0].(*text).Near != nil {
		t.Error("what the parser holds was changed")
	}
	out, err = crawlOrder(t, order, items, pipeline.NearDuplicates(textOf, pipeline.NearOptions{Drop: true}))
	var reason *pipeline.NearError
	if err != nil || len(out.passed) != 7 || len(out.dropped) != 3 || !errors.As(out.dropped[1].Err, &reason) || reason.URL != "http://a.test/first" || reason.Distance != distance {
		t.Errorf("%v: %d passed, dropped %v", err, len(out.passed), out.dropped)
	}
	loose := []any{map[string]any{"t": words(1, 0)}, map[string]any{"t": words(1, 0)}}
	out = pass(t, loose, pipeline.NearDuplicates(func(m map[string]any) string { return m["t"].(string) }, pipeline.NearOptions{Key: "like"}))
	if out.passed[0].(map[string]any)["like"] != nil || out.passed[1].(map[string]any)["like"] != (pipeline.NearDuplicate{URL: "http://a.test/", Distance: 0}) {
		t.Errorf("%v", out.passed)
	}
}

func TestNearDuplicatesMistakes(t *testing.T) {
	_, err := crawl(t, map[string][]any{"http://a.test/": nil}, pipeline.NearDuplicates[inner](nil, pipeline.NearOptions{Documents: -1}),
		pipeline.NearDuplicates(func(inner) string { return "" }, pipeline.NearOptions{Drop: true})) // needs no place
	for _, want := range []string{"NearDuplicates[pipeline_test.inner]: the func is nil", "Documents is -1", "it has no exported field of type *pipeline.NearDuplicate"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
	out, err := crawl(t, map[string][]any{"http://a.test/": {text{Text: words(1, 0)}, text{Text: words(2, 0)}}}, pipeline.NearDuplicates(textOf, pipeline.NearOptions{Documents: 1}))
	var full *content.NearFullError
	if !errors.As(err, &full) || full.Most != 1 {
		t.Errorf("%v, %v", err, out)
	}
	if err := committer(pipeline.NearDuplicates(textOf, pipeline.NearOptions{})).Restore(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "set NearOptions.File") {
		t.Errorf("a job that can be resumed, without a file: %v", err)
	}
}

// stored reads the numbers of the texts in the file of an index, by a reader of the test's own.
func stored(t testing.TB, file string) (numbers []int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for data = []byte(strings.TrimPrefix(string(data), "tegenaria near 1\n")); len(data) > 0; {
		size, width := binary.Uvarint(data[8:])
		var n int
		if _, err := fmt.Sscanf(string(data[8+width:][:size]), "http://a.test/%d", &n); err != nil {
			t.Fatal(err)
		}
		if hash, _ := content.Simhash(words(n, 0)); hash != binary.LittleEndian.Uint64(data) {
			t.Fatalf("text %d has another hash", n)
		}
		numbers = append(numbers, n)
		data = data[8+width+int(size):]
	}
	return numbers
}

// What was settled is in the index once, in its order, whatever crashes; a page that is fetched again is no duplicate of itself.
func TestNearDuplicatesCommit(t *testing.T) {
	file := filepath.Join(t.TempDir(), "near")
	spidertest.TestCommitter(t, spidertest.CommitterHarness{
		Open: func(testing.TB) tegenaria.Committer {
			return committer(pipeline.NearDuplicates(textOf, pipeline.NearOptions{File: file}))
		},
		Stage: func(t testing.TB, c tegenaria.Committer, id string, result int) {
			item, err := stage(t, c, fmt.Sprint("http://a.test/", result), id, text{Text: words(result, 0)})
			if err != nil || item.(text).Near != nil {
				t.Fatalf("%d is near to %v, %v", result, item.(text).Near, err)
			}
		},
		StageLate: func(t testing.TB, c tegenaria.Committer, id string, result int) {
			_, _ = stage(t, c, fmt.Sprint("http://a.test/", result), id, text{Text: words(result, 0)})
		},
		Read: func(t testing.TB) []int { return stored(t, file) },
		Kill: closed,
	})
}

// Random attempts at pages whose texts are alike in groups are staged, discarded, settled and killed. It fails if of
// the settled items of a group not exactly one is unmarked, or one names a page that is not of its group.
func TestNearDuplicatesOverCrashes(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	variants := map[int][]int{}
	for group := range 12 {
		variants[group] = []int{0, 0} // two pages with the same text
		for v := 0; len(variants[group]) < 6; {
			v, _ = nearVariant(t, group, v)
			variants[group] = append(variants[group], v)
		}
	}
	type key struct{ group, page int }
	for round := range 30 {
		file := filepath.Join(t.TempDir(), "near")
		open := func(checkpoint []byte) tegenaria.Committer {
			c := committer(pipeline.NearDuplicates(textOf, pipeline.NearOptions{File: file}))
			if err := c.Restore(t.Context(), checkpoint); err != nil {
				t.Fatal(err)
			}
			return c
		}
		c := open(nil)
		checkpoint, err := c.Prepare(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var todo []key // not staged
		for group, list := range variants {
			for i := range list {
				todo = append(todo, key{group, i})
			}
		}
		slices.SortFunc(todo, func(a, b key) int { return a.group*100 + a.page - b.group*100 - b.page })
		random.Shuffle(len(todo), func(i, j int) { todo[i], todo[j] = todo[j], todo[i] })
		waiting, done := map[key]*pipeline.NearDuplicate{}, map[key]*pipeline.NearDuplicate{}
		idOf := func(k key) string { return fmt.Sprint(k.group, ".", k.page) }
		for len(done) < 12*6 {
			switch random.IntN(8) {
			case 0, 1, 2, 3, 4: // stage
				if len(todo) == 0 {
					break
				}
				k := todo[0]
				todo = todo[1:]
				item, err := stage(t, c, fmt.Sprintf("http://a.test/%d/%d", k.group, k.page), idOf(k), text{Text: words(k.group, variants[k.group][k.page])})
				if err != nil {
					t.Fatal(err)
				}
				waiting[k] = item.(text).Near
			case 5: // discard one
				for k := range waiting {
					c.Discard(idOf(k))
					delete(waiting, k)
					todo = append(todo, k)
					break
				}
			case 6: // settle some
				var ids []string
				var keys []key
				for k := range waiting {
					if random.IntN(2) == 0 {
						ids, keys = append(ids, idOf(k)), append(keys, k)
					}
				}
				next, err := c.Prepare(t.Context(), ids)
				if err != nil {
					t.Fatal(err)
				}
				checkpoint = next
				for _, k := range keys {
					done[k] = waiting[k]
					delete(waiting, k)
				}
			case 7: // kill, sometimes after a batch that was not stored
				if random.IntN(2) == 0 {
					if _, err := c.Prepare(t.Context(), slices.Collect(func(yield func(string) bool) {
						for k := range waiting {
							if !yield(idOf(k)) {
								return
							}
						}
					})); err != nil {
						t.Fatal(err)
					}
				}
				closed(t, c)
				c = open(checkpoint)
				for k := range waiting {
					todo = append(todo, k)
				}
				clear(waiting)
			}
		}
		closed(t, c)
		unmarked := make([]int, 12)
		for k, mark := range done {
			if mark == nil {
				unmarked[k.group]++
			} else if !strings.HasPrefix(mark.URL, fmt.Sprintf("http://a.test/%d/", k.group)) {
				t.Fatalf("round %d: %v names %s", round, k, mark.URL)
			}
		}
		for group, n := range unmarked {
			if n < 1 || n > 1 && allNear(t, group, variants[group]) {
				t.Fatalf("round %d: of group %d %d are unmarked", round, group, n)
			}
		}
	}
}

// allNear reports whether all texts of a group are near each other.
func allNear(t testing.TB, group int, variants []int) bool {
	t.Helper()
	for _, a := range variants {
		for _, b := range variants {
			x, _ := content.Simhash(words(group, a))
			y, _ := content.Simhash(words(group, b))
			if content.Distance(x, y) > content.MaxDistance {
				return false
			}
		}
	}
	return true
}

// In a job that is going on, and in one that was resumed, the same documents are near no other. A deep check has
// 100,000 of them, and weighs them: at most 64 bytes of memory each.
func TestNearDuplicatesMemory(t *testing.T) {
	n := 2_000
	if deep.Checks() {
		n = 100_000
	}
	file := filepath.Join(t.TempDir(), "near")
	var before, after runtime.MemStats
	measure := func(what string, run func() tegenaria.Committer) {
		runtime.GC()
		runtime.ReadMemStats(&before)
		c := run()
		runtime.GC()
		runtime.ReadMemStats(&after)
		each := float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
		t.Logf("%s: %.1f bytes of memory a document", what, each)
		if deep.Checks() && !israce.Enabled && each > 64 {
			t.Errorf("%s: %.1f bytes of memory a document", what, each)
		}
		closed(t, c)
	}
	open := func(checkpoint []byte) tegenaria.Committer {
		c := committer(pipeline.NearDuplicates(textOf, pipeline.NearOptions{File: file, Shingles: 1}))
		if err := c.Restore(t.Context(), checkpoint); err != nil {
			t.Fatal(err)
		}
		return c
	}
	var checkpoint []byte
	added := 0
	measure("a job", func() tegenaria.Committer {
		c := open(nil)
		for i := range n {
			id := fmt.Sprint(i)
			item, err := stage(t, c, fmt.Sprintf("http://a.test/some/longer/path/%d", i), id, text{Text: fmt.Sprint(i, " ", i*7, " ", i*13, " ", i*31, " ", i*101)})
			if err != nil {
				t.Fatal(err)
			}
			if item.(text).Near == nil {
				added++
			}
			if i%100 == 99 {
				if checkpoint, err = c.Prepare(t.Context(), idsOf(i-99, i)); err != nil {
					t.Fatal(err)
				}
			}
		}
		return c
	})
	t.Logf("%d of %d are near no other", added, n)
	measure("resumed", func() tegenaria.Committer { return open(checkpoint) })
}

func idsOf(from, to int) (ids []string) {
	for i := from; i <= to; i++ {
		ids = append(ids, fmt.Sprint(i))
	}
	return ids
}

// BenchmarkNearDuplicates is the cost of an item of 400 words.
func BenchmarkNearDuplicates(b *testing.B) {
	c := committer(pipeline.NearDuplicates(textOf, pipeline.NearOptions{File: filepath.Join(b.TempDir(), "near"), Documents: 10_000_000}))
	if err := c.Restore(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	item := text{Text: words(1, 0)}
	ctx := page("http://a.test/", "1")
	b.ReportAllocs()
	for b.Loop() {
		if err := c.(tegenaria.ContextPipeline).ProcessItemContext(ctx, &tegenaria.ItemMeta{CtxId: "1", Item: item}); err != nil {
			b.Fatal(err)
		}
		c.Discard("1")
	}
	closed(b, c)
}
