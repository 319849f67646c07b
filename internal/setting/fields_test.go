package setting_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tegenaria/tegenaria/internal/setting"
)

type bounds struct {
	Pages  int           `json:"pages"`
	Time   time.Duration `json:"time"`
	Bytes  int64         `json:"bytes"`
	SlotBy func(string) int
}

// Fields that are set keep their values, whatever the default.
func TestFill(t *testing.T) {
	own := func(string) int { return 1 }
	b := bounds{Pages: -1, Bytes: 7}
	setting.Fill(&b, bounds{Pages: 10, Time: time.Second, Bytes: 8, SlotBy: own})
	if b.Pages != -1 || b.Time != time.Second || b.Bytes != 7 || b.SlotBy == nil || b.SlotBy("") != 1 {
		t.Errorf("%+v", b)
	}
}

func TestLeftOut(t *testing.T) {
	before := bounds{Pages: 1, Time: 2, SlotBy: func(string) int { return 0 }}
	if got := setting.LeftOut("Limits: ", before, bounds{Time: 3, Bytes: 4}); !slices.Equal(got, []string{"Limits: Pages", "Limits: SlotBy"}) {
		t.Error(got)
	}
	if got := setting.LeftOut("", bounds{}, before); got != nil {
		t.Error(got)
	}
}

// Only the fields that are named are looked at, in that order.
func TestNegative(t *testing.T) {
	var got []string
	b := bounds{Pages: -2, Time: -time.Second, Bytes: -3}
	for name, n := range setting.Negative(b, "of.", "Bytes", "Pages") {
		got = append(got, fmt.Sprint(name, n))
	}
	if want := []string{"of.bytes-3", "of.pages-2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	for range setting.Negative(bounds{Pages: 1}, "", "Pages", "Time") {
		t.Error("neither is negative")
	}
	for name := range setting.Negative(b, "of.", "Bytes", "Pages") {
		if name != "of.bytes" {
			t.Error("it goes on after the loop was left")
		}
		break
	}
}
