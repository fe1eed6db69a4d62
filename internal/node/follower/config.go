package follower

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/members/subscription"
)

// Config is what a follower does.
type Config struct {
	Entries []Entry
	Key     *auth.Key // nil: none
	Port    uint16    // of members
	Listen  string    // host:port for the first port of the first entry; "": none
	// Connections is how many there may be at Listen at a time; 0: as many as this host has room for.
	Connections int
	Socket      string
	StateDir    string
	Metrics     config.Metrics
	Source      reloads.Source
}

// Entry is one virtual address, or several that move together.
type Entry struct {
	Name      string
	Addresses []netip.Addr // the first one names it to members
	Ports     []port
	Members   []netip.Addr // own addresses of members, as far as they are configured: they are asked
	// Servers are those of them that may get connections of this entry while no member says anything.
	Servers []netip.Addr
}

// firstTCP is the index of the first port of TCP, less than 0 if there is none.
func (e Entry) firstTCP() int {
	return slices.IndexFunc(e.Ports, func(p port) bool { return p.Protocol == tcp })
}

// port is one that is spread.
type port struct {
	Protocol     uint8 // of IP
	Port, Target uint16
}

const (
	tcp = 6
	udp = 17
)

// New is what a configuration, which is the members', says of following.
func New(c *config.Config) (Config, error) {
	out := Config{Port: c.Port, Listen: c.Follow.Listen, Connections: c.Follow.Connections, Socket: c.Socket, StateDir: c.StateDir, Metrics: c.Metrics, Source: reloads.SourceOf(c)}
	followed := c.Followed()
	if len(followed) == 0 {
		return Config{}, fmt.Errorf("config: no entry under vips is spread over its members, want one with spread: direct: a follower follows those")
	}
	for _, v := range followed {
		e := Entry{Name: v.Name, Members: c.FollowMembers(v), Servers: c.FollowServers(v)}
		for _, a := range v.Addresses {
			e.Addresses = append(e.Addresses, a.Addr())
		}
		for _, p := range v.SpreadPorts() {
			protocol := uint8(tcp)
			if p.Protocol == config.ProtocolUDP {
				protocol = udp
			}
			e.Ports = append(e.Ports, port{Protocol: protocol, Port: p.Port, Target: p.Target})
		}
		if len(e.Ports) > 0 {
			out.Entries = append(out.Entries, e)
		}
	}
	if out.Listen != "" && len(out.Entries) > 0 && out.Entries[0].firstTCP() < 0 {
		return Config{}, fmt.Errorf("config: follow.listen %s, but %s has no TCP port that is spread", out.Listen, out.Entries[0].Name)
	}
	secret, err := c.FollowKey()
	if err != nil {
		return Config{}, fmt.Errorf("config: %w; on a host that is no member name the followers' key by follow.keyFile (keepvip key derive makes it)", err)
	}
	if secret != nil {
		key, err := subscription.NewKey(secret)
		if err != nil {
			return Config{}, err
		}
		out.Key = &key
	}
	return out, nil
}
