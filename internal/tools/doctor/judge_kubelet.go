package doctor

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// Kubelet is that of this host.
type Kubelet struct {
	From     string       // where its flags were read: "by its command line", "by FILE"
	NodeIPs  []netip.Addr // those of --node-ip that are addresses of a host; none: it looks for one
	Name     string       // of the node
	Resolves []netip.Addr // what that name stands for here
	Serving  *Serving     // what it shows at its port; nil: it does not answer
	Verified bool         // the apiserver of this host verifies that certificate
}

// CertificateFile is a file with a certificate that something on this host shows to others.
type CertificateFile struct {
	File string
	Ends time.Time
	Left time.Duration // until then, when it was read; 0 or less: it has expired
	Own  bool          // an option of keepvip names it
}

// ClusterSubnet is a subnet that belongs to the cluster's services or pods.
type ClusterSubnet struct {
	File   string
	Line   int
	Flag   string // "--service-cluster-ip-range", "--cluster-cidr"
	Subnet netip.Prefix
}

// judgeClusterSubnets looks for an address that a service or a pod can get as well.
func judgeClusterSubnets(out *findings, f Facts, v config.VIP) {
	for _, p := range v.Addresses {
		for _, s := range f.Subnets {
			if s.Subnet.Contains(p.Addr()) {
				out.say(v.Name, code.ClusterNetwork, Error, "%s is in %s, the %s of %s, line %d", p.Addr(), s.Subnet, strings.TrimLeft(s.Flag, "-"), s.File, s.Line)
			}
		}
	}
}

// judgeFiles looks at the ends of certificates in files.
func judgeFiles(out *findings, f Facts) {
	for _, c := range f.Files {
		kind, says := code.Expiry("the certificate in "+c.File, c.Ends, c.Left)
		if kind == "" {
			continue
		}
		n := Finding{Code: kind, Severity: severe(kind == code.CertificateExpired), What: says}
		if c.Own {
			n.Remedy = "Replace the file, with its key, and reload keepvip."
		}
		out.add(n)
	}
}

// judgeKubelet looks at which address the kubelet takes for the node's, and whether its certificate names it.
func judgeKubelet(out *findings, f Facts) {
	k := f.Kubelet
	if k == nil {
		return
	}
	virtual := func(a netip.Addr) bool { return slices.Contains(f.virtual(), a) }
	say := func(s Severity, format string, args ...any) {
		out.say("", code.KubeletAddress, s, format, args...)
	}
	own := f.ownAddresses()
	named := slices.IndexFunc(k.Resolves, virtual)
	given := slices.IndexFunc(k.NodeIPs, virtual)
	switch {
	case given >= 0:
		say(Error, "the kubelet has --node-ip %s (%s), which is a virtual address", k.NodeIPs[given], k.From)
	case len(k.NodeIPs) > 0:
	case named >= 0:
		say(Error, "the kubelet has no --node-ip (%s), and the name %s of this node stands for %s, a virtual address", k.From, k.Name, k.Resolves[named])
	case len(own) > 0 && own[0].Is6() && slices.ContainsFunc(f.virtual(), netip.Addr.Is4):
		say(Warning, "the kubelet has no --node-ip (%s), and prefers IPv4: this host has addresses of its own in IPv6 alone (%s), so the kubelet takes a virtual one while this node holds it", k.From, own[0])
	case len(f.Default4) == 0 && slices.ContainsFunc(own, netip.Addr.Is4) && slices.ContainsFunc(own, netip.Addr.Is6):
		say(Warning, "the kubelet has no --node-ip (%s), and this host has no default route of IPv4: it goes by that of IPv6", k.From)
	default:
		say(Note, "the kubelet has no --node-ip (%s), and looks for the node's address by itself each time it starts", k.From)
	}
	judgeKubeletCertificate(out, k, own, virtual)
}

func judgeKubeletCertificate(out *findings, k *Kubelet, own []netip.Addr, virtual func(netip.Addr) bool) {
	s := k.Serving
	if s == nil || len(own) == 0 || slices.ContainsFunc(s.Addresses, func(a netip.Addr) bool { return slices.Contains(own, a) }) {
		return
	}
	n := Finding{Code: code.KubeletCertificate, Severity: Note, What: "the certificate that the kubelet shows names no address of this host"}
	if i := slices.IndexFunc(s.Addresses, virtual); i >= 0 {
		n.Severity, n.What = Warning, fmt.Sprintf("%s, but the virtual address %s", n.What, s.Addresses[i])
	}
	if k.Verified {
		n.Severity, n.What = Warning, n.What+", and the apiserver verifies it (--kubelet-certificate-authority): logs and exec of this node's pods fail"
	}
	out.add(n)
}

// ownAddresses are those of this host alone, in the order of `hostname -I`: IPv4 first, without loopback and link-local ones.
func (f Facts) ownAddresses() (out []netip.Addr) {
	var six []netip.Addr
	for _, l := range f.Links {
		if l.Loopback || !l.Up || l.Name == ipvsLink {
			continue
		}
		for _, a := range l.Addresses {
			addr := a.Prefix.Addr()
			switch {
			case a.Ours || addr.IsLinkLocalUnicast() || slices.Contains(f.virtual(), addr) || link.IsContainer(l.Name):
			case addr.Is4():
				out = append(out, addr)
			default:
				six = append(six, addr)
			}
		}
	}
	return append(out, six...)
}
