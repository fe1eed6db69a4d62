package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// An advertisement names no more than these; the others are bound and released with them.
	advertisedIPv4 = 255 // Count IPvX Addr is 8 bits, RFC 9568 section 5.2.5; with a key 1076 bytes
	// 40 + 8 + 16*89 bytes and the 28 of a key's trailer fill an MTU of 1500: a frame from the virtual MAC has no more.
	// The number is the same without a key, as nodes get theirs one after another.
	advertisedIPv6 = 89

	maxVIPs      = 1000 // entries: what an election of each costs is measured for 255
	maxAddresses = 2000 // of IPv6 they may take longer to bind than an election lasts: advertisements leave meanwhile
)

// mostTTL is that of a packet that no router has forwarded.
const mostTTL = 255

// minSilence is the shortest silence after which a holder may count as dead.
const minSilence = 30 * time.Millisecond

// validate checks what spans several values. The error joins one [Problem] for each thing wrong.
func (c *Config) validate() error {
	k := validator{Config: c}
	if len(c.VIPs) == 0 {
		k.bad(vipsKey, "no virtual address, want --vip ADDRESS or a file with %s", vipsKey)
	}
	if len(c.VIPs) > maxVIPs {
		k.bad(vipsKey, "%d entries, want at most %d: an entry can have several addresses", len(c.VIPs), maxVIPs)
		return k.err()
	}
	for i := range c.VIPs {
		v := k.vip(i)
		v.addresses()
		switch v.v.Election {
		case ElectionVRRP:
			v.vrrp()
		case ElectionRaft:
			v.raft()
		case ElectionLocal:
			v.local()
		}
		v.health()
		v.listedChecks()
		v.hooks()
		v.spread()
		v.candidates()
		v.external()
		v.hooksOnly()
		v.virtualMAC()
		v.dhcp()
	}
	k.validateGroupNames()
	k.checkKey()
	k.checkRaft()
	k.checkSpreadByRaft()
	k.checkFollow()
	k.checkMetrics()
	k.checkHealth()
	k.validateNames()
	k.validateUnique()
	k.validateVRIDs()
	k.validateGroups()
	return k.err()
}

// validator looks at a configuration as a whole, and collects what is wrong with it.
type validator struct {
	*Config
	problems
}

// bad complains about a key.
func (k *validator) bad(key, format string, args ...any) { k.add(k.near(key), key, format, args...) }

// near is the origin of a key, or of the nearest thing around it, or the file.
func (c *Config) near(key string) Origin {
	for at := key; at != ""; {
		if o := c.origins[at]; o.Source != Default {
			return o
		}
		at = at[:max(strings.LastIndexByte(at, '.'), 0)]
	}
	if c.Path == "" {
		return Origin{}
	}
	return Origin{Source: File, Name: c.Path}
}

// vipValidator validates one VIP.
type vipValidator struct {
	*validator
	i int
	v *VIP
}

// vip is the validator of the VIP at that place of the list.
func (k *validator) vip(i int) vipValidator { return vipValidator{k, i, &k.VIPs[i]} }

// fail complains about a key of the VIP, such as "vrrp.id".
func (k vipValidator) fail(key, format string, args ...any) {
	k.bad(fmt.Sprintf("%s[%d].%s", vipsKey, k.i, key), format, args...)
}

func (k vipValidator) addresses() {
	switch {
	case len(k.v.Addresses) > 0:
	case k.v.External() && k.v.ExternalAddress != "":
		k.fail("addresses", "none, and externalAddress is a name; want the virtual address that nodes hold in mode internal, such as [10.77.0.100]")
	case !k.v.External() && !k.v.HooksOnly:
		k.fail("addresses", "none, want at least one, such as [10.77.0.100]")
	}
	if n := len(k.v.Addresses); n > maxAddresses {
		k.fail("addresses", "%d of them, want at most %d; more fit into a second entry", n, maxAddresses)
	}
	k.labels()
	k.elsewhere()
}

func (k vipValidator) vrrp() {
	r := k.v.VRRP
	if r.Version == 2 {
		if r.AdvertisementInterval%time.Second != 0 {
			k.fail("vrrp.advertisementInterval", "%v, want whole seconds with vrrp.version 2", r.AdvertisementInterval)
		}
		if len(k.v.Addresses) > 0 && k.v.First().Is6() {
			k.fail("vrrp.version", "2 with an IPv6 address first, want 3")
		}
	} else if r.PasswordFile != "" {
		k.fail("vrrp.passwordFile", "set with vrrp.version %d, which has no password, want vrrp.version 2 or a key instead", r.Version)
	}
	if r.PasswordFile != "" && k.Key.File != "" {
		k.fail("vrrp.passwordFile", "set beside key.file, want one of them: a key makes the password useless")
	}
	// The lease of the fence is this time less 10 ms, and has to be longer than an advertisement may be late.
	if silence := time.Duration(r.DownTimerAdverts) * r.AdvertisementInterval; silence < minSilence {
		k.fail("vrrp.downTimerAdverts", "%d of %v, want at least %v in all", r.DownTimerAdverts, r.AdvertisementInterval, minSilence)
	}
	if k.Origin(fmt.Sprintf("%s[%d].priority", vipsKey, k.i)).Source != Default && r.Owner {
		k.fail("priority", "%d with vrrp.owner, whose priority is 255, want one of the two", k.v.Priority)
	}
	if r.PreemptDelay > 0 && !r.Preempt {
		k.fail("vrrp.preemptDelay", "%v without preemption, want vrrp.preempt true or no delay", r.PreemptDelay)
	}
	for _, a := range r.Excluded {
		switch at := slices.IndexFunc(k.v.Addresses, func(p netip.Prefix) bool { return p.Addr() == a }); {
		case at < 0:
			k.fail("vrrp.excluded", "%s is not among the addresses, want one of them", a)
		case at == 0 && len(k.v.Advertised(a.Is4())) > 0: // without any the advertisements are those of an instance without virtual_ipaddress
			k.fail("vrrp.excluded", "%s is the first address, which carries the election, want another", a)
		}
	}
	if r.MinTTL != mostTTL && len(r.Peers) == 0 {
		k.fail("vrrp.minTTL", "%d without vrrp.peers, want %d: what is multicast never leaves the link", r.MinTTL, mostTTL)
	}
	switch {
	case !r.MulticastGroup.IsValid():
	case k.otherFamily("vrrp.multicastGroup", r.MulticastGroup):
	case len(r.Peers) > 0:
		k.fail("vrrp.multicastGroup", "%s beside vrrp.peers, want one of them", r.MulticastGroup)
	}
	if r.Source.IsValid() {
		k.nodesOwn("vrrp.source", r.Source)
	}
	k.detector()
	for _, peer := range r.Peers {
		k.nodesOwn("vrrp.peers", peer)
	}
}

// nodesOwn refuses what cannot be a node's own address on the link.
func (k vipValidator) nodesOwn(key string, a netip.Addr) {
	if !k.otherFamily(key, a) && k.isVirtual(a) {
		k.fail(key, "%s is a virtual address, want a node's own", a)
	}
}

// otherFamily refuses an address that is not of the family that carries the election, and tells whether it is one.
func (k vipValidator) otherFamily(key string, a netip.Addr) bool {
	other := len(k.v.Addresses) > 0 && a.Is4() != k.v.First().Is4()
	if other {
		k.fail(key, "%s, want the family of the first address %s", a, k.v.First())
	}
	return other
}

// leastWatched is how many nodes there are at least of whom two can agree about the third.
const leastWatched = 3

// detector refuses what detector fast cannot work with.
func (k vipValidator) detector() {
	r := k.v.VRRP
	if w := r.DetectorWitness; w != (Witness{}) {
		switch host := w.Host; {
		case r.Detector != DetectorFast:
			k.fail("vrrp.detectorWitness", "%s without vrrp.detector fast, want both or neither", witness().format(w))
		case w.Gateway:
		case k.otherFamily("vrrp.detectorWitness", host):
		case k.isVirtual(host):
			k.fail("vrrp.detectorWitness", "%s is a virtual address, want a host that does not move, such as the gateway", host)
		case slices.Contains(r.Peers, host):
			k.fail("vrrp.detectorWitness", "%s is in vrrp.peers, want a host beside the nodes, such as the gateway", host)
		}
	}
	if r.Detector != DetectorFast {
		return
	}
	switch {
	case k.Port == 0:
		k.fail("vrrp.detector", "fast with port 0, want a port: the nodes tell each other there what they find")
	case k.v.Group != "":
		k.fail("vrrp.detector", "fast with a group, want plain: the entries of a group move together, by their advertisements")
	case k.v.HooksOnly, len(k.v.Elsewhere) > 0:
		k.fail("vrrp.detector", "fast with hooksOnly or elsewhere, want plain: nobody can be asked whether such an address is still answered for")
	case len(r.Peers) > 0 && len(r.Peers) < leastWatched && r.DetectorWitness == (Witness{}):
		k.fail("vrrp.detector", "fast with %d vrrp.peers, want all nodes there, this one too, three at least; or vrrp.detectorWitness, such as the gateway", len(r.Peers))
	}
}

// notThisNode refuses a check of a virtual address: it tells of whichever node holds that, and of a backup nothing.
const notThisNode = "%s asks the virtual address %s, so that the holder would answer for every node; want an address of this node, such as 127.0.0.1"

// virtualHost is the virtual address that a URL, tcp://host:port or host:port names, "" if it names none.
func (k *validator) virtualHost(target string) string {
	host, _, _ := net.SplitHostPort(target)
	if u, err := url.Parse(target); err == nil && strings.Contains(target, "://") {
		host = u.Hostname()
	}
	a, err := netip.ParseAddr(host)
	a = a.Unmap().WithZone("")
	if err != nil || !k.isVirtual(a) {
		return ""
	}
	return a.String()
}

func (k *validator) isVirtual(a netip.Addr) bool {
	return slices.ContainsFunc(k.VIPs, func(v VIP) bool {
		return slices.ContainsFunc(v.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
	})
}

func (k vipValidator) health() {
	h := k.v.Check.Resolved()
	switch {
	case h.CA != "" && !strings.HasPrefix(h.URL, "https:"):
		k.fail("check.ca", "set for %s, want an https URL or no CA", h.URL)
	case h.ServerName != "" && h.CA == "":
		k.fail("check.serverName", "set without check.ca, so that nothing is verified; want both or neither")
	}
	if at := k.virtualHost(h.URL); at != "" {
		k.fail("check.url", notThisNode, show(h.URL), at)
	}
	// A node whose every probe may take longer than the daemon's other timers would look healthy for minutes.
	if worst := time.Duration(h.Fall) * max(h.Interval, h.Timeout); worst > time.Hour {
		k.fail("check.fall", "%d probes of up to %v each, want a failure seen within an hour", h.Fall, max(h.Interval, h.Timeout))
	}
}

func (k *validator) validateNames() {
	first := map[string]int{}
	for i, v := range k.VIPs {
		at := fmt.Sprintf("%s[%d].name", vipsKey, i)
		if len(k.VIPs) > 1 && k.Origin(at).Source == Default {
			k.bad(at, "missing, want a name of its own for each of several virtual addresses")
			continue
		}
		if j, taken := first[v.Name]; taken {
			k.bad(at, "%s is also the name of %s[%d], want another", v.Name, vipsKey, j)
			continue
		}
		first[v.Name] = i
	}
}

func (k *validator) validateUnique() {
	first := map[netip.Addr]int{}
	for i, v := range k.VIPs {
		for _, p := range v.Addresses {
			if j, taken := first[p.Addr()]; taken {
				k.vip(i).fail("addresses", "%s is in %s[%d] already, want it once", p.Addr(), vipsKey, j)
				continue
			}
			first[p.Addr()] = i
		}
	}
}

// validateVRIDs refuses two virtual routers that would be one on the wire: same VRID and family on the same link, as far as
// it is known. Without an interface's name the link is known only on the host, so two of those are taken to share it; one
// with a name and one without are for [Config.CheckLinks].
func (k *validator) validateVRIDs() {
	k.collide("the same link", func(v VIP) (string, bool) { return v.Interface, true })
}

// CheckLinks refuses two virtual routers with the same VRID and family on one link of this host. link is the name of the
// interface that a VIP belongs on; false while it is not known. The error joins one [Problem] for each.
func (c *Config) CheckLinks(link func(VIP) (string, bool)) error {
	k := validator{Config: c}
	k.collide("", link)
	return k.err()
}

// collide adds a problem for each virtual router that is on a link where another has its VRID. where stands for the link's
// name.
func (k *validator) collide(where string, link func(VIP) (string, bool)) {
	type router struct {
		id   uint8
		ipv4 bool
		link string
	}
	first := map[router]int{}
	for i, v := range k.VIPs {
		if len(v.Addresses) == 0 && !v.HooksOnly || v.Election != ElectionVRRP {
			continue
		}
		name, ok := link(v)
		if !ok {
			continue
		}
		r := router{v.VRRP.ID, v.First().Is4(), name}
		if j, taken := first[r]; taken {
			k.vip(i).fail("vrrp.id", "VRID %d is also that of %s[%d] on %s, want another", v.VRRP.ID, vipsKey, j, cmp.Or(where, name))
			continue
		}
		first[r] = i
	}
}

// weighed tells whether a file's number moves the priority.
func weighed(checks []ListedCheck) bool {
	return slices.ContainsFunc(checks, func(h ListedCheck) bool { return h.Number && h.Weight != 0 })
}

// validateGroups refuses members that would want to be on different nodes.
func (k *validator) validateGroups() {
	first := map[string]int{}
	for i, v := range k.VIPs {
		if v.Group == "" {
			continue
		}
		j, known := first[v.Group]
		if !known {
			first[v.Group] = i
			continue
		}
		o := k.VIPs[j]
		if v.Priority != o.Priority || v.VRRP.Owner != o.VRRP.Owner || v.VRRP.Preempt != o.VRRP.Preempt {
			k.vip(i).fail("group", "%s has %s[%d] in it, with another priority, vrrp.owner or vrrp.preempt; want the same, as they move together", v.Group, vipsKey, j)
		}
		if !SameSet(v.Candidates, o.Candidates) {
			k.vip(i).fail("group", "%s has %s[%d] in it, with other candidates; want the same, as they move together", v.Group, vipsKey, j)
		}
		if v.Mode != o.Mode {
			k.vip(i).fail("mode", "%s, and %s[%d] of the same group has %s; want the same, as they move together", v.Mode, vipsKey, j, o.Mode)
		}
		if weighed(v.Checks) != weighed(o.Checks) {
			k.vip(i).fail("group", "%s has %s[%d] in it, and only one of them has a file with a number; want it in both, as the least fit decides for the group", v.Group, vipsKey, j)
		}
	}
}
