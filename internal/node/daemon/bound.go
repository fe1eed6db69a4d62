package daemon

import (
	"net/netip"

	"github.com/keepvip/keepvip/internal/config"
)

// boundAs is how addresses are bound: those of IPv4 with a length of 32, whatever is written. With the length of the node's own subnet Linux
// makes the later of two addresses depend on the earlier, and takes it away with that: the node would lose its own address with the virtual
// one, or speak as that.
func boundAs(written []netip.Prefix) []netip.Prefix {
	out := make([]netip.Prefix, len(written))
	for i, p := range written {
		if out[i] = p; p.Addr().Is4() {
			out[i] = netip.PrefixFrom(p.Addr(), 32)
		}
	}
	return out
}

// subnetsOf are the IPv4 addresses that are written with a subnet.
func subnetsOf(cfg *config.Config) map[netip.Addr]netip.Prefix {
	out := map[netip.Addr]netip.Prefix{}
	for _, v := range cfg.VIPs {
		for _, p := range v.Addresses {
			if p.Addr().Is4() && p.Bits() < 32 {
				out[p.Addr()] = p
			}
		}
	}
	return out
}

// brought are those of the addresses whose subnet no own address of the link has: without a route of their own, answers would go to the
// router, or nowhere.
func (s *seen) brought(index int, addresses []netip.Prefix) (out []netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.subnets) == 0 {
		return nil
	}
	for _, a := range addresses {
		if p, written := s.subnets[a.Addr()]; written && !s.coversOn(index, p.Masked()) {
			out = append(out, p)
		}
	}
	return out
}

// coversOn tells whether an own address of a link is in the subnet, or has one around it.
func (s *seen) coversOn(index int, subnet netip.Prefix) bool {
	for _, l := range s.own {
		if l.Index != index {
			continue
		}
		for _, a := range l.Addresses {
			if a.Prefix.Addr().Is4() && a.Prefix.Overlaps(subnet) && a.Prefix.Bits() < 32 {
				return true
			}
		}
	}
	return false
}
