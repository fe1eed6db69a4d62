package spread

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/instance"
	"github.com/keepvip/keepvip/internal/slots"
	"github.com/keepvip/keepvip/internal/spreadtables"
)

// way is what masquerading wants of this host: that it forwards, and its own addresses toward the members.
type way struct {
	looked       time.Time
	ipv4, ipv6   bool   // it forwards
	problem      string // empty: it does all that is wanted
	sources      map[netip.Addr]netip.Addr
	sourcesSince time.Time
}

// releaseLimit is how long a holder that gives the addresses away waits until its clients were told.
const releaseLimit = 100 * time.Millisecond

// release ends all connections that this node translates, while the addresses are still here. It does not wait for long: what is not
// told now, clients learn of by what they say next.
func (s *Service) release(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseLimit)
	defer cancel()
	done := make(chan struct{})
	s.post.add(func(v *server) {
		defer close(done)
		for _, l := range v.lanes {
			v.endAll(l)
		}
	})
	select {
	case <-done:
	case <-s.ended:
	case <-ctx.Done():
	}
}

// endAll ends the connections of a lane that are translated here.
func (v *server) endAll(l *lane) {
	if l.plane == nil || l.applied == nil || !l.applied.Masquerade {
		return
	}
	n, err := l.plane.End()
	if err != nil {
		v.log.Debug("connections are not ended", "error", err)
	}
	if n > 0 {
		v.log.Info("connections that this node translated are ended, as the address leaves", "table", l.name, "connections", n)
	}
}

// endDead ends the connections to members that have died, once; and what an earlier run has left on a node that is not the holder any more.
func (v *server) endDead(l *lane, rows []row) error {
	if !v.cfg.Masquerade {
		return nil
	}
	if !l.swept && !v.holds {
		v.endAll(l)
	}
	l.swept = true
	var dead []netip.Addr
	for _, r := range rows {
		if r.Condition == slots.Dead {
			dead = append(dead, r.at.Addresses...)
		}
	}
	fresh := slices.DeleteFunc(slices.Clone(dead), func(a netip.Addr) bool { return slices.Contains(l.ended, a) })
	l.ended = slices.DeleteFunc(slices.Clone(dead), func(a netip.Addr) bool { return slices.Contains(fresh, a) })
	if len(fresh) == 0 {
		return nil
	}
	n, err := l.plane.End(fresh...)
	if n > 0 {
		v.log.Info("connections to a member that is dead are ended", "members", fresh, "connections", n)
	}
	if err == nil {
		l.ended = dead
	}
	return err
}

// lookAtWay looks now and then at what this host is set to.
func (v *server) lookAtWay(now time.Time) {
	w := &v.way
	if !v.cfg.Masquerade || now.Sub(w.looked) < lookEvery {
		return
	}
	w.looked, w.problem = now, ""
	var off []string
	look := func(ipv4 bool) bool {
		if !slices.ContainsFunc(v.cfg.Addresses, func(a netip.Addr) bool { return a.Is4() == ipv4 }) {
			return true
		}
		setting, does := v.host.Forwards(v.place, ipv4)
		if !does {
			off = append(off, setting)
		}
		return does
	}
	w.ipv4, w.ipv6 = look(true), look(false)
	if len(off) > 0 {
		w.problem = fmt.Sprintf("this host does not forward (%s is 0): as the holder it serves all by itself; set it to 1, and let the packet filter pass what is forwarded",
			strings.Join(off, " and "))
	}
}

// masquerade completes a configuration. Members that this host does not forward to are left out; their share is its own.
func (v *server) masquerade(cfg *spreadtables.Config) {
	cfg.Masquerade = true
	v.lookAtWay(time.Now())
	if now := time.Now(); v.way.sources == nil || now.Sub(v.way.sourcesSince) >= renewEvery {
		v.way.sources, v.way.sourcesSince = map[netip.Addr]netip.Addr{}, now
	}
	for i, m := range cfg.Members {
		if m.Self {
			continue
		}
		for _, a := range m.Addresses {
			if a.Is4() && !v.way.ipv4 || a.Is6() && !v.way.ipv6 {
				continue
			}
			from, known := v.way.sources[a]
			if !known {
				from = v.host.Toward(v.place, a)
				v.way.sources[a] = from
			}
			if from.IsValid() {
				cfg.Members[i].Sources = append(cfg.Members[i].Sources, from)
			}
		}
	}
}

// asking is how the host of a member is asked whether it is there. Where the network answers ARP for everybody, or members are not on the link,
// their services are: a host that lives takes the connection, or refuses it.
func (v *server) asking() func(ctx context.Context, p instance.Place, member netip.Addr) error {
	i := slices.IndexFunc(v.cfg.Ports, func(p Port) bool { return p.Protocol != udp })
	if !v.cfg.Masquerade || i < 0 {
		return v.host.Ask
	}
	target := v.cfg.Ports[i].Target
	return func(ctx context.Context, _ instance.Place, member netip.Addr) error {
		return v.host.Reach(ctx, netip.AddrPortFrom(member, target))
	}
}

// translated is how many connections this node translates to a member.
func (v *server) translated(r row) (n uint32) {
	for _, l := range v.lanes {
		for _, a := range r.at.Addresses {
			n += uint32(l.to[a])
		}
	}
	return n
}
