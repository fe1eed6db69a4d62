package spread

import (
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

const (
	// newcomerAfter is for how long after the first term began members may appear unnoticed: the nodes of a cluster do not start at one moment.
	newcomerAfter = 2 * time.Minute
	// newcomerAge is for how long one is shown.
	newcomerAge = 24 * time.Hour
	// mostNewcomers bounds what is shown, and mostRemembered what is remembered: without a key anybody on the link can invent members.
	mostNewcomers, mostRemembered = 16, 1024
)

// newcomers are the members that have appeared while neither a key nor a list says who is one. It is pure. The zero value knows nobody.
type newcomers struct {
	from  time.Time           // until then all are taken for members that were there before
	known map[netip.Addr]bool // all that were heard in this run, as far as there is room
	shown []instance.SpreadNewcomer
}

// begin opens the time in which members are learned. Only the first term does.
func (n *newcomers) begin(now time.Time) {
	if n.from.IsZero() {
		n.from = now.Add(newcomerAfter)
	}
}

// look takes in the members at now, and returns those that were never heard before. With proved a key or a list says that they are members.
func (n *newcomers) look(now time.Time, members []*member, proved bool) (fresh []*member) {
	n.shown = slices.DeleteFunc(n.shown, func(s instance.SpreadNewcomer) bool { return now.Sub(s.Since) >= newcomerAge })
	for _, m := range members {
		if !m.heard || n.known[m.address] {
			continue
		}
		if len(n.known) < mostRemembered {
			if n.known == nil {
				n.known = map[netip.Addr]bool{}
			}
			n.known[m.address] = true
		}
		if proved || now.Before(n.from) {
			continue
		}
		fresh = append(fresh, m)
		if slices.ContainsFunc(n.shown, func(s instance.SpreadNewcomer) bool { return s.Address == m.address }) {
			continue
		}
		if len(n.shown) >= mostNewcomers {
			n.shown = slices.Delete(n.shown, 0, 1)
		}
		n.shown = append(n.shown, instance.SpreadNewcomer{Address: m.address, Node: m.node, Since: now})
	}
	return fresh
}
