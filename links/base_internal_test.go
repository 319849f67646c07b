package links

import (
	"strings"
	"testing"
)

// TestMayHave has the tag at each position, in each case, and what only resembles it.
func TestMayHave(t *testing.T) {
	for pad := range 40 {
		for _, tag := range []string{"<base", "<BASE", "<bAsE href>"} {
			body := strings.Repeat("x", pad) + tag
			if !mayHave([]byte(body), "base") {
				t.Errorf("not found in %q", body)
			}
			if !mayHave([]byte(body+strings.Repeat("<b", 9)), "base") {
				t.Errorf("not found in front of something in %q", body)
			}
		}
		for _, other := range []string{"<bas", "base", "< base", "<b><\x22ase", "<cbase", "</base", "<ba<se"} {
			body := strings.Repeat("< ", pad) + other
			if mayHave([]byte(body), "base") {
				t.Errorf("found in %q", body)
			}
		}
	}
}
