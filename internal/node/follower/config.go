package follower

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/members/subscription"
)

// Following is what a configuration, which is the members', says of following.
type Following struct {
	Whole   *config.Config
	Entries []Entry
	Key     *auth.Key // nil: none
}

// same tells whether two have the same followed in the same way, wherever that is said, and whatever only a new process
// takes over.
func (f Following) same(o Following) bool {
	a, b := f.Whole, o.Whole
	return a.Port == b.Port && a.StateDir == b.StateDir && a.Follow.Listen == b.Follow.Listen && a.Follow.Connections == b.Follow.Connections &&
		reflect.DeepEqual(f.Entries, o.Entries) && reflect.DeepEqual(f.Key, o.Key)
}

// Entry is one virtual address, or several that move together.
type Entry struct {
	Name      string
	Addresses []netip.Addr        // the first one names it to members
	Ports     []config.SpreadPort // without their checks, of which the members tell the outcome
	Members   []netip.Addr        // own addresses of members, as far as they are configured: they are asked
	// Servers are those of them that may get connections of this entry while no member says anything.
	Servers []netip.Addr
}

// firstTCP is the index of the first port of TCP, less than 0 if there is none.
func (e Entry) firstTCP() int {
	return slices.IndexFunc(e.Ports, config.SpreadPort.TCP)
}

// New looks for what is followed.
func New(c *config.Config) (Following, error) {
	out := Following{Whole: c}
	followed := c.Followed()
	if len(followed) == 0 {
		return Following{}, fmt.Errorf("config: no entry under vips is spread over its members, want one with spread: direct: a follower follows those")
	}
	for _, v := range followed {
		e := Entry{Name: v.Name, Addresses: v.Bare(), Members: c.FollowMembers(v), Servers: c.FollowServers(v)}
		for _, p := range v.SpreadPorts() {
			p.Check = ""
			e.Ports = append(e.Ports, p)
		}
		if len(e.Ports) > 0 {
			out.Entries = append(out.Entries, e)
		}
	}
	if c.Follow.Listen != "" && len(out.Entries) > 0 && out.Entries[0].firstTCP() < 0 {
		return Following{}, fmt.Errorf("config: follow.listen %s, but %s has no TCP port that is spread", c.Follow.Listen, out.Entries[0].Name)
	}
	secret, err := c.FollowKey()
	if err != nil {
		return Following{}, fmt.Errorf("config: %w; on a host that is no member name the followers' key by follow.keyFile (keepvip key derive makes it)", err)
	}
	if secret != nil {
		key, err := subscription.NewKey(secret)
		if err != nil {
			return Following{}, err
		}
		out.Key = &key
	}
	return out, nil
}
