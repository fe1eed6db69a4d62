package link

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// containers are what the interfaces of container networks are called, or begin with.
var containers = []string{
	"docker0", "podman", "cni0", "cbr0", "nerdctl", "flannel", "cilium_", "lxc", "cali", "vxlan.calico", "tunl0", "kube-bridge", "weave", "antrea-", "ovn-k8s-", "genev_sys", "br-int", "virbr",
}

// dockerBridge is the bridge of a network that a person has made with docker: its number follows.
var dockerBridge = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^br-[0-9a-f]{12}$`) })

// IsContainer tells whether an interface of that name belongs to containers.
func IsContainer(name string) bool {
	return dockerBridge().MatchString(name) || slices.ContainsFunc(containers, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// ContainerNetwork is the interface of a container network whose subnet contains addr, and that subnet; false for none. An interface called
// except was chosen on purpose and does not count, and neither do the subnets of virtual addresses.
func ContainerNetwork(links []Link, addr netip.Addr, virtual []netip.Addr, except string) (name string, subnet netip.Prefix, found bool) {
	for _, l := range links {
		if l.Name == except || !IsContainer(l.Name) {
			continue
		}
		for _, a := range l.Addresses {
			if s := a.Subnet(); !a.Ours && s.IsValid() && s.Contains(addr) && !slices.Contains(virtual, a.Prefix.Addr()) {
				return l.Name, s, true
			}
		}
	}
	return "", netip.Prefix{}, false
}
