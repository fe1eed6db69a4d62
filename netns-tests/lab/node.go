package lab

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Node is a host that runs the program under test.
type Node struct {
	*Namespace
	ID      int    // from 1
	Label   string // "n1"
	NICs    []NIC
	Address netip.Addr // own IPv4 address on LAN 0, 10.77.0.(10+ID)
	Addr6   netip.Addr // own IPv6 address on LAN 0, fd77::(10+ID)
	Dir     string     // for sockets, state and configuration of this node alone

	lab   *Lab
	procs []*Process
	api   *APIServer
}

// NIC is one interface of a node.
type NIC struct {
	Name string
	LAN  int
	Host int // the last part of its addresses
	MAC  net.HardwareAddr
	Port string // its port on the switch
}

func (l *Lab) buildNode(id int, names []string) (err error) {
	defer try.Catch(&err)
	label := fmt.Sprintf("n%d", id)
	space := try.Get(l.space(label))
	n := &Node{Namespace: space, ID: id, Label: label, Address: host4(0, 10+id), Addr6: host6(0, 10+id), Dir: l.nodeDir(label), lab: l}
	l.Nodes = append(l.Nodes, n)
	try.Do(os.MkdirAll(n.Dir, 0o755))
	for lan, name := range names {
		n.NICs = append(n.NICs, NIC{Name: name, LAN: lan, Host: 10 + id, MAC: hostMAC(lan, 10+id), Port: fmt.Sprintf("p-%s-%d", label, lan)})
	}
	try.Do(l.plug(space, 10+id, n.NICs...))
	return nil
}

// Client is the lab's on-link client.
func (n *Node) Client() *Peer { return n.lab.Client }

// Others are the last so many nodes of the lab.
func (n *Node) Others(count int) []*Node { return n.lab.Nodes[len(n.lab.Nodes)-count:] }

func (n *Node) routeOffLink() error {
	return n.lab.batch(n.Name, "route add 10.97.0.0/24 via "+host4(0, 254).String()+"\nroute add fd97::/64 via "+host6(0, 254).String())
}

// MoveBehindRouter gives the node other addresses, 10.97.0.x and fd97::x, with which it reaches all others by way of r1 alone, and they it. Each packet
// loses a hop. Its cable stays in the same switch, so it hears what goes to all. The lab has to have the router.
func (n *Node) MoveBehindRouter() (err error) {
	defer try.Catch(&err)
	r := n.lab.Router
	if r == nil {
		return fmt.Errorf("lab: move %s behind the router: the lab was opened without OffLink", n.Label)
	}
	for _, conf := range []string{"all", "eth0"} { // which would tell of a shorter way
		try.Do(r.Sysctl("net/ipv4/conf/"+conf+"/send_redirects", "0"))
	}
	four, six := netip.AddrFrom4([4]byte{10, 97, 0, byte(n.ID + 10)}), netip.MustParseAddr(fmt.Sprintf("fd97::%x", n.ID+10))
	nic := n.NICs[0].Name
	try.Do(n.lab.batch(r.Name, fmt.Sprintf("route add %s/32 dev eth0\nroute add %s/128 dev eth0", four, six)))
	try.Do(n.lab.batch(n.Name, strings.Join([]string{
		"addr flush dev " + nic + " scope global",
		fmt.Sprintf("addr add %s/32 dev %s", four, nic),
		fmt.Sprintf("addr add %s/128 dev %s nodad", six, nic),
		fmt.Sprintf("route replace %s/32 dev %s", r.Address, nic),
		fmt.Sprintf("route replace %s/128 dev %s", r.Addr6, nic),
		fmt.Sprintf("route replace default via %s src %s", r.Address, four),
		fmt.Sprintf("route replace default via %s src %s", r.Addr6, six),
	}, "\n")))
	n.Address, n.Addr6 = four, six
	return nil
}

// CutPort silently stops all traffic of the node at the switch: the carrier
// stays, frames are lost in both directions. It returns when that happened.
func (n *Node) CutPort() (time.Duration, error) { return n.setPorts(brStateDisabled) }

// HealPort undoes [Node.CutPort].
func (n *Node) HealPort() (time.Duration, error) { return n.setPorts(brStateForwarding) }

// setPorts returns the moment before the change: what follows from it may come before a busy machine runs this process again.
func (n *Node) setPorts(state byte) (time.Duration, error) {
	at := n.lab.Now()
	for _, nic := range n.NICs {
		if err := n.lab.setPort(nic.Port, state); err != nil {
			return at, err
		}
	}
	return at, nil
}

// PullCable takes the carrier away from the node's first NIC.
func (n *Node) PullCable() (time.Duration, error) {
	at := n.lab.Now() // see setPorts
	return at, n.lab.ip("-n", n.lab.Switch.Name, "link", "set", n.NICs[0].Port, "down")
}

// PlugCable undoes [Node.PullCable].
func (n *Node) PlugCable() error {
	return n.lab.ip("-n", n.lab.Switch.Name, "link", "set", n.NICs[0].Port, "up")
}

// LinkDown sets the node's first NIC administratively down, which also takes
// its IPv6 addresses; [Node.LinkUp] puts the node's own one back.
func (n *Node) LinkDown() error { return try.Err(n.Run("ip", "link", "set", n.NICs[0].Name, "down")) }

// LinkUp undoes [Node.LinkDown].
func (n *Node) LinkUp() error {
	return n.lab.batch(n.Name, fmt.Sprintf("link set %s up\naddr replace %s/64 dev %s nodad", n.NICs[0].Name, n.Addr6, n.NICs[0].Name))
}

// PowerOff cuts the node off and kills everything that runs on it.
func (n *Node) PowerOff() (time.Duration, error) {
	pids := n.Processes()
	at, err := n.CutPort()
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL)
	}
	n.KillAll()
	return at, err
}

// PowerOn gives a node that was powered off the state of a fresh boot: new
// interfaces with its own addresses only, an empty ruleset, no program running.
func (n *Node) PowerOn() (err error) {
	defer try.Catch(&err)
	n.KillAll()
	try.Get(n.Run("nft", "flush", "ruleset"))
	for i := range n.NICs {
		try.Do(n.DeleteNIC(i))
		try.Do(n.CreateNIC(i))
	}
	return nil
}

// DeleteNIC removes the interface from the node, as unplugging a USB adapter does.
func (n *Node) DeleteNIC(i int) error {
	return n.lab.ip("-n", n.lab.Switch.Name, "link", "del", n.NICs[i].Port)
}

// CreateNIC makes the interface again, with the same name, MAC and addresses.
func (n *Node) CreateNIC(i int) (err error) {
	defer try.Catch(&err)
	nic := n.NICs[i]
	try.Do(n.lab.plug(n.Namespace, nic.Host, nic))
	if n.lab.OffLink != nil && i == 0 {
		return n.routeOffLink()
	}
	return nil
}

// AddTwin gives the node another NIC on LAN 0, with addresses of its own.
func (n *Node) AddTwin(name string) (err error) {
	defer try.Catch(&err)
	nic := NIC{Name: name, Host: 60 + n.ID, MAC: hostMAC(0, 60+n.ID), Port: fmt.Sprintf("p-%s-twin", n.Label)}
	n.NICs = append(n.NICs, nic)
	try.Do(n.lab.plug(n.Namespace, nic.Host, nic))
	for _, link := range []string{"all", n.NICs[0].Name, name} {
		try.Do(n.Sysctl("net/ipv4/conf/"+link+"/rp_filter", "0"))
	}
	return nil
}

// RenameNIC gives an interface another name while it stays up.
func (n *Node) RenameNIC(i int, name string) (err error) {
	defer try.Catch(&err)
	try.Get(n.Run("ip", "link", "set", n.NICs[i].Name, "name", name))
	n.NICs[i].Name = name
	return nil
}

// AddAddress adds an address to the node's first NIC by hand.
func (n *Node) AddAddress(p netip.Prefix) error {
	return try.Err(n.Run("ip", "addr", "add", p.String(), "dev", n.NICs[0].Name, "nodad"))
}

// RemoveAddress removes an address from the node's first NIC by hand.
func (n *Node) RemoveAddress(p netip.Prefix) error {
	return try.Err(n.Run("ip", "addr", "del", p.String(), "dev", n.NICs[0].Name))
}

// Announce sends one gratuitous ARP request or unsolicited neighbour
// advertisement for the address from the node's first NIC, as a person who
// moves an address by hand would.
func (n *Node) Announce(addr netip.Addr) error {
	return announce(n.Namespace, n.NICs[0].Name, n.NICs[0].MAC, addr)
}

// Announce is [Node.Announce] for a host that is no node.
func (p *Peer) Announce(addr netip.Addr) error { return announce(p.Namespace, "eth0", p.MAC, addr) }

// Take gives the peer an address by hand, without a word about it on the link.
func (p *Peer) Take(addr netip.Addr) error {
	return try.Err(p.Run("ip", "addr", "add", netip.PrefixFrom(addr, addr.BitLen()).String(), "dev", "eth0", "nodad"))
}

func announce(space *Namespace, nic string, mac net.HardwareAddr, addr netip.Addr) (err error) {
	defer try.Say(&err, "lab: announce %s from %s", addr, space.Name)
	fd := try.Get(packetSocket(space, 0, try.Get(space.linkIndex(nic))))
	defer unix.Close(fd)
	try.Get(unix.Write(fd, gratuitous(mac, addr)))
	return nil
}

// Addresses lists the node's addresses, without loopback and link-local ones,
// by interface name.
func (n *Node) Addresses() (_ map[string][]netip.Addr, err error) {
	defer try.Say(&err, "lab: interfaces of %s", n.Label)
	found := map[string][]netip.Addr{}
	err = n.Do(func() (err error) {
		defer try.Catch(&err)
		for _, link := range try.Get(net.Interfaces()) {
			addrs, err := link.Addrs()
			if err != nil {
				continue // it went away between the two calls
			}
			for _, a := range addrs {
				p, err := netip.ParsePrefix(a.String())
				if err == nil && !p.Addr().IsLoopback() && !p.Addr().IsLinkLocalUnicast() {
					found[link.Name] = append(found[link.Name], p.Addr())
				}
			}
		}
		return nil
	})
	return found, err
}

// Holds reports whether the node has the address on any interface.
func (n *Node) Holds(addr netip.Addr) bool {
	all, err := doIn(n.Namespace, net.InterfaceAddrs)
	return err == nil && slices.ContainsFunc(all, func(a net.Addr) bool {
		p, err := netip.ParsePrefix(a.String())
		return err == nil && p.Addr() == addr
	})
}

// Path returns a path inside the node's own directory.
func (n *Node) Path(name string) string { return filepath.Join(n.Dir, name) }

// WriteFile puts a file into the node's own directory and returns its path.
func (n *Node) WriteFile(name, content string, mode os.FileMode) (path string, err error) {
	defer try.Say(&err, "lab: write for %s", n.Label)
	path = n.Path(name)
	// A program that is forked meanwhile would hold the file open for writing, and nobody could run it.
	syscall.ForkLock.RLock()
	err = os.WriteFile(path, []byte(content), mode)
	syscall.ForkLock.RUnlock()
	try.Do(err)
	return path, os.Chmod(path, mode)
}
