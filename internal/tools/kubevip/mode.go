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
	c.switchedOn(envBGP, Lost, noBGP)
	c.switchedOn(envRoutes, Lost, noRoutes)
	c.switchedOn(envWireguard, Lost, noWireguard)
	c.switchedOn(envBalancer, Lost, noBalancer)
	c.switchedOn(envFile, Lost, "what that file sets is not seen here: convert it, too, and compare")
}

// switchedOn tells of a setting if it is on, or is no switch and given.
func (c *conversion) switchedOn(env string, v Fate, why string) {
	s, ok := c.settings.get(env)
	if ok && (!s.row.isSwitch || c.settings.on(env)) {
		c.tell(s, v, "%s", why)
	}
}

func (c *conversion) refuseFeatures() {
	if s, _ := c.settings.get(envDDNS); c.settings.on(envDDNS) {
		c.refuse(s.line, "%s: keepvip gets no address by DHCP, want a fixed one in address, and vip_ddns false", s.what())
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
	refused := false
	for _, m := range []struct{ env, why string }{{envBGP, noBGP}, {envRoutes, noRoutes}, {envWireguard, noWireguard}} {
		if s, _ := c.settings.get(m.env); c.settings.on(m.env) {
			c.refuse(s.line, "%s without vip_arp: %s, and needs all nodes on one link", s.what(), m.why)
			refused = true
		}
	}
	if !refused {
		c.refuse(c.line, "vip_arp is not true: this kube-vip announces its address in no way, want vip_arp true")
	}
}
