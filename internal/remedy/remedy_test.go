package remedy_test

import (
	"fmt"
	"testing"

	"github.com/tegenaria/tegenaria/internal/remedy"
)

// Of commands that overlap, the newest that still runs has its words; without any they are those of Go.
func TestSpeak(t *testing.T) {
	speaker := func(words string) func(remedy.Setting) string {
		return func(s remedy.Setting) string {
			if s == remedy.Timeout {
				return ""
			}
			return words + " " + string(s)
		}
	}
	said := func(want string) {
		t.Helper()
		if got := fmt.Sprint(remedy.Depth, ", ", remedy.Depth.Name(), ", ", remedy.Timeout); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	said("Limits.Depth, Limits.Depth, RequestWithTimeout")
	end := remedy.Speak(speaker("a"))
	endOther := remedy.Speak(speaker("b"))
	said("b limits.depth, limits.depth, RequestWithTimeout")
	end()
	said("b limits.depth, limits.depth, RequestWithTimeout")
	endOther()
	said("Limits.Depth, Limits.Depth, RequestWithTimeout")
}

func TestInGo(t *testing.T) {
	for setting, want := range map[remedy.Setting]string{
		remedy.Domains: "EngineWithAllowedDomains (or ScopeOptions.Domains)",
		remedy.Overrides + ".www.example.com.per_slot": `Politeness.Overrides["www.example.com"].PerSlot`,
	} {
		if got := setting.String(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
