package config

import (
	"net"
	"strconv"
)

// health is the listener at which balancers ask whether this node should get connections.
type health struct {
	Address string // host:port, or "" when switched off
}

func healthOptions() []Option {
	return []Option{
		option("health.address", "health", off, live, one(listener("0.0.0.0:9647"), func(t target) *string { return &t.config.Health.Address }),
			"The listener for /healthz/NAME, at which a balancer such as an F5 or HAProxy asks this node whether to send it connections, such as 0.0.0.0:9647 ([::]:9647 for IPv6, too): "+
				"200 while its checks are good and nobody drains or holds it, 503 with the reason otherwise. There is no answer at a virtual address").short(),
	}
}

// port is that of the listener; 0 without one.
func (h health) port() uint16 {
	_, text, _ := net.SplitHostPort(h.Address)
	n, _ := strconv.ParseUint(text, 10, 16) // the table has checked that it is a number
	return uint16(n)
}

// checkHealth refuses an address at which no listener can be.
func (k *validator) checkHealth() {
	bad := func(format string, args ...any) { k.bad("health.address", format, args...) }
	if k.Health.Address == "" {
		return
	}
	_, port, _ := net.SplitHostPort(k.Metrics.Address)
	switch v := k.virtualHost(k.Health.Address); {
	case v != "":
		bad("%s is a virtual address, which comes and goes, want one of the node's own, or 0.0.0.0 for all of these", v)
	case k.Health.port() == 0:
		bad("%s has no port, want the one that balancers ask, such as 9647", k.Health.Address)
	case k.Health.port() == k.Port && len(k.ByRaft()) > 0:
		bad("%s has the port of the members, by which they elect; want another one, such as 9647", k.Health.Address)
	case port == strconv.Itoa(int(k.Health.port())):
		bad("%s has the port of metrics.address %s, want another one, such as 9647", k.Health.Address, k.Metrics.Address)
	}
}
