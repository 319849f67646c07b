package tegenaria_test

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"

	"github.com/tegenaria/tegenaria"
)

func TestIsPublicAddr(t *testing.T) {
	for addr, want := range map[string]bool{
		"93.184.216.34": true, "2606:2800:220:1:248:1893:25c8:1946": true, "64:ff9b::5db8:d822": true,
		"127.0.0.1": false, "10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "169.254.169.254": false,
		"100.64.0.1": false, "198.18.0.1": false, "224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false, "0.0.0.0": false,
		"::": false, "::1": false, "fc00::1": false, "fe80::1": false, "fe80::1%eth0": false, "ff02::1": false, "2001:db8::1": false,
		"::ffff:10.1.2.3": false, "64:ff9b::7f00:1": false, "2002:7f00:1::": false,
	} {
		if got := tegenaria.IsPublicAddr(netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %v, want %v", addr, got, want)
		}
	}
	if tegenaria.IsPublicAddr(netip.Addr{}) {
		t.Error("no address is public")
	}
}

// A dialer that refuses private addresses, whatever name they have, when it dials them.
func ExampleIsPublicAddr() {
	dialer := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		addr, err := netip.ParseAddrPort(address)
		if err == nil && !tegenaria.IsPublicAddr(addr.Addr()) {
			err = &tegenaria.PrivateAddressError{Host: addr.Addr().String(), Addr: addr.Addr()}
		}
		return err
	}}
	_, err := dialer.Dial("tcp", "127.0.0.1:80")
	fmt.Println(err)
	// Output: dial tcp 127.0.0.1:80: 127.0.0.1 is no public address; Politeness.AllowPrivate allows it (127.0.0.1/32, say)
}
