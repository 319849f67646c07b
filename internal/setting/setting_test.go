package setting_test

import (
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/setting"
)

type policy struct {
	Delay time.Duration `json:"delay"`
	Pages int           `json:"pages"`
}

type throttle struct {
	Target float64 `json:"target"`
}

type group struct {
	Delay     time.Duration     `json:"delay"`
	By        func(string) int  `json:"by"`
	Throttle  *throttle         `json:"throttle"`
	Overrides map[string]policy `json:"overrides"`
	Allow     []netip.Prefix    `json:"allow"`
	hidden    int
}

type settings struct {
	On    bool      `json:"on"`
	Count uint      `json:"count"`
	Bytes int64     `json:"bytes"`
	Names []string  `json:"names"`
	Since time.Time `json:"since"`
	Group group     `json:"group"`
	Other string
}

func TestSet(t *testing.T) {
	day := time.Date(2026, 2, 3, 0, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		key, text string
		want      settings
		err       string
	}{
		{"on", "true", settings{On: true}, ""},
		{"group.hidden", "1", settings{Group: group{hidden: 0}}, `there is no setting "group.hidden"`}, // it is not exported
		{"on", "yes", settings{}, `on: "yes" is neither true nor false`},
		{"count", "7", settings{Count: 7}, ""},
		{"count", "-7", settings{}, `count: "-7" is no whole number without a sign`},
		{"count", "99999999999999999999", settings{}, `count: "99999999999999999999" is out of range`},
		{"bytes", "3 MiB", settings{Bytes: 3 << 20}, ""},
		{"bytes", "2kB", settings{Bytes: 2000}, ""},
		{"bytes", "9999999999999GiB", settings{}, `bytes: "9999999999999GiB" is out of range`},
		{"bytes", "MiB", settings{}, `bytes: "MiB" is no whole number`},
		{"names", "a, b,,c", settings{Names: []string{"a", "b", "c"}}, ""},
		{"names", "", settings{Names: []string{}}, ""},
		{"since", "2026-02-03", settings{Since: day}, ""},
		{"since", "2026-02-03T00:00:00Z", settings{Since: day}, ""},
		{"since", "yesterday", settings{}, `since: "yesterday" is no time; write it as 2006-01-02 or 2006-01-02T15:04:05Z`},
		{"group.delay", "1.5s", settings{Group: group{Delay: 1500 * time.Millisecond}}, ""},
		{"group.delay", "5", settings{}, `group.delay: "5" is no duration; write it with a unit, such as 500ms, 10s or 1h30m`},
		{"group.throttle", "true", settings{Group: group{Throttle: &throttle{}}}, ""},
		{"group.throttle", "false", settings{}, ""},
		{"group.throttle.target", "2.5", settings{Group: group{Throttle: &throttle{2.5}}}, ""},
		{"group.overrides.www.example.com.delay", "2s", settings{Group: group{Overrides: map[string]policy{"www.example.com": {Delay: 2 * time.Second}}}}, ""},
		{"group.overrides.localhost.pages", "2", settings{Group: group{Overrides: map[string]policy{"localhost": {Pages: 2}}}}, ""},
		{"group.overrides.www.example.com.dealy", "2s", settings{}, `there is no setting "group.overrides.www.example.com.dealy"; did you mean "group.overrides.www.example.com.delay"?`},
		{"group.allow", "10.0.0.0/8,::1/128", settings{Group: group{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}}}, ""},
		{"group.by", "f", settings{}, "group.by: it is a func, and is set in code"},
		{"group", "1", settings{}, "group is a group of settings; name one of them, such as group.delay"},
		{"group.overrides", "1", settings{}, "group.overrides is a group of settings; name one of them, such as group.overrides.www.example.com.delay"},
		{"grup.delay", "1s", settings{}, `there is no setting "grup.delay"; did you mean "group.delay"?`},
		{"delay", "1s", settings{}, `there is no setting "delay"; did you mean "group.delay"?`},
		{"colour", "1s", settings{}, `there is no setting "colour"`},
		{"on.off", "1s", settings{}, `there is no setting "on.off"`},
		{"Other", "1s", settings{}, `there is no setting "Other"`},
		{"", "1s", settings{}, `there is no setting ""`},
	} {
		var got settings
		err := setting.Set(&got, setting.Split(test.key), test.text)
		if text := fmt.Sprint(err); text != test.err && !(err == nil && test.err == "") {
			t.Errorf("%s=%s: the error is %s\nand not %s", test.key, test.text, text, test.err)
		}
		if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s=%s: %+v and not %+v", test.key, test.text, got, test.want)
		}
	}
}

// A map and a struct that others hold is not changed by Set.
func TestSetCopies(t *testing.T) {
	overrides, slow := map[string]policy{"a": {Pages: 1}}, &throttle{1}
	s := settings{Group: group{Overrides: overrides, Throttle: slow}}
	if err := errors.Join(setting.Set(&s, []string{"group", "overrides", "a", "delay"}, "1s"), setting.Set(&s, []string{"group", "throttle", "target"}, "3")); err != nil {
		t.Fatal(err)
	}
	if overrides["a"].Delay != 0 || slow.Target != 1 {
		t.Error("the original has changed")
	}
	if s.Group.Overrides["a"] != (policy{time.Second, 1}) || s.Group.Throttle.Target != 3 {
		t.Errorf("the result is %+v", s)
	}
}

// What List says can be given to Set, and makes the same struct.
func TestListRoundTrip(t *testing.T) {
	s := settings{On: true, Count: 3, Bytes: 5, Names: []string{"a", "b"}, Since: time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Group: group{Delay: time.Minute, Throttle: &throttle{0.5}, Overrides: map[string]policy{"b.c": {Pages: 2}, "a": {Delay: 1}}, Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}
	var again settings
	var keys []string
	for _, leaf := range setting.List(&s) {
		keys = append(keys, leaf.Key)
		if leaf.Fixed {
			continue
		}
		if err := setting.Set(&again, setting.Split(leaf.Key), leaf.Text); err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(again, s) {
		t.Errorf("%+v became %+v", s, again)
	}
	const want = "on count bytes names since group.delay group.by group.throttle group.throttle.target group.overrides.a.delay group.overrides.a.pages group.overrides.b.c.delay group.overrides.b.c.pages group.allow"
	if got := strings.Join(keys, " "); got != want {
		t.Errorf("the keys are\n%s, not\n%s", got, want)
	}
}

func TestTypeName(t *testing.T) {
	for want, v := range map[string]any{
		"text": "", "number": 1, "yes or no": true, "duration": time.Second, "time": time.Time{}, "list of number": []uint64{}, "prefix": netip.Prefix{},
	} {
		if got := setting.TypeName(reflect.TypeOf(v)); got != want || !setting.Parsable(reflect.TypeOf(v)) {
			t.Errorf("%T is %q, not %q, or is not parsable", v, got, want)
		}
	}
	for _, v := range []any{struct{}{}, [][]string{}, map[string]int{}, func() {}} {
		if setting.Parsable(reflect.TypeOf(v)) {
			t.Errorf("%T is parsable", v)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"quotes", "books", "category"}
	for word, want := range map[string]string{
		"qoutes": "quotes", "quote": "quotes", "boks": "books", "categroy": "category", "Category": "category",
		"": "", "x": "", "authors": "", "bo": "", strings.Repeat("quotes", 50): "",
	} {
		if got := setting.Nearest(word, names); got != want {
			t.Errorf("nearest to %q is %q, not %q", word, got, want)
		}
	}
}

func Example() {
	var s settings
	fmt.Println(setting.Set(&s, setting.Split("group.dely"), "1s"))
	fmt.Println(setting.Set(&s, setting.Split("group.delay"), "1s"))
	text, err := setting.JSON(&s.Group)
	fmt.Println(string(text), err)
	// Output:
	// there is no setting "group.dely"; did you mean "group.delay"?
	// <nil>
	// {"allow":[],"by":"","delay":"1s","overrides":{},"throttle":null} <nil>
}

// No text makes it panic, and one that it takes is understood again as it is written.
func FuzzSet(f *testing.F) {
	f.Add("group.delay", "1s")
	f.Add("bytes", "3MiB")
	f.Add("group.overrides.a.b.delay", "1s")
	f.Fuzz(func(t *testing.T, key, text string) {
		var s, again settings
		if setting.Set(&s, setting.Split(key), text) != nil {
			return
		}
		for _, leaf := range setting.List(&s) {
			if leaf.Fixed {
				continue
			}
			if err := setting.Set(&again, setting.Split(leaf.Key), leaf.Text); err != nil && !strings.Contains(leaf.Key, "overrides") {
				t.Fatal(err)
			}
		}
		for _, leaf := range setting.List(&again) {
			for _, other := range setting.List(&s) {
				if leaf.Key == other.Key && leaf.Text != other.Text {
					t.Fatalf("%s: %q became %q", leaf.Key, other.Text, leaf.Text)
				}
			}
		}
	})
}
