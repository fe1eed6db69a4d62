package kubevip

import (
	"fmt"
	"strconv"
)

// defaultPort is that of kube-vip, and of keepvip's check.
const defaultPort = 6443

// port takes over the apiserver's port into the check. A load balancer that listens on another port cannot go.
func (c *conversion) port() {
	port := uint16(defaultPort)
	s, ok := c.value(envPort)
	if ok {
		if port, ok = c.number(s); ok {
			c.tellPort(s, port)
		}
	}
	if !c.settings.on(envBalancer) {
		return
	}
	balancer, _ := c.settings.get(envBalancer)
	at := uint16(defaultPort)
	if s, ok := c.value(envBalancerPort); ok {
		if at, ok = c.number(s); !ok {
			return
		}
		balancer = s
	}
	switch {
	case at != port:
		c.refuse(balancer.line, "%s: clients come to the load balancer at port %d, and the apiservers listen on %d; keepvip translates ports only where it spreads the load, which is not written here: want the same port, and clients that use it, first, or a file with spread.ports",
			balancer.what(), at, port)
	case balancer.row.env == envBalancerPort:
		c.tell(balancer, Carried, "clients find the apiserver at the same port")
	}
}

func (c *conversion) tellPort(s setting, port uint16) {
	url := fmt.Sprintf("https://127.0.0.1:%d/readyz", port)
	if port == defaultPort {
		c.tell(s, Carried, "the check asks %s", url)
		return
	}
	c.option("check", s, url)
	c.tell(s, Carried, "--check=%s: every apiserver has to listen there", url)
}

func (c *conversion) number(s setting) (uint16, bool) {
	n, err := strconv.ParseUint(s.value, 10, 16)
	if err != nil || n == 0 {
		c.refuse(s.line, "%s: want a port from 1 to 65535", s.what())
		return 0, false
	}
	return uint16(n), true
}
