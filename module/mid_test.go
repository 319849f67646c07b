package module_test

import (
	"errors"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/module"
)

func TestMID(t *testing.T) {
	types := map[module.Type]string{module.TypeDownloader: "D", module.TypeAnalyzer: "A", module.TypePipeline: "P"}
	numbers := map[uint64]string{0: "0", 1: "1", math.MaxUint64: "18446744073709551615"}
	addrs := map[string]string{
		"":                    "",
		"127.0.0.1:8080":      "|127.0.0.1:8080",
		"0.0.0.0:0":           "|0.0.0.0:0",
		"[2001:db8::1]:65535": "|[2001:db8::1]:65535",
		"[::]:1":              "|[::]:1",
		"[::ffff:1.2.3.4]:80": "|[::ffff:1.2.3.4]:80",
	}
	for typ, letter := range types {
		for sn, number := range numbers {
			for addr, suffix := range addrs {
				want := module.MID(letter + number + suffix)
				t.Run(string(want), func(t *testing.T) {
					parts := module.Parts{Type: typ, SN: sn}
					if addr != "" {
						parts.Addr = netip.MustParseAddrPort(addr)
					}
					mid, err := module.GenMID(parts.Type, parts.SN, parts.Addr)
					if err != nil || mid != want {
						t.Errorf("GenMID = %q, %v; want %q", mid, err, want)
					}
					if got, err := module.SplitMID(want); err != nil || got != parts {
						t.Errorf("SplitMID = %+v, %v; want %+v", got, err, parts)
					}
				})
			}
		}
	}
}

func TestGenMIDIllegal(t *testing.T) {
	good := netip.MustParseAddrPort("192.0.2.1:80")
	tests := []struct {
		name string
		typ  module.Type
		addr netip.AddrPort
		bad  string // parameter
	}{
		{"empty type", "", good, "type"},
		{"unknown type", "scheduler", good, "type"},
		{"letter for type", "D", good, "type"},
		{"port alone", module.TypeAnalyzer, netip.AddrPortFrom(netip.Addr{}, 80), "address"},
		{"zone", module.TypeAnalyzer, netip.MustParseAddrPort("[fe80::1%eth0]:80"), "address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mid, err := module.GenMID(tt.typ, 1, tt.addr)
			wantIllegal(t, err, tt.bad)
			if mid != "" {
				t.Errorf("MID %q with an error", mid)
			}
		})
	}
}

func wantIllegal(t *testing.T, err error, name string) {
	t.Helper()
	var illegal *module.IllegalParameterError
	if !errors.As(err, &illegal) || illegal.Name != name {
		t.Errorf("error %v, want an IllegalParameterError of %s", err, name)
	}
}

func TestSplitMIDIllegal(t *testing.T) {
	tests := []struct{ mid, why string }{
		{"", "empty"},
		{"D", "serial"},
		{"X1", "letter"},
		{"d1", "letter"},
		{"\xff1", "letter"},
		{"1", "letter"},
		{"D-1", "serial"},
		{"D+1", "serial"},
		{"D1x", "serial"},
		{"D 1", "serial"},
		{"D0x1", "serial"},
		{"D18446744073709551616", "serial"},
		{"D|127.0.0.1:80", "serial"},
		{"D01", "must be written D1"},
		{"D1|", "address"},
		{"D1|127.0.0.1", "address"},
		{"D1|127.0.0.1:", "address"},
		{"D1|127.0.0.1:-1", "address"},
		{"D1|127.0.0.1:65536", "address"},
		{"D1|127.0.0.256:80", "address"},
		{"D1|localhost:80", "address"},
		{"D1|:80", "address"},
		{"D1|::1:80", "address"},
		{"D1|127.0.0.1:80|", "address"},
		{"D1|127.0.0.1:080", "must be written D1|127.0.0.1:80"},
		{"D1|[0:0::1]:80", "must be written D1|[::1]:80"},
		{"D1|[fe80::1%eth0]:80", "zone"},
	}
	for _, tt := range tests {
		t.Run(tt.mid, func(t *testing.T) {
			parts, err := module.SplitMID(module.MID(tt.mid))
			wantIllegal(t, err, "MID")
			if parts != (module.Parts{}) {
				t.Errorf("parts %+v with an error", parts)
			}
			if err != nil && !strings.Contains(err.Error(), tt.why) {
				t.Errorf("error %q does not say %q", err, tt.why)
			}
		})
	}
}

func FuzzMID(f *testing.F) {
	for _, s := range []string{"", "D1", "A0|127.0.0.1:80", "P18446744073709551615|[::1]:0", "D01", "X", "D1|[fe80::1%a|b]:80",
		"A1|[::ffff:1.2.3.4]:1"} {
		f.Add(s, uint8(0), uint64(7), []byte{127, 0, 0, 1}, uint16(80))
	}
	f.Add("D1", uint8(2), uint64(math.MaxUint64), make([]byte, 16), uint16(0))
	f.Fuzz(func(t *testing.T, s string, kind uint8, sn uint64, ip []byte, port uint16) {
		// What can be split is what is generated from its parts.
		if parts, err := module.SplitMID(module.MID(s)); err == nil {
			if mid, err := module.GenMID(parts.Type, parts.SN, parts.Addr); err != nil || string(mid) != s {
				t.Errorf("GenMID(SplitMID(%q)) = %q, %v", s, mid, err)
			}
		}
		// What is generated splits into what it was made of.
		want := module.Parts{Type: []module.Type{module.TypeDownloader, module.TypeAnalyzer, module.TypePipeline, "x"}[kind%4], SN: sn}
		if addr, ok := netip.AddrFromSlice(ip); ok {
			want.Addr = netip.AddrPortFrom(addr, port)
		}
		mid, err := module.GenMID(want.Type, want.SN, want.Addr)
		if (err != nil) != (want.Type == "x") {
			t.Fatalf("GenMID(%+v): %v", want, err)
		}
		if err != nil {
			return
		}
		if got, err := module.SplitMID(mid); err != nil || got != want {
			t.Errorf("SplitMID(%q) = %+v, %v; want %+v", mid, got, err, want)
		}
	})
}

func TestSNGenerator(t *testing.T) {
	tests := []struct {
		name       string
		start, max uint64
		wantMax    uint64
		want       []uint64
		cycles     uint64
	}{
		{"wraps", 3, 5, 5, []uint64{3, 4, 5, 3, 4, 5, 3}, 2},
		{"one number", 7, 7, 7, []uint64{7, 7, 7}, 3},
		{"from zero", 0, 1, 1, []uint64{0, 1, 0}, 1},
		{"no maximum", 1, 0, math.MaxUint64, []uint64{1, 2, 3}, 0},
		{"wraps at the largest", math.MaxUint64 - 1, 0, math.MaxUint64, []uint64{math.MaxUint64 - 1, math.MaxUint64, math.MaxUint64 - 1}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			g, err := module.NewSNGenerator(tt.start, tt.max)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range tt.want {
				if next, got := g.Next(), g.Get(); next != want || got != want {
					t.Errorf("number %d: Next %d, Get %d; want %d", i, next, got, want)
				}
			}
			if g.Start() != tt.start || g.Max() != tt.wantMax || g.CycleCount() != tt.cycles {
				t.Errorf("start %d, max %d, cycles %d; want %d, %d, %d", g.Start(), g.Max(), g.CycleCount(), tt.start, tt.wantMax, tt.cycles)
			}
		})
	}
	_, err := module.NewSNGenerator(2, 1)
	wantIllegal(t, err, "start")
}
