package link_test

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

func ExampleChoose() {
	links := []link.Link{
		{Index: 2, Name: "eth0", Addresses: []link.Address{{Prefix: netip.MustParsePrefix("192.168.7.5/24")}}},
		{Index: 3, Name: "eth1", Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.11/24")}}},
	}
	l, _ := link.Choose(links, netip.MustParseAddr("10.77.0.100"), "")
	fmt.Println(l.Name)

	_, err := link.Choose(links, netip.MustParseAddr("10.78.0.100"), "")
	fmt.Println(errors.Is(err, link.ErrNoSubnet), link.Addressed(links, netip.MustParseAddr("10.78.0.100")))
	// Output:
	// eth1
	// true true
}
