package address

import (
	"errors"
	"net/netip"
	"slices"
)

// bindThere adds addresses at the place, or renews them, and tells whether it added any. Where the host refuses one family and this entry has
// another, that one is served: what is missing is kept for the status, and tried again at each event and renewal. An error says that nothing of these addresses
// can be bound, and no family is left.
func (b *binder) bindThere(addresses []netip.Prefix) (any bool, err error) {
	err = b.host.Bind(b.place.Holds().Index, addresses, b.valid())
	if err == nil {
		b.misses(nil, nil)
		return true, nil
	}
	four, six := split(b.cfg.Addresses)
	if len(four) == 0 || len(six) == 0 {
		return false, err
	}
	four, six = split(addresses)
	refused := [][]netip.Prefix{}
	var why []error
	for _, family := range [][]netip.Prefix{four, six} {
		if len(family) == 0 {
			continue
		}
		if err := b.host.Bind(b.place.Holds().Index, family, b.valid()); err != nil {
			refused, why = append(refused, family), append(why, err)
		} else {
			any = true
		}
	}
	if len(refused) > 1 {
		return false, errors.Join(why...)
	}
	if len(refused) == 0 { // by now it can
		b.misses(nil, nil)
		return any, nil
	}
	b.misses(refused[0], why[0])
	return any, nil
}

// split are the addresses by family.
func split(addresses []netip.Prefix) (four, six []netip.Prefix) {
	for _, p := range addresses {
		if p.Addr().Is4() {
			four = append(four, p)
		} else {
			six = append(six, p)
		}
	}
	return four, six
}

// misses takes in which addresses this host cannot bind, and why; none: it can bind all.
func (b *binder) misses(missing []netip.Prefix, why error) {
	b.missing = missing
	text := ""
	if len(missing) > 0 {
		text = "not bound here: " + why.Error()
	}
	b.shown.set(func(s *shown) { s.status.Missing = text })
}

// bindable are the addresses that are, or will be, here while this node holds them.
func (c *core) bindable() (out []netip.Addr) {
	for _, p := range c.cfg.Addresses {
		if !slices.Contains(c.missing, p) {
			out = append(out, p.Addr())
		}
	}
	return out
}
