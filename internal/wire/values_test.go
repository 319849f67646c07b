package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/internal/wire"
)

type point struct{ X, Y int }

type color string

type ownBytes []byte

var values = &wire.Values{Types: map[string]reflect.Type{"point": reflect.TypeFor[point](), "points": reflect.TypeFor[*point]()}}

// print prints values with their types, and instants by themselves.
func print(v any) string {
	switch v := v.(type) {
	case time.Time:
		return "time:" + v.UTC().Format(time.RFC3339Nano)
	case *point:
		return fmt.Sprintf("*%v", *v)
	case map[string]any:
		s := fmt.Sprintf("map(%v){", v == nil)
		for _, k := range sortedKeys(v) {
			s += k + "=" + print(v[k]) + " "
		}
		return s + "}"
	case []any:
		s := fmt.Sprintf("list(%v)[", v == nil)
		for _, e := range v {
			s += print(e) + " "
		}
		return s + "]"
	case []time.Time:
		s := "times["
		for _, e := range v {
			s += print(e) + " "
		}
		return s + "]"
	}
	return fmt.Sprintf("%#v", v)
}

func sortedKeys(m map[string]any) []string {
	return slices.Sorted(maps.Keys(m))
}

func randomText(rng *rand.Rand) string {
	b := make([]byte, rng.IntN(12))
	for i := range b {
		b[i] = byte(rng.UintN(256))
	}
	return string(b)
}

// randomValue returns a value that can be written.
func randomValue(rng *rand.Rand, depth int) any {
	n := 30
	if depth > 3 {
		n = 20
	}
	switch rng.IntN(n) {
	case 0:
		return nil
	case 1:
		return rng.IntN(2) == 0
	case 2:
		return randomText(rng)
	case 3:
		return []byte(randomText(rng))
	case 4:
		return rng.Int() - rng.Int()
	case 5:
		return int8(rng.Int())
	case 6:
		return int16(rng.Int())
	case 7:
		return int32(rng.Int())
	case 8:
		return int64(math.MinInt64)
	case 9:
		return uint(rng.Uint64())
	case 10:
		return uint8(rng.Int())
	case 11:
		return uint16(rng.Int())
	case 12:
		return uint32(rng.Int())
	case 13:
		return rng.Uint64()
	case 14:
		return rng.Float32()
	case 15:
		return math.Copysign(0, -1)
	case 16:
		return math.Inf(1)
	case 17:
		return time.Unix(rng.Int64N(1<<34), rng.Int64N(1e9)).In(time.FixedZone("x", 3600))
	case 18:
		return point{rng.IntN(9), 2}
	case 19:
		return &point{1, rng.IntN(9)}
	case 20:
		return []string{randomText(rng), ""}
	case 21:
		return []string(nil)
	case 22:
		return map[string]int{randomText(rng): 1, "": 2}
	case 23:
		return map[string][]float64{"a": {1, rng.Float64()}, "b": nil}
	case 24:
		return []map[string]bool{{randomText(rng): true}, nil, {}}
	case 25:
		return []time.Time{time.Unix(1, 2), {}}
	case 26:
		return []point{{1, 2}, {3, 4}}
	case 27:
		return map[string][]byte{"x": []byte(randomText(rng)), "nil": nil}
	}
	if rng.IntN(2) == 0 {
		list := []any{}
		for range rng.IntN(4) {
			list = append(list, randomValue(rng, depth+1))
		}
		return list
	}
	m := map[string]any{}
	for range rng.IntN(4) {
		m[randomText(rng)] = randomValue(rng, depth+1)
	}
	return m
}

// Every value that is written is restored exactly, with its type. It fails if a value is written without the type of what an any
// in it holds.
func TestValuesRoundTrip(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 1))
	for range 10_000 {
		value := randomValue(rng, 0)
		data, err := values.Append([]byte("before"), value)
		if err != nil {
			t.Fatalf("%s: %v", print(value), err)
		}
		data, ok := bytes.CutPrefix(data, []byte("before"))
		if !ok {
			t.Fatal("Append did not append")
		}
		d := wire.Decoder{Rest: append(bytes.Clone(data), "after"...)}
		back, err := values.Read(&d)
		if err != nil || string(d.Rest) != "after" {
			t.Fatalf("%s: %v, %q is left", print(value), err, d.Rest)
		}
		if print(back) != print(value) {
			t.Fatalf("written %s\nread    %s", print(value), print(back))
		}
		if again, err := values.Append(nil, back); err != nil || !bytes.Equal(again, data) {
			t.Fatalf("%s written again: %x, %v; want %x", print(value), again, err, data)
		}
	}
}

// A value that would be read as another type is refused. It fails if a named type is written by its kind.
func TestUnfitValues(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = cycle
	for name, value := range map[string]any{
		"struct":                 struct{ A int }{1},
		"named string":           color("red"),
		"slice of named strings": []color{"red"},
		"named slice":            ownBytes("x"),
		"duration":               time.Second,
		"pointer":                new(int),
		"func":                   func() {},
		"channel":                make(chan int),
		"array":                  [2]int{},
		"complex":                complex(1, 2),
		"map of numbers":         map[int]string{1: "a"},
		"error":                  io.EOF,
		"deep inside":            []any{map[string]any{"y": color("red")}},
		"cycle":                  cycle,
	} {
		data, err := values.Append([]byte("x"), value)
		if unfit := (*wire.UnfitError)(nil); !errors.As(err, &unfit) {
			t.Errorf("%s: %x, %v", name, data, err)
		}
	}
}

// A type whose name nobody knows is an error, unless the reader only looks. It fails if Raw is not obeyed.
func TestUnknownTypes(t *testing.T) {
	data, err := values.Append(nil, []any{point{1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	none := &wire.Values{}
	_, err = none.Read(&wire.Decoder{Rest: data})
	if unknown := (*wire.UnknownTypeError)(nil); !errors.As(err, &unknown) || unknown.Name != "point" {
		t.Errorf("error %v", err)
	}
	raw := &wire.Values{Raw: true}
	got, err := raw.Read(&wire.Decoder{Rest: data})
	if want := []any{json.RawMessage(`{"X":1,"Y":2}`)}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
