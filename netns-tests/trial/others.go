package trial

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// holding is a product with which the address is bound on all nodes: what tells its holder is something else.
type holding interface {
	Holds(n *lab.Node, a netip.Addr) bool
}

// VRRPd runs FRR's zebra and vrrpd with VRRPv3, for comparison. It follows no check.
type VRRPd struct{}

func (VRRPd) Name() string { return "FRR vrrpd" }

// Start implements [Product]; the process is vrrpd's.
func (VRRPd) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	if s.API {
		return nil, fmt.Errorf("trial: %s follows no check", VRRPd{}.Name())
	}
	s.VRID = cmp.Or(s.VRID, vrrpdVRID)
	// Where vrrpd alone was killed its zebra lives.
	try.Get(n.Run("sh", "-c", fmt.Sprintf("[ ! -e %[1]q ] || kill -9 $(cat %[1]q) 2>/dev/null || true", n.Path("frr/zebra.pid"))))
	// A Backup has the addresses as well: without this its other interface answers questions for them.
	try.Get(n.Run("sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=1"))
	return RunFRR(n, Router{Name: "apiserver", Settings: s})
}

const vrrpdVRID = 51

// Holds implements [holding]: a Backup's macvlan interface has the addresses as well, and is down by protodown.
func (VRRPd) Holds(n *lab.Node, a netip.Addr) bool {
	out, err := n.Run("ip", "-brief", "link", "show", "dev", fmt.Sprintf("vrrp%d", vrrpdVRID), "up")
	return err == nil && strings.Contains(out, "LOWER_UP") && n.Holds(a)
}

// UCARP runs Debian's ucarp, for comparison. It follows no check, and knows IPv4 alone. Its scripts bind the address; it announces by itself.
type UCARP struct{}

func (UCARP) Name() string { return "ucarp" }

func (UCARP) Start(n *lab.Node, s Settings) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	if s.API || slices.ContainsFunc(s.Addresses, netip.Addr.Is6) {
		return nil, fmt.Errorf("trial: %s follows no check, and knows IPv4 alone", UCARP{}.Name())
	}
	scripts := map[string]string{"add": "", "del": ""}
	for verb := range scripts {
		var batch strings.Builder
		for _, a := range s.Addresses {
			fmt.Fprintf(&batch, "addr %s %s dev %s\n", verb, prefix(a), n.NICs[0].Name)
		}
		list := try.Get(n.WriteFile("ucarp."+verb+".batch", batch.String(), 0o644))
		scripts[verb] = try.Get(n.WriteFile("ucarp."+verb, fmt.Sprintf("#!/bin/sh\nexec ip -force -batch %q\n", list), 0o755))
	}
	base, skew := advskew(s)
	return n.StartCommand(lab.Command{Name: "ucarp", Args: []string{
		"ucarp", "--interface=" + n.NICs[0].Name, "--srcip=" + n.Address.String(), "--vhid=51", "--pass=secret", "--addr=" + s.Addresses[0].String(),
		"--advbase=" + strconv.Itoa(base), "--advskew=" + strconv.Itoa(skew), "--upscript=" + scripts["add"], "--downscript=" + scripts["del"], "--preempt", "--shutdown",
	}})
}

// advskew is the interval as ucarp has it: seconds, one at least (with none it goes back and forth), and 256ths of a second. The best rank has the least.
func advskew(s Settings) (base, skew int) {
	return max(int(s.Interval/time.Second), 1), (255 - s.Priority) / 10
}
