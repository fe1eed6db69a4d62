package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// State is what a program may change on a node's host.
type State struct {
	Addresses, Routes, Rules, Ruleset, Sysctls string
}

// State reads the node's addresses, routes, rules, nftables ruleset and network
// sysctls in a comparable form: lifetimes and counters are left out.
func (n *Node) State() (s State, err error) {
	defer try.Catch(&err)
	s.Addresses = lifetimes.ReplaceAllString(try.Get(n.Run("ip", "addr", "show")), "")
	for _, family := range []string{"-4", "-6"} {
		lines := slices.Sorted(strings.Lines(expires.ReplaceAllString(try.Get(n.Run("ip", family, "route", "show", "table", "all")), "")))
		s.Routes += strings.Join(lines, "")
		s.Rules += try.Get(n.Run("ip", family, "rule"))
	}
	s.Ruleset = try.Get(n.Run("nft", "-s", "list", "ruleset"))
	s.Sysctls, err = n.sysctls()
	return s, err
}

// lifetimes and expires are for how long an address or a route goes on, which changes by itself.
var (
	lifetimes = regexp.MustCompile(`valid_lft \S+ preferred_lft \S+`)
	expires   = regexp.MustCompile(`expires [0-9]*sec`)
)

// sysctls are the settings of the node's links and those of IPv4, each in a line, but for what the kernel chooses and for router advertisements.
func (n *Node) sysctls() (string, error) {
	var b strings.Builder
	err := n.Do(func() (err error) {
		defer try.Catch(&err)
		roots := try.Get(filepath.Glob("/proc/sys/net/ipv4/ip_*"))
		for _, root := range append([]string{"/proc/sys/net/ipv4/conf", "/proc/sys/net/ipv6/conf"}, roots...) {
			try.Do(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) { // of a link that has just gone
					return nil
				}
				if err != nil || d.IsDir() {
					return err
				}
				if text, err := os.ReadFile(path); err == nil && !strings.Contains(path, "stable_secret") && !strings.Contains(path, "ra_") { // some are for writing alone
					fmt.Fprintf(&b, "%s:%s", path, text)
				}
				return nil
			}))
		}
		return nil
	})
	return b.String(), err
}

// ChangeMAC gives the node's first NIC another MAC address while it is up, as a bond's fail_over_mac does. Measurements that run ask the node at
// that one from then on.
func (n *Node) ChangeMAC(mac net.HardwareAddr) (err error) {
	defer try.Catch(&err)
	try.Get(n.Run("ip", "link", "set", n.NICs[0].Name, "address", mac.String()))
	n.lab.mu.Lock()
	defer n.lab.mu.Unlock()
	n.NICs[0].MAC = mac
	for m := range n.lab.measures {
		if m.direct != nil {
			m.direct.prepareAll()
		}
	}
	return nil
}

// ResetMAC undoes [Node.ChangeMAC].
func (n *Node) ResetMAC() error { return n.ChangeMAC(hostMAC(n.NICs[0].LAN, n.NICs[0].Host)) }

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
func (n *Node) SwitchIPv6On() (err error) {
	defer try.Catch(&err)
	try.Do(n.Sysctl("net/ipv6/conf/"+n.NICs[0].Name+"/disable_ipv6", "0"))
	return n.PutAddressesBack()
}
