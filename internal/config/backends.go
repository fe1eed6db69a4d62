package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Backend is a server that runs no keepvip.
type Backend struct {
	Addresses []netip.Addr // its own, one of each family of the virtual addresses
	Port      uint16       // where the service listens; 0: at the target of the port
	Weight    uint8
	Check     Check // what it is asked otherwise than the others: URL, CA and ServerName alone
}

const (
	// spreadBackends is where backends are listed in an entry.
	spreadBackends = spreadKey + ".backends"
	// anyBackend, as a check, is whether one backend at least is healthy.
	anyBackend = "backends"
	// apiserverPort is that of a kubeadm apiserver.
	apiserverPort = 6443
)

// backed is every option of a backend. They are in the file only: a flag could not say which backend it means.
var backed = backendOptions()

func backendOptions() []Option {
	at := func(key string) string { return vipsKey + "[]." + spreadBackends + "[]." + key }
	return []Option{
		unflagged(at("addresses"), "", many(address(), func(t target) *[]netip.Addr { return &t.backend.Addresses }),
			"The server's own addresses, one of each family of the virtual addresses; required. Probes go to the first one"),
		unflagged(at("port"), "0", one(number[uint16](0, 65535), func(t target) *uint16 { return &t.backend.Port }),
			"The port that the service listens on at this backend; 0: the target of the port"),
		unflagged(at("weight"), "1", one(number[uint8](0, 255), func(t target) *uint8 { return &t.backend.Weight }),
			"Its share of new connections, relative to that of the other backends; with 0 it gets none, and keeps those that it has"),
		unflagged(at("check.url"), "", one(backendCheck(), func(t target) *string { return &t.backend.Check.URL }),
			"How this server is probed, as spread.backendCheck.url; without it that one counts").short(),
		unflagged(at("check.ca"), "", one(path(maxPath), func(t target) *string { return &t.backend.Check.CA }),
			"File with the CA certificates that this server is verified against; without it that of spread.backendCheck.ca, where the probe is by https"),
		unflagged(at("check.serverName"), "", one(backendName(), func(t target) *string { return &t.backend.Check.ServerName }),
			"The name in this server's certificate; without it spread.backendCheck.serverName"),
	}
}

// backendName reads the name in a certificate.
func backendName() kind[string] {
	return pattern("name", `^[A-Za-z0-9]([-A-Za-z0-9.:]{0,251}[A-Za-z0-9])?$`, "a host name or an address")
}

func backendCheckOptions() []Option {
	return []Option{
		option("vips[].spread.backendCheck.url", "backend-check", "", live, one(backendCheck(), func(t target) *string { return &t.vip.Spread.BackendCheck.URL }),
			"How each backend is probed, at its own address in place of the URL's host: an http or https URL by GET; kubeadm, k3s, rke2 or k0s for the /readyz of an apiserver, verified with that installation's CA; tcp by connecting. Without it https /readyz where the port is 6443, and tcp elsewhere").short(),
		option("vips[].spread.backendCheck.ca", "backend-check-ca", "", live, one(path(maxPath), func(t target) *string { return &t.vip.Spread.BackendCheck.CA }),
			"File with the CA certificates that the backends' certificates are verified against; without it they are not verified"),
		option("vips[].spread.backendCheck.serverName", "backend-check-server-name", "", live, one(backendName(), func(t target) *string { return &t.vip.Spread.BackendCheck.ServerName }),
			"The name in the certificates of backends; without it kubernetes, which every apiserver of kubeadm has"),
		option("vips[].spread.backendCheck.interval", "backend-check-interval", "300ms", live, one(duration(10*time.Millisecond, 10*time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.vip.Spread.BackendCheck.Interval }),
			"The time from the start of one probe of a backend to the next"),
		option("vips[].spread.backendCheck.timeout", "backend-check-timeout", "600ms", live, one(duration(10*time.Millisecond, time.Minute, time.Millisecond), func(t target) *time.Duration { return &t.vip.Spread.BackendCheck.Timeout }),
			"How long a probe of a backend may take in all"),
		option("vips[].spread.backendCheck.rise", "backend-check-rise", "2", live, one(number(1, 1000), func(t target) *int { return &t.vip.Spread.BackendCheck.Rise }),
			"Good probes in a row that make an unhealthy backend healthy"),
		option("vips[].spread.backendCheck.fall", "backend-check-fall", "3", live, one(number(1, 1000), func(t target) *int { return &t.vip.Spread.BackendCheck.Fall }),
			"Bad probes in a row that make a healthy backend unhealthy; a refused connection needs only one"),
	}
}

const connects = "tcp"

// backendCheck reads what backends are asked.
func backendCheck() kind[string] {
	u, names := urlOfAny(), []string{}
	for _, p := range presets {
		names = append(names, p.name)
	}
	return text("url|"+strings.Join(names, "|")+"|"+connects, func(s string) error {
		if s == connects || slices.Contains(names, s) {
			return nil
		}
		if !strings.HasPrefix(s, "http:") && !strings.HasPrefix(s, "https:") {
			return fmt.Errorf("%s, want an http or https URL such as https://backend:6443/readyz, %s or %s", show(s), strings.Join(names, ", "), connects)
		}
		_, err := u.parse(s)
		return err
	})
}

// backendPort is where the service of a backend listens: at the target of the first port of TCP, if it has no port of its own; 0: nowhere.
func (v VIP) backendPort(b Backend) uint16 {
	if b.Port != 0 {
		return b.Port
	}
	for _, p := range v.spreadPorts() {
		if p.TCP() {
			return p.Target
		}
	}
	return 0
}

// askedOf is what a backend is asked, each key from its own entry or from that for all, and how often.
func (s Spread) askedOf(b Backend) Check {
	c := s.BackendCheck
	c.URL, c.CA, c.ServerName = cmp.Or(b.Check.URL, c.URL), cmp.Or(b.Check.CA, c.CA), cmp.Or(b.Check.ServerName, c.ServerName)
	return c
}

// BackendCheck is what a backend of v is asked; false: nothing, as it serves UDP alone.
func (v VIP) BackendCheck(b Backend) (ListedCheck, bool) {
	port := v.backendPort(b)
	if port == 0 || len(b.Addresses) == 0 {
		return ListedCheck{}, false
	}
	at := func(port string) string { return net.JoinHostPort(b.Addresses[0].String(), port) }
	asked, service := v.Spread.askedOf(b), strconv.Itoa(int(port))
	c := asked.Resolved()
	one := ListedCheck{
		Kind: CheckHTTPS, CA: c.CA, Insecure: c.CA == "", ServerName: c.ServerName, Watch: true, Interval: c.Interval, Timeout: c.Timeout, Rise: c.Rise, Fall: c.Fall,
	}
	if c.URL == "" && port == apiserverPort {
		c.URL = presets[0].url
	}
	if c.URL == "" || c.URL == connects {
		one.Kind, one.Address, one.CA, one.Insecure, one.ServerName = CheckTCP, at(service), "", false, ""
		return one, true
	}
	u, err := url.Parse(c.URL)
	if err != nil {
		return one, false // the kind has refused it
	}
	if c.URL != asked.URL { // a preset, whose port is that of its own host
		u.Host = at(service)
	} else {
		u.Host = at(cmp.Or(u.Port(), service))
	}
	one.URL = u.String()
	switch {
	case u.Scheme == "http":
		one.Kind, one.Insecure, one.CA, one.ServerName = CheckHTTP, false, "", ""
	case c.CA != "" && c.ServerName == "":
		one.ServerName = "kubernetes"
	}
	return one, true
}

// deriveCheck gives a node with backends and no check of its own the check "backends": it is fit while one backend is healthy.
func (c *Config) deriveCheck(i int) {
	v := &c.VIPs[i]
	if len(v.Spread.Backends) > 0 && len(v.Checks) == 0 && c.Origin(fmt.Sprintf("%s[%d].check.url", vipsKey, i)).Source == Default {
		v.Check.URL = anyBackend
	}
}

// backends refuses a list that cannot be spread over.
func (k vipValidator) backends() {
	if k.v.Check.URL == anyBackend && len(k.v.Spread.Backends) == 0 {
		k.fail("check.url", "%s without %s, want another check", anyBackend, spreadBackends)
	}
	list := k.v.Spread.Backends
	if len(list) == 0 {
		return
	}
	switch {
	case k.v.Spread.Via != ViaMasquerade:
		k.fail(spreadBackends, "set with via %s, which needs a keepvip on each server; want spread.via %s", k.v.Spread.Via, ViaMasquerade)
	case len(list) > maxSpreadMembers:
		k.fail(spreadBackends, "%d backends, want at most %d", len(list), maxSpreadMembers)
	case len(k.v.Spread.Members) > 0:
		k.fail("spread.members", "set beside %s, want one of the two: members run keepvip, backends do not", spreadBackends)
	}
	for i, p := range k.v.Spread.Ports {
		if p.Check != "" {
			k.fail(fmt.Sprintf("%s[%d].check", spreadPorts, i), "set with %s, want no check here: spread.backendCheck checks backends", spreadBackends)
		}
	}
	first := map[netip.Addr]int{}
	for i, b := range list {
		k.backend(i, b, first)
	}
	h := k.v.Spread.BackendCheck
	if worst := time.Duration(h.Fall) * max(h.Interval, h.Timeout); worst > time.Hour {
		k.fail("spread.backendCheck.fall", "%d probes of up to %v each, want a failure seen within an hour", h.Fall, max(h.Interval, h.Timeout))
	}
	if h := h.Resolved(); h.CA != "" && !strings.HasPrefix(h.URL, "https:") {
		k.fail("spread.backendCheck.ca", "set without an https URL, want such a URL, or no CA")
	}
}

func (k vipValidator) backend(i int, b Backend, first map[netip.Addr]int) {
	at := fmt.Sprintf("%s[%d].", spreadBackends, i)
	for _, ipv4 := range []bool{true, false} {
		has := slices.ContainsFunc(k.v.Addresses, func(p netip.Prefix) bool { return p.Addr().Is4() == ipv4 })
		n := 0
		for _, a := range b.Addresses {
			if a.Is4() == ipv4 {
				n++
			}
		}
		family := map[bool]string{true: "IPv4", false: "IPv6"}[ipv4]
		if has && n != 1 || n > 1 {
			k.fail(at+"addresses", "%d of %s, want one address of each family of the virtual addresses", n, family)
		}
	}
	for _, a := range b.Addresses {
		j, taken := first[a]
		first[a] = i
		switch {
		case k.isVirtual(a):
			k.fail(at+"addresses", "%s is a virtual address, want a server's own", a)
		case taken:
			k.fail(at+"addresses", "%s is also that of %s[%d], want it once", a, spreadBackends, j)
		}
	}
	if h := k.v.Spread.askedOf(b).Resolved(); b.Check.CA != "" && !strings.HasPrefix(h.URL, "https:") {
		k.fail(at+"check.ca", "set without an https URL, want such a URL, or no CA")
	}
	if b.Port != 0 && len(k.v.SpreadPorts()) > 1 {
		k.fail(at+"port", "%d, and several ports are spread; want no port here, and the target of each port", b.Port)
	}
}
