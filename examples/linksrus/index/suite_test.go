package index_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/examples/linksrus/graph"
	"github.com/tegenaria/tegenaria/examples/linksrus/index"
)

func TestMain(m *testing.M) {
	// The import of bleve starts workers that stay.
	goleak.VerifyTestMain(m, goleak.IgnoreCurrent())
}

// Both indexes pass the same tests.
func TestIndex(t *testing.T) {
	stores := map[string]func(t *testing.T) index.Index{
		"memory": func(*testing.T) index.Index { return index.NewMemory() },
		"bleve":  func(t *testing.T) index.Index { return open(t, filepath.Join(t.TempDir(), "index")) },
	}
	tests := []struct {
		name string
		test func(t *testing.T, idx index.Index)
	}{
		{"documents", testDocuments},
		{"queries", testQueries},
		{"order", testOrder},
		{"many scores", testScores},
		{"words without end", testLongWords},
		{"pages of results", testPages},
		{"a document indexed again", testReplace},
		{"concurrent use", testConcurrent},
		{"done context", testDone},
	}
	for name, store := range stores {
		t.Run(name, func(t *testing.T) {
			for _, test := range tests {
				t.Run(test.name, func(t *testing.T) {
					idx := store(t)
					test.test(t, idx)
					if err := idx.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

func open(t *testing.T, dir string) *index.Bleve {
	t.Helper()
	idx, err := index.OpenBleve(dir)
	if err != nil {
		t.Fatal(err)
	}
	return idx
}

// add indexes documents, each of which is a title and a content with a slash between.
func add(t *testing.T, idx index.Index, texts ...string) {
	t.Helper()
	for _, text := range texts {
		title, content, _ := strings.Cut(text, "/")
		doc := &index.Document{LinkID: id(title), URL: "http://host/" + title, Title: title, Content: content, IndexedAt: time.Now()}
		if err := idx.Index(t.Context(), doc); err != nil {
			t.Fatal(err)
		}
	}
}

func id(title string) uuid.UUID { return graph.LinkID(title) }

// titles of what a query finds.
func titles(t *testing.T, idx index.Index, q index.Query) []string {
	t.Helper()
	result, err := idx.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	found := []string{}
	for _, doc := range result.Documents {
		found = append(found, doc.Title)
	}
	if q.Offset == 0 && q.Limit == 0 && len(found) < 10 && result.Total != len(found) {
		t.Errorf("%+v: total is %d, with %q", q, result.Total, found)
	}
	return found
}

func testDocuments(t *testing.T, idx index.Index) {
	if _, err := idx.FindByID(t.Context(), id("x")); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("an unknown document: %v", err)
	}
	if err := idx.UpdateScore(t.Context(), id("x"), 1); !errors.Is(err, index.ErrNotFound) {
		t.Errorf("the score of an unknown document: %v", err)
	}
	if err := idx.Index(t.Context(), &index.Document{URL: "http://a/"}); !errors.Is(err, index.ErrNoLinkID) {
		t.Errorf("no LinkID: %v", err)
	}
	want := index.Document{LinkID: id("x"), URL: "http://host/ä?b=<c>", Title: "<Titel> & \"mehr\"", Content: "",
		IndexedAt: time.Now().UTC().Round(0), Score: 12}
	if err := idx.Index(t.Context(), &want); err != nil {
		t.Fatal(err)
	}
	want.Score = 0 // no score was given by UpdateScore
	got, err := idx.FindByID(t.Context(), id("x"))
	if err != nil || *got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if err := idx.UpdateScore(t.Context(), id("x"), 0.123456789012345); err != nil {
		t.Fatal(err)
	}
	want.Score = 0.123456789012345
	if got, err := idx.FindByID(t.Context(), id("x")); err != nil || *got != want {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
}

func testQueries(t *testing.T, idx index.Index) {
	add(t, idx,
		"Anna/All happy families are alike; each unhappy family is unhappy in its own way.",
		"Moby/Call me Ishmael. Some years ago - never mind how long precisely",
		"Alice/Down the Rabbit-Hole: Alice was beginning to get very tired. Happy, all families!",
		"Python os.path/Return a normalized absolutized version of the pathname os.path.join(a, b)",
		"Übung/Größe, naïve café, 日本語 テスト, Ελλάδα, x_y 3.11, ΟΔΟΣ ΆΣΟΣ, İzmir, ǅ",
		"Empty/")
	tests := []struct {
		query string
		want  []string
	}{
		{"happy", []string{"Alice", "Anna"}},
		{"HAPPY", []string{"Alice", "Anna"}},
		{"happy families", []string{"Alice", "Anna"}},
		{"families happy", []string{"Alice", "Anna"}},
		{"alike tired", []string{}},
		{"anna unhappy", []string{"Anna"}}, // one in the title, one in the content
		{`"happy families"`, []string{"Anna"}},
		{`"families happy"`, []string{}},
		{`"all happy families are alike each"`, []string{"Anna"}},
		{`"happy all families"`, []string{"Alice"}}, // punctuation only separates
		{`"anna all"`, []string{}},                  // title and content are not side by side
		{`"rabbit hole"`, []string{"Alice"}},
		{"alice", []string{"Alice"}},
		{`"call"`, []string{"Moby"}},
		{`"way"`, []string{"Anna"}},
		{`"is unhappy in"`, []string{"Anna"}},
		{"path", []string{"Python os.path"}},
		{`"os path join"`, []string{"Python os.path"}},
		{`"python os"`, []string{"Python os.path"}},
		{"pathna", []string{}}, // no beginnings of words
		{"ÜBUNG größe", []string{"Übung"}},
		{"grosse", []string{}},
		{"日本語", []string{"Übung"}},
		{"ελλάδα", []string{"Übung"}},
		{"ΟΔΟΣ", []string{"Übung"}},
		{"άσος", []string{}}, // of two small sigmas only one is the capital's
		{"İzmir", []string{"Übung"}},
		{"izmir", []string{"Übung"}},
		{"Ǆ", []string{"Übung"}},
		{"x_y", []string{"Übung"}},
		{`"3.11"`, []string{"Übung"}},
		{"happy happy", []string{"Alice", "Anna"}},
		{`"happy happy"`, []string{}},
		{"", []string{}},
		{`""`, []string{}},
		{`"`, []string{}},
		{" -!? ", []string{}},
		{"content:happy", []string{}}, // no query language
		{"happ*", []string{}},
	}
	for _, test := range tests {
		got := titles(t, idx, index.ParseQuery(test.query))
		slices.Sort(got)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, want %q", test.query, got, test.want)
		}
	}
	for _, q := range []index.Query{{Offset: -1}, {Limit: -1}} {
		if _, err := idx.Search(t.Context(), q); !errors.Is(err, index.ErrBadQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

// Words of megabytes must cost what their length is, and be found by their beginning.
func testLongWords(t *testing.T, idx index.Index) {
	long := strings.Repeat("ö", 1<<20) // an odd beginning puts the bound inside of a character
	add(t, idx, "long/before x"+long+" behind", "short/x"+long[:index.MaxTerm-10])
	for _, test := range []struct{ query, want string }{
		{"x" + long, "long"},
		{"x" + long[:index.MaxTerm], "long"},
		{"x" + long[:index.MaxTerm-2], "long"},
		{"x" + long[:index.MaxTerm-10], "short"},
		{`"before x` + long + ` behind"`, "long"},
		{`"before behind"`, ""},
	} {
		got := strings.Join(titles(t, idx, index.ParseQuery(test.query)), " ")
		if got != test.want {
			t.Errorf("%.20s… of %d bytes: %q, want %q", test.query, len(test.query), got, test.want)
		}
	}
	for _, word := range index.Terms("x" + long) {
		if len(word) > index.MaxTerm {
			t.Errorf("a term of %d bytes", len(word))
		}
	}
	marked := index.Highlight("x"+long, index.ParseQuery("x"+long))
	if len(marked) != 1 || !marked[0].Marked {
		t.Error("the long word is not marked")
	}
}

// The words of a page decide, those of its title before all, then its rank does.
func testOrder(t *testing.T, idx index.Index) {
	filler := strings.Repeat(" and so on", 100)
	add(t, idx,
		"json encoder and decoder/reads and writes json"+filler,
		"json in other modules/a list without the word"+filler,
		"index of all modules/json csv re"+filler,
		"what is new/a module json was added"+filler,
		"csv reader/rows"+strings.Repeat(" csv", 50)+filler,
		"rows of tables/"+strings.Repeat("csv ", 500),
		"first twin/an unlinked spider"+filler,
		"second twin/an unlinked spider"+filler,
		"third twin/an unlinked spider"+filler,
		"short/regular expressions",
		"long/regular expressions"+filler,
		"often/"+strings.Repeat("regular expressions ", 5)+filler)
	for title, score := range map[string]float64{"index of all modules": 0.6, "what is new": 0.2, "rows of tables": 0.1,
		"third twin": 0.02, "second twin": 1e-9} {
		if err := idx.UpdateScore(t.Context(), id(title), score); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		query string
		want  []string
	}{
		{"json", []string{"json encoder and decoder", "json in other modules", "index of all modules", "what is new"}}, // title, then rank
		{`"json"`, []string{"json encoder and decoder", "json in other modules", "index of all modules", "what is new"}},
		{"csv", []string{"csv reader", "rows of tables", "index of all modules"}}, // 500 times in a page of rank are less than the title
		{"json modules", []string{"json in other modules", "index of all modules"}},
		{"unlinked spider", []string{"third twin", "second twin", "first twin"}}, // a small rank is more than none
		{"regular expressions", []string{"often", "short", "long"}},
		{`"regular expressions"`, []string{"often", "short", "long"}},
	} {
		if got := titles(t, idx, index.ParseQuery(test.query)); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.query, got, test.want)
		}
	}
}

// Both indexes give the same documents in the same order, whatever was replaced and however often a word stands where.
func TestSameOrder(t *testing.T) {
	memory, disk := index.NewMemory(), open(t, filepath.Join(t.TempDir(), "index"))
	defer disk.Close()
	words := strings.Fields("a b c d e f g h")
	random := rand.New(rand.NewPCG(1, 2))
	text := func(most int) string {
		var text []string
		for range random.IntN(most) {
			text = append(text, words[min(random.IntN(len(words)), random.IntN(len(words)))])
		}
		return strings.Join(text, " ")
	}
	for i := range 150 { // a third of them twice
		doc := index.Document{LinkID: id(fmt.Sprint(i % 100)), URL: "http://host/", Title: text(6), Content: text(300), IndexedAt: time.Now()}
		score := random.Float64() / 50
		for _, idx := range []index.Index{memory, disk} {
			if err := errors.Join(idx.Index(t.Context(), &doc), idx.UpdateScore(t.Context(), doc.LinkID, score)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, query := range []string{"a", "h", "a h", "d d", "g h", "a b c d", `"g h"`, `"a b a"`} {
		q := index.ParseQuery(query)
		q.Limit = 200
		a, err := memory.Search(t.Context(), q)
		b, err2 := disk.Search(t.Context(), q)
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		same := func(a, b *index.Document) bool { return a.LinkID == b.LinkID && a.Score == b.Score }
		if a.Total < 2 || a.Total != b.Total || !slices.EqualFunc(a.Documents, b.Documents, same) {
			t.Errorf("%s: the index in memory finds %d documents, that on the disk %d, or in another order", query, a.Total, b.Total)
		}
	}
}

func testScores(t *testing.T, idx index.Index) {
	scores := map[uuid.UUID]float64{id("unknown"): 1}
	for i := range 150 { // more than are written at once
		title := fmt.Sprint(i)
		add(t, idx, title+"/some words")
		scores[id(title)] = float64(i + 1)
	}
	for range 2 { // the second time they are the same
		if err := idx.UpdateScores(t.Context(), maps.All(scores)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 150 {
		if doc, err := idx.FindByID(t.Context(), id(fmt.Sprint(i))); err != nil || doc.Score != float64(i+1) || doc.Content != "some words" {
			t.Errorf("%d: %+v, %v", i, doc, err)
		}
	}
	if got := titles(t, idx, index.Query{Expression: "words", Limit: 3}); !slices.Equal(got, []string{"149", "148", "147"}) {
		t.Errorf("the best are %q", got)
	}
	if err := idx.UpdateScores(t.Context(), maps.All(map[uuid.UUID]float64{})); err != nil {
		t.Errorf("no scores: %v", err)
	}
}

func testPages(t *testing.T, idx index.Index) {
	var want []string
	for i := range 25 {
		add(t, idx, fmt.Sprintf("%02d/same words everywhere", i))
		want = append(want, fmt.Sprintf("%02d", i))
	}
	slices.SortFunc(want, func(a, b string) int { return strings.Compare(id(a).String(), id(b).String()) })
	for _, c := range []struct{ offset, limit, from, to int }{
		{0, 0, 0, 10}, {0, 10, 0, 10}, {10, 10, 10, 20}, {20, 10, 20, 25}, {25, 10, 25, 25}, {1000, 1, 25, 25}, {0, 100, 0, 25}, {24, 1, 24, 25},
	} {
		q := index.Query{Expression: "same everywhere", Offset: c.offset, Limit: c.limit}
		result, err := idx.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, doc := range result.Documents {
			got = append(got, doc.Title)
		}
		if result.Total != 25 || !slices.Equal(got, want[c.from:c.to]) {
			t.Errorf("%+v: %d in all, %q, want %q", q, result.Total, got, want[c.from:c.to])
		}
	}
}

func testReplace(t *testing.T, idx index.Index) {
	add(t, idx, "page/old words", "other/old words")
	if err := idx.UpdateScore(t.Context(), id("page"), 0.75); err != nil {
		t.Fatal(err)
	}
	add(t, idx, "page/new words")
	for query, want := range map[string][]string{"old": {"other"}, "new": {"page"}, "words": {"page", "other"}} {
		if got := titles(t, idx, index.ParseQuery(query)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if doc, err := idx.FindByID(t.Context(), id("page")); err != nil || doc.Score != 0.75 || doc.Content != "new words" {
		t.Errorf("got %+v, %v", doc, err)
	}
}

func testConcurrent(t *testing.T, idx index.Index) {
	add(t, idx, "0/common", "1/common", "2/common", "3/common")
	var workers sync.WaitGroup
	for worker := range 4 {
		workers.Go(func() {
			for i := range 10 {
				title := fmt.Sprint(i % 4)
				doc := &index.Document{LinkID: id(title), Title: title, Content: fmt.Sprintf("common by %d", worker), IndexedAt: time.Now()}
				err := errors.Join(idx.Index(t.Context(), doc), idx.UpdateScore(t.Context(), id(title), float64(i%4)))
				if err != nil {
					t.Error(err)
				}
				if got := titles(t, idx, index.ParseQuery("common")); len(got) != 4 {
					t.Errorf("found %q", got)
				}
			}
		})
	}
	workers.Wait()
	if got, want := titles(t, idx, index.ParseQuery("common")), []string{"3", "2", "1", "0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func testDone(t *testing.T, idx index.Index) {
	add(t, idx, "page/words")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	doc := &index.Document{LinkID: id("other"), Title: "other"}
	_, find := idx.FindByID(ctx, id("page"))
	_, search := idx.Search(ctx, index.ParseQuery("words"))
	_, nothing := idx.Search(ctx, index.Query{})
	for name, err := range map[string]error{
		"Index": idx.Index(ctx, doc), "FindByID": find, "Search": search, "Search for nothing": nothing,
		"UpdateScore":  idx.UpdateScore(ctx, id("page"), 1),
		"UpdateScores": idx.UpdateScores(ctx, maps.All(map[uuid.UUID]float64{id("page"): 1})),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A directory is there again when it is opened again, with what was indexed last.
func TestReopen(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	idx := open(t, dir)
	add(t, idx, "page/words")
	if err := idx.UpdateScore(t.Context(), id("page"), 0.5); err != nil {
		t.Fatal(err)
	}
	if err := idx.Close(); err != nil {
		t.Fatal(err)
	}
	idx = open(t, dir)
	add(t, idx, "second/words")
	if got, want := titles(t, idx, index.ParseQuery("words")), []string{"page", "second"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := idx.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestOpenMistakes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "letter.txt"), []byte("of somebody else"), 0o600); err != nil {
		t.Fatal(err)
	}
	if idx, err := index.OpenBleve(dir); err == nil || !strings.Contains(err.Error(), "no index") {
		t.Errorf("a directory with other files: %v, %v", idx, err)
	}
	used := filepath.Join(t.TempDir(), "used")
	idx := open(t, used)
	defer idx.Close()
	if second, err := index.OpenBleve(used); err == nil {
		t.Errorf("opened twice: %v", second.Close())
	}
}
