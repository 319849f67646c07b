package page

import (
	"maps"
	"testing"
)

// A later word on a cookie counts: that of the Cookie header, then that of the response. The case of names of headers does not matter.
func TestKnownCookies(t *testing.T) {
	got := known(map[string]string{"cookie": "b=2; c=2", "X": "d=2"}, map[string]string{"a": "1", "b": "1"},
		map[string][]string{"set-cookie": {"c=3; Path=/", "e=3", "\x00"}})
	if want := map[string]string{"a": "1", "b": "2", "c": "3", "e": "3"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := known(nil, nil, nil); len(got) != 0 {
		t.Errorf("%v of nothing", got)
	}
}
