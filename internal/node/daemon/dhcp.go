package daemon

import (
	"net"

	"github.com/keepvip/keepvip/arp/dhcp"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/dhcplease"
)

// leasesOf are the leases that the holder of v keeps: one for each IPv4 address.
func leasesOf(v config.VIP) (out []dhcplease.Wanted) {
	for _, p := range v.Addresses {
		if a := p.Addr(); v.DHCP.Lease && a.Is4() {
			out = append(out, dhcplease.Wanted{Address: a, ClientID: v.ClientIDOf(a)})
		}
	}
	return out
}

// openDHCP opens a socket on the interface that has the addresses.
func openDHCP(p instance.Place) (dhcplease.Socket, error) {
	mac, err := net.ParseMAC(p.MAC)
	if err != nil {
		return nil, err
	}
	sock, err := dhcp.Open(&net.Interface{Index: p.Index, Name: p.Name, HardwareAddr: mac})
	if err != nil { // and not a Socket that is a nil *dhcp.Conn
		return nil, err
	}
	return sock, nil
}
