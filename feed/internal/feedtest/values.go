package feedtest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
)

// Everything has a field of each kind.
type Everything struct {
	ID       int               `json:"id"`
	Text     string            `json:"text"`
	Bytes    []byte            `json:"bytes"`
	Small    int8              `json:"small"`
	Big      int64             `json:"big"`
	Unsigned uint64            `json:"unsigned"`
	Short    float32           `json:"short"`
	Long     float64           `json:"long"`
	Flag     bool              `json:"flag"`
	When     time.Time         `json:"when"`
	Maybe    *string           `json:"maybe"`
	Later    *time.Time        `json:"later"`
	List     []string          `json:"list"`
	Map      map[string]string `json:"map"`
	Any      any               `json:"any"`
	Raw      json.RawMessage   `json:"raw"`
	Number   *big.Int          `json:"number"`
	Address  netip.Addr        `json:"address"`
	Inner    struct{ A, B int }
}

// Values returns items that databases stumble over. All of them fit into the types of each.
func Values() (list []Everything) {
	add := func(change func(e *Everything)) {
		e := Everything{ID: len(list), When: time.Unix(0, 0).UTC(), Address: netip.MustParseAddr("2001:db8::1")}
		change(&e)
		list = append(list, e)
	}
	add(func(*Everything) {})
	for _, text := range texts() {
		add(func(e *Everything) {
			e.Text, e.Maybe, e.List, e.Map, e.Any = text, &text, []string{text, text}, map[string]string{"key " + text: text}, text
		})
	}
	for _, long := range []string{allOfUnicode(), strings.Repeat("long ", 2_000_000)} {
		add(func(e *Everything) { e.Text = long })
		add(func(e *Everything) { e.List = []string{long} })
	}
	add(func(e *Everything) {
		e.Bytes, e.List, e.Map, e.Any, e.Raw = []byte{}, []string{}, map[string]string{}, []any{}, json.RawMessage(`{}`)
	})
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	add(func(e *Everything) { e.Bytes = all })
	for _, n := range []int64{math.MinInt64, math.MaxInt64, -1, 1 << 53, 1<<53 + 1} {
		add(func(e *Everything) { e.Big, e.Small, e.Number, e.Inner.A = n, int8(n), big.NewInt(n), int(n) })
	}
	add(func(e *Everything) { e.Unsigned = math.MaxInt64 })
	add(func(e *Everything) { e.Number = new(big.Int).Exp(big.NewInt(10), big.NewInt(100), nil) })
	for _, f := range []float64{math.MaxFloat64, math.SmallestNonzeroFloat64, -1.5, 0.1, 1e-300, 123456789.125, math.Pi} {
		add(func(e *Everything) { e.Long, e.Short, e.Any = f, float32(min(f, math.MaxFloat32)), f })
	}
	add(func(e *Everything) { e.Long, e.Short = math.Inf(1), float32(math.Inf(-1)) })
	for _, when := range []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC), time.Date(2026, 3, 29, 2, 30, 0, 1000, time.FixedZone("", 3600)),
		time.Date(1582, 10, 10, 0, 0, 0, 0, time.UTC), time.Unix(-1, 500_000_000)} {
		add(func(e *Everything) { e.When, e.Later, e.Flag = when, &when, true })
	}
	return list
}

// Same fails unless an item that was read is the one that was written. Pointers are followed, and times are compared in UTC.
func Same(t testing.TB, got, want Everything) {
	t.Helper()
	if g, w := flat(got), flat(want); !reflect.DeepEqual(g, w) {
		t.Errorf("item %d: %.300s\nwant %.300s", got.ID, fmt.Sprintf("%#v", g), fmt.Sprintf("%#v", w))
	}
}

// flat makes an item comparable: without pointers, and with times in UTC.
func flat(e Everything) []any {
	maybe, later := "NULL", "NULL"
	if e.Maybe != nil {
		maybe = "=" + *e.Maybe
	}
	if e.Later != nil {
		later = e.Later.UTC().String()
	}
	return []any{e.ID, e.Text, e.Bytes, e.Small, e.Big, e.Unsigned, e.Short, e.Long, e.Flag, e.When.UTC().String(), maybe, later, e.List, e.Map, e.Any, string(e.Raw), e.Number.String(), e.Address.String(), e.Inner}
}

func texts() []string {
	list := []string{"", " ", "a,b", `say "x"`, "it's", `back\slash`, `\N`, `\.`, "NULL", "null", "two\nlines", "cr\r\nlf", "\r", "\t", "007", "1e5", "\u2028", "日本語", "😀", "\x01\x02\x7f",
		`\u0000`, `\\u0000`, "'; DROP TABLE books; --", "$1", "%s", "{a,b}", "é", "\ufeff"}
	return list
}

// allOfUnicode has each character but NUL.
func allOfUnicode() string {
	var all strings.Builder
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if r < 0xD800 || r > 0xDFFF {
			all.WriteRune(r)
		}
	}
	return all.String()
}

// Naughty returns the Big List of Naughty Strings, which is given as JSON. None has a NUL.
func Naughty(t testing.TB, data []byte) (list []string) {
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	for _, text := range list {
		if strings.Contains(text, "\x00") {
			t.Fatal("a NUL")
		}
	}
	return list
}
