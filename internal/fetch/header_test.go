package fetch

import "testing"

// The spelling that was asked for comes first; a field without a value is no field. It fails if the case of a name counts.
func TestFirstHeader(t *testing.T) {
	for _, tt := range []struct {
		header map[string][]string
		want   string
	}{
		{nil, ""},
		{map[string][]string{"Link": {"x"}}, ""},
		{map[string][]string{"Retry-After": {"1", "2"}}, "1"},
		{map[string][]string{"retry-AFTER": {"1", "2"}}, "1"},
		{map[string][]string{"retry-after": {"1"}, "Retry-After": {"2"}}, "2"},
		{map[string][]string{"retry-after": {"1"}, "Retry-After": {}}, "1"},
		{map[string][]string{"retry-after": {}}, ""},
		{map[string][]string{"Retry-After": {""}}, ""},
	} {
		if got := FirstHeader(tt.header, "Retry-After"); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.header, got, tt.want)
		}
	}
}

func TestHasHeader(t *testing.T) {
	for _, tt := range []struct {
		header map[string]string
		want   bool
	}{
		{nil, false},
		{map[string]string{"Content-Length": "1"}, false},
		{map[string]string{"Content-Type": ""}, true},
		{map[string]string{"content-TYPE": "text/plain"}, true},
	} {
		if got := HasHeader(tt.header, "Content-Type"); got != tt.want {
			t.Errorf("%v: %v", tt.header, got)
		}
	}
}

// The case of the standard methods does not count, that of others does. It fails if a word that only looks like POST is taken
// for it.
func TestMethod(t *testing.T) {
	for m, want := range map[string]string{
		"GET": "GET", "get": "GET", "pAtCh": "PATCH", "connect": "CONNECT", "purge": "purge", "PURGE": "PURGE",
		"poſt": "poſt", "post ": "post ", "": "",
	} {
		if got := Method(m); got != want {
			t.Errorf("Method(%q) = %q, want %q", m, got, want)
		}
	}
}
