package config

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
)

// follow is for hosts that are no members and send their connections to these: `keepvip follow`.
type follow struct {
	Members   []netip.Addr // own addresses of members to ask; those of the entries are asked, too
	Listen    string       // host:port of this host for programs that cannot use the virtual address, or ""
	OnMembers bool         // members listen there, too
	// Connections is how many there may be at the listener at a time; 0: as many as this host's memory and descriptors allow.
	Connections int
	KeyFile     string // of the followers' key; "": it is derived from key.file
}

func followOptions() []Option {
	return []Option{
		option("follow.members", "follow-member", "", live, many(address(), func(t target) *[]netip.Addr { return &t.config.Follow.Members }),
			"Own addresses of members that a follower asks who the members are. It also asks the virtual addresses, the members that other options name, and the members that it has heard of. Only keepvip follow uses the options of follow, but for follow.onMembers"),
		option("follow.listen", "follow-listen", off, live, one(listener("127.0.0.1:9443"), func(t target) *string { return &t.config.Follow.Listen }),
			"A listener of a follower on its loopback interface, such as 127.0.0.1:9443, that passes connections on to the members, for the first port of the first entry that is spread"),
		option("follow.onMembers", "follow-on-members", "false", live, one(boolean(), func(t target) *bool { return &t.config.Follow.OnMembers }),
			"Members listen at follow.listen, too, and pass connections on to the virtual address, so the same address serves the programs of every node"),
		option("follow.connections", "follow-connections", "0", live, one(number(0, 65535), func(t target) *int { return &t.config.Follow.Connections }),
			"Connections that there may be at follow.listen at a time, on a follower and on a member; with 0, at least 1000 and at most 16384, by this host's memory and the process's limit of descriptors. When all places are taken, the user who has the most loses the oldest"),
		option("follow.keyFile", "follow-key-file", "", live, one(path(maxPath), func(t target) *string { return &t.config.Follow.KeyFile }),
			"File with the followers' key, which keepvip key derive makes, readable by its owner alone; without this option a follower derives the key from key.file, if there is one"),
	}
}

// checkFollow refuses what does not fit together.
func (k *validator) checkFollow() {
	for _, m := range k.Follow.Members {
		if k.isVirtual(m) {
			k.bad("follow.members", "%s is a virtual address, want a member's own: a follower asks the virtual addresses anyway", m)
		}
	}
	if host, _, err := net.SplitHostPort(k.Follow.Listen); err == nil && host != "localhost" {
		if a, err := netip.ParseAddr(host); err == nil && !a.IsLoopback() {
			k.bad("follow.listen", "%s is not on the loopback interface, want an address such as 127.0.0.1:9443: other hosts use the virtual address", k.Follow.Listen)
		}
	}
	if k.Follow.OnMembers {
		k.checkFollowOnMembers()
	}
}

// checkFollowOnMembers refuses a listener of members that would have nothing to do, or be in the way of what they serve.
func (k *validator) checkFollowOnMembers() {
	const key = "follow.onMembers"
	if k.Follow.Listen == "" {
		k.bad(key, "set without follow.listen, want both, such as follow.listen: 127.0.0.1:9443")
		return
	}
	external := func(v VIP) bool { return v.External() }
	if followed := k.Followed(); len(k.FollowTargets()) == 0 && (len(followed) == 0 || !slices.ContainsFunc(followed, external)) {
		k.bad(key, "there is nothing to pass connections on to, want the first entry that is spread over its members to have a TCP port")
	}
	_, port, _ := net.SplitHostPort(k.Follow.Listen)
	for _, v := range k.VIPs {
		for _, p := range v.spreadPorts() {
			if p.TCP() && len(v.Spread.Backends) == 0 && port == strconv.Itoa(int(p.Target)) {
				k.bad("follow.listen",
					"%s has the port at which the members serve %s, want another one with follow.onMembers, such as 127.0.0.1:9443: the service could not listen there", k.Follow.Listen, v.Name)
				return
			}
		}
	}
}

// FollowKey is the followers' key of a host that follows; nil without one.
func (c *Config) FollowKey() ([]byte, error) {
	if c.Follow.KeyFile != "" {
		return LoadKey(c.Follow.KeyFile)
	}
	if c.Key.File == "" {
		return nil, nil
	}
	secret, err := LoadKey(c.Key.File)
	if err != nil {
		return nil, err
	}
	return DeriveKey(secret, ForFollowers), nil
}

// Followed are the entries that a follower follows: those whose load is spread over their members. One in mode external is among them, and has no port
// until somebody changes its mode.
func (c *Config) Followed() []VIP {
	return slices.DeleteFunc(slices.Clone(c.VIPs), func(v VIP) bool { return v.Spread.Via == ViaOff || len(v.Spread.Backends) > 0 })
}

// FollowTargets are where follow.listen leads to: the addresses of the first entry that is followed and not external, with its first TCP port.
func (c *Config) FollowTargets() (out []netip.AddrPort) {
	for _, v := range c.Followed() {
		ports := v.SpreadPorts()
		if len(ports) == 0 {
			continue
		}
		i := slices.IndexFunc(ports, SpreadPort.TCP)
		for _, a := range v.Bare() {
			if i >= 0 {
				out = append(out, netip.AddrPortFrom(a, ports[i].Port))
			}
		}
		return out
	}
	return nil
}

// FollowServers are those that serve v as far as the configuration says so: follow.members are of no entry if there are several.
func (c *Config) FollowServers(v VIP) []netip.Addr {
	if len(c.Followed()) > 1 {
		return slices.Concat(v.Spread.Members, v.VRRP.Peers)
	}
	return c.FollowMembers(v)
}

// FollowMembers are those that a follower of v asks, as far as the configuration names them.
func (c *Config) FollowMembers(v VIP) []netip.Addr {
	out := slices.Concat(c.Follow.Members, v.Spread.Members, v.VRRP.Peers)
	if v.Election == ElectionRaft {
		out = append(out, c.Raft.Peers...)
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
