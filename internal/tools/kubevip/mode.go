package kubevip

// mode refuses what keepvip cannot stand in for, and tells of the switches that say what kube-vip does.
func (c *conversion) mode() {
	if len(c.refused) > 0 {
		return // a switch that cannot be read
	}
	c.refuseFeatures()
	c.refuseModes()
	c.switchedOn(envControlPlane, Carried, "the address of the control plane is what keepvip keeps")
	c.switchedOn(envARP, Carried, "gratuitous ARP and unsolicited neighbour advertisements, the first one when the address is bound")
	c.switchedOn(envServices, Lost, noServices)
	c.routes()
	c.switchedOn(envWireguard, Lost, noWireguard)
	c.switchedOn(envBalancer, Lost, noBalancer)
	c.switchedOn(envFile, Lost, "what that file sets is not seen here: convert it, too, and compare")
}

// switchedOn tells of a setting if it is on, or is no switch and given.
func (c *conversion) switchedOn(env string, v fate, why string) {
	s, ok := c.settings.get(env)
	if ok && (!s.row.isSwitch || c.settings.on(env)) {
		c.tell(s, v, "%s", why)
	}
}

func (c *conversion) refuseFeatures() {
	if s, _ := c.settings.get(envDDNS); c.settings.on(envDDNS) {
		c.refuse(s.line, "%s: keepvip gets no address by DHCP, want a fixed one in address, and vip_ddns false; --dhcp then keeps its lease at the server (docs/dhcp.md)", s.what())
	}
	if c.settings.on(envControlPlane) {
		return
	}
	if s, _ := c.settings.get(envServices); c.settings.on(envServices) {
		c.refuse(s.line, "%s without cp_enable: %s", s.what(), noServices)
		return
	}
	c.refuse(c.line, "cp_enable is not true: this kube-vip keeps no address of a control plane, want the one that does")
}

// refuseModes refuses a kube-vip that does not use ARP.
func (c *conversion) refuseModes() {
	if c.settings.on(envARP) {
		return
	}
	switch s, _ := c.settings.get(envWireguard); {
	case c.settings.on(envWireguard):
		c.refuse(s.line, "%s without vip_arp: %s, and needs all nodes on one link, or routers", s.what(), noWireguard)
	case !c.settings.on(envBGP) && !c.settings.on(envRoutes):
		c.refuse(c.line, "vip_arp is not true: this kube-vip announces its address in no way, want vip_arp true")
	}
}

// routes has each node announce a route where kube-vip speaks to routers, by itself or by a routing table.
func (c *conversion) routes() {
	s, _ := c.settings.get(envRoutes)
	fate := Changed
	if c.settings.on(envARP) {
		fate = Lost
		c.switchedOn(envRoutes, Lost, noRoutes)
	}
	c.switchedOn(envBGP, fate, noBGP)
	switch by, _ := c.settings.get(envBGP); {
	case c.settings.on(envARP):
		return
	case !c.settings.on(envRoutes) && c.settings.on(envBGP):
		c.option("election", by, "local")
		return
	case !c.settings.on(envRoutes):
		return
	}
	c.option("election", s, "local")
	c.tell(s, Carried, "each healthy node has a route in that table, for BIRD; with FRR add --announce-table=254: election local (docs/routes.md)")
	c.routeNumber(envRouteTable, "announce-table", "198")
	c.routeNumber(envRouteProtocol, "announce-protocol", "248")
}

// routeNumber carries over a number that is not the default of both.
func (c *conversion) routeNumber(env, flag, usual string) {
	s, ok := c.value(env)
	if !ok || !s.given() {
		return
	}
	if s.value != usual {
		c.option(flag, s, s.value)
	}
	c.tell(s, Carried, "the same for keepvip's route: %s", flag)
}
