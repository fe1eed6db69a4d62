package lab

import (
	"fmt"
	"net"
)

// ChangeMAC gives the node's first NIC another MAC address while it is up, as a bond's fail_over_mac does. Measurements that run ask the node at
// that one from then on.
func (n *Node) ChangeMAC(mac net.HardwareAddr) error {
	if _, err := n.Run("ip", "link", "set", n.NICs[0].Name, "address", mac.String()); err != nil {
		return err
	}
	n.lab.changeMAC(n, mac)
	return nil
}

// ResetMAC undoes [Node.ChangeMAC].
func (n *Node) ResetMAC() error { return n.ChangeMAC(hostMAC(n.NICs[0].LAN, n.NICs[0].Host)) }

func (l *Lab) changeMAC(n *Node, mac net.HardwareAddr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n.NICs[0].MAC = mac
	for m := range l.measures {
		if m.direct != nil {
			m.direct.prepareAll()
		}
	}
}

// ApplyAddressesAgain deletes the node's own addresses and adds them again immediately, as a network manager does that is restarted.
func (n *Node) ApplyAddressesAgain() error {
	return n.lab.batch(n.Name, n.dropAddresses()+"\n"+n.putAddressesBack())
}

// DropAddresses takes the node's own addresses away, both on its first NIC.
func (n *Node) DropAddresses() error { return n.lab.batch(n.Name, n.dropAddresses()) }

// PutAddressesBack undoes [Node.DropAddresses].
func (n *Node) PutAddressesBack() error { return n.lab.batch(n.Name, n.putAddressesBack()) }

func (n *Node) dropAddresses() string {
	nic := n.NICs[0].Name
	return fmt.Sprintf("addr del %s/24 dev %s\naddr del %s/64 dev %s", n.Address, nic, n.Addr6, nic)
}

func (n *Node) putAddressesBack() string {
	nic := n.NICs[0].Name
	return fmt.Sprintf("addr replace %s/24 brd + dev %s\naddr replace %s/64 dev %s nodad", n.Address, nic, n.Addr6, nic)
}

// SwitchIPv6Off takes IPv6 and all its addresses away from the node's first NIC; [Node.SwitchIPv6On] puts the node's own one back.
func (n *Node) SwitchIPv6Off() error {
	return n.Sysctl("net/ipv6/conf/"+n.NICs[0].Name+"/disable_ipv6", "1")
}

// SwitchIPv6On undoes [Node.SwitchIPv6Off].
func (n *Node) SwitchIPv6On() error {
	if err := n.Sysctl("net/ipv6/conf/"+n.NICs[0].Name+"/disable_ipv6", "0"); err != nil {
		return err
	}
	return n.PutAddressesBack()
}
