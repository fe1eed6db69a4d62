package config

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Mode says who answers for an address.
type Mode string

// The modes.
const (
	ModeInternal Mode = "internal" // the node that keepvip elects
	ModeExternal Mode = "external" // a balancer, at [VIP.ExternalAddress]
)

func externalOptions() []Option {
	return []Option{
		option("vips[].mode", "mode", string(ModeInternal), recreate, one(enum(ModeInternal, ModeExternal), func(t target) *Mode { return &t.vip.Mode }),
			"Who answers clients: internal: the node that keepvip elects holds the addresses; external: a balancer at externalAddress, such as an F5, HAProxy or a cloud's, "+
				"and keepvip elects, binds, announces and spreads nothing. A reload changes the mode while clients connect (docs/external.md)"),
		option("vips[].externalAddress", "external-address", "", live, one(externalAddress(), func(t target) *string { return &t.vip.ExternalAddress }),
			"Where clients connect in mode external: an address or a name, with a port or without, such as lb.example.org:6443; without a port that of the check counts. "+
				"In mode internal it does nothing, so that one word changes the mode"),
		option("vips[].externalGrace", "external-grace", "30s", live, one(duration(0, time.Hour, time.Millisecond), func(t target) *time.Duration { return &t.vip.ExternalGrace }),
			"For how long a node goes on with the addresses after a reload to mode external, as a node that comes last: clients that go by DNS learn of the change late. "+
				"It ends early for an address that another host claims"),
	}
}

// External tells whether a balancer answers for the addresses.
func (v VIP) External() bool { return v.Mode == ModeExternal }

// Internal are the entries whose addresses keepvip holds.
func (c *Config) Internal() []VIP {
	return slices.DeleteFunc(slices.Clone(c.VIPs), VIP.External)
}

// Endpoint is where clients connect: the first address or the external one, and the port; 0 if neither the address nor a check names a port, or there is no address.
func (v VIP) Endpoint() (host string, port uint16) {
	if !v.External() && len(v.Addresses) == 0 {
		return "", 0 // only hooks know where clients connect
	}
	if !v.External() {
		return v.First().String(), v.clientPort()
	}
	host, port = splitAddress(v.ExternalAddress)
	return host, cmp.Or(port, v.clientPort())
}

// HostPort is the endpoint as one word, with an IPv6 address in brackets; "" if no port is known.
func (v VIP) HostPort() string {
	host, port := v.Endpoint()
	if port == 0 {
		return ""
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// clientPort is the port of the address at which clients come to what is checked: with a load that is spread it may be another one than that
// which is checked.
func (v VIP) clientPort() uint16 {
	port, first := v.Port(), uint16(0)
	for _, p := range v.Spread.Ports {
		switch {
		case v.Spread.Via == ViaOff || !p.TCP():
		case cmp.Or(p.Target, p.Port) == port:
			return p.Port
		case first == 0:
			first = p.Port
		}
	}
	return cmp.Or(first, port)
}

// splitAddress takes apart what externalAddress reads; port is 0 where there is none.
func splitAddress(s string) (host string, port uint16) {
	if _, err := netip.ParseAddr(s); err == nil {
		return s, 0
	}
	if host, text, err := net.SplitHostPort(s); err == nil {
		n, _ := strconv.ParseUint(text, 10, 16)
		return host, uint16(n)
	}
	return strings.TrimSuffix(strings.TrimPrefix(s, "["), "]"), 0
}

// externalAddress reads an address or a name, with or without a port.
func externalAddress() kind[string] {
	name := sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$`) })
	return text("host[:port]", func(s string) error {
		host, port := splitAddress(s)
		if _, text, err := net.SplitHostPort(s); err == nil && host != s && (port == 0 || text != strconv.Itoa(int(port))) {
			return fmt.Errorf("%s, want a port from 1 to 65535", show(s))
		}
		if strings.Contains(host, ":") || strings.TrimLeft(host, "0123456789.") == "" {
			_, err := parseAddr(host)
			return err
		}
		if !name().MatchString(host) {
			return fmt.Errorf("%s, want an address or a name, with or without a port, such as lb.example.org:6443", show(s))
		}
		return nil
	})
}

// deriveExternal gives an external entry without addresses the external address as its own.
func (v *VIP) deriveExternal() {
	if !v.External() || len(v.Addresses) > 0 {
		return
	}
	host, _ := splitAddress(v.ExternalAddress)
	if a, err := netip.ParseAddr(host); err == nil {
		v.Addresses = []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}
	}
}

// external refuses an external entry that does not say where clients connect.
func (k vipValidator) external() {
	switch {
	case k.v.External() && k.v.ExternalAddress == "":
		k.fail("externalAddress", "missing with mode external, want the address or the name where clients connect, such as lb.example.org:6443")
		return
	case k.v.ExternalAddress == "":
		return
	}
	host, port := splitAddress(k.v.ExternalAddress)
	if k.v.External() && port == 0 && k.v.clientPort() == 0 {
		k.fail("externalAddress", "%s has no port, and no check names one; want a port here, such as %s", k.v.ExternalAddress, net.JoinHostPort(host, "6443"))
	}
	for _, c := range k.v.AllChecks() {
		asked, _, _ := net.SplitHostPort(c.Address)
		if u, err := url.Parse(c.URL); err == nil && c.URL != "" {
			asked = u.Hostname()
		}
		if asked != "" && strings.EqualFold(asked, host) {
			k.fail("externalAddress", "%s is what a check of this node probes, so the balancer would in the end probe itself; want a check of an address of this node, such as 127.0.0.1", host)
			return
		}
	}
}
