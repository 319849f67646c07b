package content_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/content"
	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/israce"
)

// found returns what Find finds, in the order of the numbers.
func found(n *content.Near, hash uint64) (list [][2]int) {
	for id, distance := range n.Find(hash) {
		list = append(list, [2]int{id, distance})
	}
	slices.SortFunc(list, func(a, b [2]int) int { return a[0] - b[0] })
	return list
}

// add adds a hash, and returns its number.
func add(t testing.TB, index *content.Near, hash uint64) int {
	t.Helper()
	id, err := index.Add(hash)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// byForce is the independent witness: it looks at all hashes.
func byForce(hashes map[int]uint64, hash uint64) (list [][2]int) {
	for id, h := range hashes {
		if d := content.Distance(h, hash); d <= content.MaxDistance {
			list = append(list, [2]int{id, d})
		}
	}
	slices.SortFunc(list, func(a, b [2]int) int { return a[0] - b[0] })
	return list
}

// flip changes up to n bits.
func flip(random *rand.Rand, hash uint64, n int) uint64 {
	for range n {
		hash ^= 1 << random.IntN(64)
	}
	return hash
}

// Random steps on an index and on a map. It fails if a hash is missed, found twice or found after it was removed.
func TestNearByForce(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	index, hashes := content.NewNear(0), map[int]uint64{}
	var ids []int
	for step := range 6000 {
		hash := random.Uint64()
		if len(ids) > 0 && random.IntN(3) > 0 { // a neighbour
			hash = flip(random, hashes[ids[random.IntN(len(ids))]], random.IntN(5))
		}
		if got, want := found(index, hash), byForce(hashes, hash); !slices.Equal(got, want) {
			t.Fatalf("step %d: %#x: found %v, want %v", step, hash, got, want)
		}
		if random.IntN(4) == 0 && len(ids) > 0 {
			at := random.IntN(len(ids))
			index.Remove(ids[at])
			delete(hashes, ids[at])
			ids = slices.Delete(ids, at, at+1)
		} else {
			id, err := index.Add(hash)
			if _, used := hashes[id]; used || err != nil || index.Hash(id) != hash {
				t.Fatalf("step %d: %d is used: %v, %v", step, id, used, err)
			}
			hashes[id] = hash
			ids = append(ids, id)
		}
		if index.Len() != len(hashes) {
			t.Fatalf("step %d: %d hashes, want %d", step, index.Len(), len(hashes))
		}
	}
}

// Every way to change three bits is found, and no change of four that leaves a band equal.
func TestNearDistances(t *testing.T) {
	index := content.NewNear(0)
	const hash = 0x0123456789abcdef
	add(t, index, hash)
	for a := range 64 {
		for b := range a + 1 {
			for c := range b + 1 {
				near := uint64(hash) ^ 1<<a ^ 1<<b ^ 1<<c
				if got := found(index, near); len(got) != 1 || got[0] != [2]int{0, content.Distance(near, hash)} {
					t.Fatalf("bits %d, %d, %d: %v", a, b, c, got)
				}
			}
		}
	}
	for a := 3; a < 64; a++ {
		if got := found(index, hash^7^1<<a); got != nil {
			t.Fatalf("four bits, the last is %d: %v", a, got)
		}
	}
}

func TestNearIsFull(t *testing.T) {
	index := content.NewNear(2)
	for range 2 {
		add(t, index, 1)
	}
	var full *content.NearFullError
	if _, err := index.Add(2); !errors.As(err, &full) || full.Most != 2 || !strings.Contains(err.Error(), "has 2 documents") {
		t.Errorf("the third: %v", err)
	}
	index.Remove(0)
	if id, err := index.Add(1<<63 | 1); id != 0 || err != nil || len(found(index, 1)) != 2 {
		t.Errorf("in its place: %d, %v", id, err)
	}
}

// document is a text of 200 words, and which one it was made from.
type document struct {
	text string
	base int
	edit string // "": it is an original
}

// edited are documents: nine of ten are originals, the others are copies with a small edit.
func edited(random *rand.Rand, n int) (list []document) {
	edits := []struct {
		name string
		make func(words []string) []string
	}{
		{"a copy", func(w []string) []string { return w }},
		{"a word changed", func(w []string) []string { w[random.IntN(len(w))] = "changed"; return w }},
		{"a word more", func(w []string) []string { return slices.Insert(w, random.IntN(len(w)), "more") }},
		{"a word less", func(w []string) []string { i := random.IntN(len(w)); return slices.Delete(w, i, i+1) }},
		{"two words swapped", func(w []string) []string { i := random.IntN(len(w) - 1); w[i], w[i+1] = w[i+1], w[i]; return w }},
		{"a line more", func(w []string) []string { return append(w, "seen", "on", "page", fmt.Sprint(random.IntN(1000))) }},
		{"another case", func(w []string) []string { w[0] = strings.ToUpper(w[0]); return w }},
	}
	for len(list) < n {
		words := wordsOf(random, 200)
		base := len(list)
		list = append(list, document{strings.Join(words, " "), base, ""})
		if random.IntN(9) == 0 && len(list) < n {
			e := edits[random.IntN(len(edits))]
			list = append(list, document{strings.Join(e.make(slices.Clone(words)), " "), base, e.name})
		}
	}
	return list
}

// Many documents (100,000 in a deep check), of which one in ten is a copy with a known edit. All copies whose hash is near are found, and what else is found is
// near by the count of a loop; it is reported which edits stay within three bits, and how many pairs are no copies.
func TestNearOfDocuments(t *testing.T) {
	n := 10_000
	if deep.Checks() && !israce.Enabled {
		n = 100_000
	}
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	documents := edited(random, n)
	index, hashes := content.NewNear(0), make([]uint64, 0, n)
	copies, within, falsePairs := map[string]int{}, map[string]int{}, 0
	var before, after runtime.MemStats
	for i, d := range documents {
		hash, _ := content.Simhash(d.text)
		isFound := false
		for id, distance := range index.Find(hash) {
			if got := content.Distance(hashes[id], hash); got != distance || distance > content.MaxDistance {
				t.Fatalf("documents %d and %d differ in %d bits, it says %d", i, id, got, distance)
			}
			isFound = isFound || id == d.base
			if documents[id].base != d.base {
				falsePairs++
			}
		}
		if d.edit != "" {
			copies[d.edit]++
			if near := content.Distance(hashes[d.base], hash) <= content.MaxDistance; near != isFound {
				t.Fatalf("document %d (%s) is near its original: %v, found: %v", i, d.edit, near, isFound)
			} else if near {
				within[d.edit]++
			}
		}
		if id, err := index.Add(hash); id != i || err != nil {
			t.Fatalf("document %d is %d, %v", i, id, err)
		}
		hashes = append(hashes, hash)
	}
	for range 500 { // recall and precision, by force
		hash := flip(random, hashes[random.IntN(n)], random.IntN(5))
		want := 0
		for _, h := range hashes {
			if content.Distance(h, hash) <= content.MaxDistance {
				want++
			}
		}
		if got := found(index, hash); len(got) != want {
			t.Fatalf("near %#x there are %d, found %d", hash, want, len(got))
		}
	}
	for edit, all := range copies {
		t.Logf("%-18s %5d, within %d bits %5.1f %%", edit, all, content.MaxDistance, 100*float64(within[edit])/float64(all))
	}
	if within["a copy"] != copies["a copy"] || within["another case"] != copies["another case"] {
		t.Error("copies are missed")
	}
	t.Logf("%d pairs are near and no copies", falsePairs)
	if falsePairs > n/1000 {
		t.Errorf("%d pairs are near and no copies", falsePairs)
	}

	documents, index = nil, nil
	runtime.GC()
	runtime.ReadMemStats(&before)
	index = content.NewNear(0)
	for _, h := range hashes {
		add(t, index, h)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := float64(after.HeapAlloc-before.HeapAlloc) / float64(n)
	runtime.KeepAlive(index)
	t.Logf("%.1f bytes of memory a document", each)
	if deep.Checks() && !israce.Enabled && n == 100_000 && each > 64 {
		t.Errorf("%.1f bytes of memory a document", each)
	}
}

// FuzzNear takes eight bytes as a hash that is added, and finds all neighbours of all hashes.
func FuzzNear(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00\x01\x00\x01\x00\x01\x00\x01\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		index, hashes := content.NewNear(0), map[int]uint64{}
		for ; len(data) >= 8 && len(hashes) < 300; data = data[8:] {
			hash := binary.LittleEndian.Uint64(data)
			if got, want := found(index, hash), byForce(hashes, hash); !slices.Equal(got, want) {
				t.Fatalf("%#x: found %v, want %v", hash, got, want)
			}
			if hash%5 == 0 && len(hashes) > 0 {
				for id := range hashes {
					index.Remove(id)
					delete(hashes, id)
					break
				}
				continue
			}
			hashes[add(t, index, hash)] = hash
		}
	})
}

func BenchmarkNear(b *testing.B) {
	for _, n := range []int{1000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			random := rand.New(rand.NewPCG(1, 1))
			index := content.NewNear(n + 1)
			for range n {
				add(b, index, random.Uint64())
			}
			b.ReportAllocs()
			for b.Loop() {
				hash := random.Uint64()
				for range index.Find(hash) {
				}
				id, _ := index.Add(hash)
				index.Remove(id)
			}
		})
	}
}

func ExampleNear() {
	pages := []string{
		strings.Repeat("All the news that is fit to print, and some that is not. ", 9),
		strings.Repeat("all the news that is fit to print and some that is not ", 9) + "Printed by us.",
		"Another text",
	}
	index := content.NewNear(0)
	for _, text := range pages {
		hash, _ := content.Simhash(text)
		for id, distance := range index.Find(hash) {
			fmt.Println("like document", id, "but for", distance, "bits")
		}
		id, _ := index.Add(hash)
		fmt.Println("document", id)
	}
	// Output:
	// document 0
	// like document 0 but for 0 bits
	// document 1
	// document 2
}
