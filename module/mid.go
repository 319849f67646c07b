package module

import (
	"net/netip"
	"strconv"
	"strings"
)

// Type is the kind of work a module does.
type Type string

// The types there are.
const (
	TypeDownloader Type = "downloader"
	TypeAnalyzer   Type = "analyzer"
	TypePipeline   Type = "pipeline"
)

// letter returns the letter that stands for t in a [MID], 0 if there is no such type.
func (t Type) letter() byte {
	switch t {
	case TypeDownloader:
		return 'D'
	case TypeAnalyzer:
		return 'A'
	case TypePipeline:
		return 'P'
	}
	return 0
}

func typeOf(letter byte) (Type, bool) {
	switch letter {
	case 'D':
		return TypeDownloader, true
	case 'A':
		return TypeAnalyzer, true
	case 'P':
		return TypePipeline, true
	}
	return "", false
}

// MID is the name of a module: the letter of its type (D, A or P), a serial number and, if it works
// elsewhere, "|" and its address: "D1", "P7|192.0.2.1:8080", "A2|[2001:db8::1]:80". The same module
// has one spelling only: numbers without leading zeros, addresses as [netip.AddrPort] writes them.
type MID string

// Parts is what a [MID] is made of.
type Parts struct {
	Type Type
	SN   uint64
	Addr netip.AddrPort // the zero value if the module works in this process
}

// GenMID makes the name of a module. The zero addr means none. An unknown type, an addr that is not
// valid and one with a zone (it means something else on every machine) are an
// [*IllegalParameterError].
func GenMID(t Type, sn uint64, addr netip.AddrPort) (MID, error) {
	letter := t.letter()
	if letter == 0 {
		return "", illegalType(t)
	}
	b := make([]byte, 0, 64)
	b = append(b, letter)
	b = strconv.AppendUint(b, sn, 10)
	if addr != (netip.AddrPort{}) {
		if !addr.IsValid() || addr.Addr().Zone() != "" {
			return "", &IllegalParameterError{Name: "address", Value: addr.String(), Why: "want an IP address without a zone, and a port"}
		}
		b = append(b, '|')
		b = addr.AppendTo(b)
	}
	return MID(b), nil
}

// SplitMID takes a name apart. It returns exactly what [GenMID] was given; whatever GenMID cannot
// have made is an [*IllegalParameterError].
func SplitMID(mid MID) (Parts, error) {
	illegal := func(why string) (Parts, error) {
		return Parts{}, &IllegalParameterError{Name: "MID", Value: string(mid), Why: why}
	}
	if mid == "" {
		return illegal("empty")
	}
	var p Parts
	var ok bool
	if p.Type, ok = typeOf(mid[0]); !ok {
		return illegal("the first letter is none of D, A, P")
	}
	sn, addr, elsewhere := strings.Cut(string(mid[1:]), "|")
	var err error
	if p.SN, err = strconv.ParseUint(sn, 10, 64); err != nil {
		return illegal("the serial number is not an unsigned 64-bit number")
	}
	if elsewhere {
		if p.Addr, err = netip.ParseAddrPort(addr); err != nil {
			return illegal("the address is not of the form IP:port")
		}
	}
	if canonical, err := GenMID(p.Type, p.SN, p.Addr); err != nil {
		return illegal("the address has a zone")
	} else if canonical != mid {
		return illegal("must be written " + string(canonical))
	}
	return p, nil
}

func illegalType(t Type) error {
	return &IllegalParameterError{Name: "type", Value: string(t), Why: "want downloader, analyzer or pipeline"}
}
