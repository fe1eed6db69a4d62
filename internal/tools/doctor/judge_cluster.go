package doctor

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
)

// ipvsLink is where kube-proxy puts the addresses of services in mode ipvs.
const ipvsLink = "kube-ipvs0"

// judgeCheck refuses a check that asks whoever holds an address. One that names the entry's own address the configuration refuses.
func judgeCheck(out *findings, f Facts, v config.VIP) {
	for _, c := range v.AllChecks() {
		host := HostOf(c)
		asked := f.Names[host]
		if a, err := netip.ParseAddr(host); err == nil {
			asked = []netip.Addr{a.Unmap()}
		}
		if !slices.ContainsFunc(asked, func(a netip.Addr) bool { return slices.Contains(f.virtual(), a) }) {
			continue
		}
		out.say(v.Name, code.CheckOnAddress, Error, "a check of %s asks %s, which is a virtual address: it says how the holder is, and not how this host is", v.Name, host)
	}
}

// HostOf is the host that a check asks, by name or address; "" for one that asks none.
func HostOf(c config.ListedCheck) string {
	if c.Kind == config.CheckTCP {
		host, _, _ := net.SplitHostPort(c.Address)
		return host
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// judgeCluster compares the addresses with what the cluster believes.
func judgeCluster(out *findings, f Facts) {
	for _, s := range f.Certificates {
		judgeExpiry(out, s)
		i := slices.IndexFunc(f.VIPs, func(v config.VIP) bool { return v.Name == s.VIP })
		if i < 0 || s.names(f.VIPs[i], f.Endpoints) {
			continue
		}
		out.say(s.VIP, code.CertificateWithoutAddress, Error, "the certificate of %s names neither %s nor the name that the cluster's files have for it", s.URL, first(f.VIPs[i]))
	}
	for _, e := range f.Endpoints {
		judgeEndpoint(out, f, e)
	}
	for _, c := range f.Connections {
		judgeConnection(out, c)
	}
	judgeIPVS(out, f)
}

// judgeExpiry looks when clients will refuse the certificate. The check of this node may go on: without a CA it verifies nothing.
func judgeExpiry(out *findings, s Serving) {
	if s.Ends.IsZero() {
		return
	}
	if c, says := code.Expiry("the certificate of "+s.URL, s.Ends, s.Left); c != "" {
		out.add(Finding{Code: c, Severity: severe(c == code.CertificateExpired), VIP: s.VIP, What: says})
	}
}

func judgeEndpoint(out *findings, f Facts, e Endpoint) {
	n := Finding{Code: code.EndpointDiffers, Severity: Warning, What: fmt.Sprintf("%s: %s is at %s, which is no virtual address here", e.File, e.Key, e.Host)}
	if e.Key == controlPlaneEndpoint {
		n.Code = code.ControlPlaneEndpointDiffers
	}
	switch {
	case f.isVirtual(e):
		return
	case e.Key == controlPlaneEndpoint && e.Host == "":
		n.What = fmt.Sprintf("%s: there is no %s in it", e.File, e.Key)
	case e.Key == controlPlaneEndpoint && !e.Address.IsValid() && len(e.Resolves) == 0:
		n.What = fmt.Sprintf("%s: %s is at %s, and no name server knows an address of it", e.File, e.Key, e.Host)
	case e.Key != controlPlaneEndpoint && (e.local() || !f.holdsAPIServer()):
		return
	}
	out.add(n)
}

// controlPlaneEndpoint is the key of kubeadm's ClusterConfiguration. Unlike the server of a kubeconfig it is for the whole cluster.
const controlPlaneEndpoint = "controlPlaneEndpoint"

// holdsAPIServer tells whether an address here may be the apiserver's: without a check, or with one by HTTPS. Those of an ingress may be all.
func (f Facts) holdsAPIServer() bool {
	return slices.ContainsFunc(f.VIPs, func(v config.VIP) bool {
		all := v.AllChecks()
		return len(all) == 0 || slices.ContainsFunc(all, func(c config.ListedCheck) bool { return c.Kind == config.CheckHTTPS })
	})
}

// names tells whether clients of the address take the certificate: it names the address, or a name by which the cluster's files know it.
func (s Serving) names(v config.VIP, endpoints []Endpoint) bool {
	if slices.Contains(s.Addresses, first(v)) {
		return true
	}
	return slices.ContainsFunc(endpoints, func(e Endpoint) bool {
		return !e.Address.IsValid() && s.hasName(e.Host) && slices.Contains(e.Resolves, first(v))
	})
}

// hasName tells whether the certificate is for a name: it has it, in any case of letters, or "*" for its first label (RFC 9525, section 6.3).
func (s Serving) hasName(host string) bool {
	host = strings.TrimSuffix(host, ".")
	_, parent, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(s.DNS, func(name string) bool {
		return strings.EqualFold(name, host) || parent != "" && strings.EqualFold(name, "*."+parent)
	})
}

func (f Facts) isVirtual(e Endpoint) bool {
	is := func(a netip.Addr) bool { return a == e.Address || slices.Contains(e.Resolves, a) }
	return slices.ContainsFunc(f.virtual(), is) || slices.ContainsFunc(f.External, func(x External) bool {
		host, _ := x.VIP.Endpoint()
		return strings.EqualFold(host, e.Host) || slices.ContainsFunc(x.Resolves, is)
	})
}

// local tells that a file means the apiserver of its own node, as kubeadm's of the node's own components may, and says nothing of others.
func (e Endpoint) local() bool {
	return e.Address.IsLoopback() || e.Host == "localhost" || !e.Address.IsValid() && len(e.Resolves) == 0
}

func judgeConnection(out *findings, c Connect) {
	switch {
	case c.Err == nil:
	case c.Refused:
		out.about("", c.To.Addr().String())(code.RaftRefused, Warning, "nothing listens at %s (TCP): no keepvip with Raft runs there", c.To)
	default:
		out.about("", c.To.Addr().String())(code.RaftDropped, Error, "no connection to %s (TCP): %v", c.To, c.Err)
	}
}

// judgeIPVS looks for what kube-proxy's mode ipvs does to ARP.
func judgeIPVS(out *findings, f Facts) {
	for _, l := range f.Links {
		if l.Name != ipvsLink {
			continue
		}
		for _, v := range f.VIPs {
			for _, a := range l.Addresses {
				if slices.Contains(addressesOf(v), a.Prefix.Addr()) {
					out.say(v.Name, code.IPVSStrictARP, Error, "%s is on %s, as the address of a service: every node takes its packets", a.Prefix.Addr(), l.Name)
				}
			}
		}
		ignore, _ := f.sysctl("ipv4", "arp_ignore", "all")
		announce, _ := f.sysctl("ipv4", "arp_announce", "all")
		if ignore < 1 || announce < 2 {
			out.say("", code.IPVSStrictARP, Warning, "kube-proxy runs in mode ipvs without strictARP (arp_ignore %d, arp_announce %d): every node answers for the addresses of services", ignore, announce)
		}
	}
}
