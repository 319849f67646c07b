package spidertest_test

import (
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/tegenaria/tegenaria/spidertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The resolver's answers come in turn, whichever way it is asked.
func TestHostileResolver(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	r := spidertest.NewHostileResolver(t, []netip.Addr{one}, []netip.Addr{two, one}, []netip.Addr{two})
	for i, look := range []func() ([]netip.Addr, error){
		func() ([]netip.Addr, error) { return r.Resolver().LookupNetIP(t.Context(), "ip", "name.example") },
		func() ([]netip.Addr, error) { return r.LookupNetIP(t.Context(), "ip", "name.example") },
		func() ([]netip.Addr, error) { return r.Resolver().LookupNetIP(t.Context(), "ip4", "other.example") },
		func() ([]netip.Addr, error) { return r.LookupNetIP(t.Context(), "ip4", "other.example") },
	} {
		got, err := look()
		if err != nil || len(got) == 0 {
			t.Fatal(got, err)
		}
		if want := []netip.Addr{one, two, two, two}[i]; got[0] != want || len(got) > 2 {
			t.Errorf("look-up %d: %v, want %v", i, got, want)
		}
	}
	if r.Lookups() != 4 {
		t.Errorf("%d look-ups", r.Lookups())
	}
}
