package daemon

import (
	"log/slog"
	"slices"
	"sync"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// bearers makes the links of virtual MACs, deletes them, and sets them up and down.
//
// An entry with a virtual MAC has a link of its own for it, on that of the election: its bearer. It is there as long as the entry, and down unless an
// address is bound to it: who does not hold the addresses must take nothing that is sent to the virtual MAC (RFC 9568 section 6.4.2, (110)), and a
// link that is up would forward what a switch floods.
type bearers struct {
	links  *link.Handle
	seen   *seen
	log    *slog.Logger
	making sync.Mutex // one that makes or deletes a link at a time
}

// bearing is p with the bearer of v, which is made if it is not there.
func (b *bearers) bearing(p instance.Place, v config.VIP) (instance.Place, error) {
	name := v.VirtualMACInterface()
	if name == "" {
		return p, nil
	}
	want := link.VirtualMAC{Name: name, On: p.Index, MAC: link.RouterMAC(p.Source.Is4(), v.VRRP.ID)}
	b.making.Lock()
	defer b.making.Unlock()
	links := b.seen.now().all
	for _, l := range links {
		if l.Name != name && !slices.Contains(l.AltNames, name) {
			continue
		}
		if want.Is(l) {
			p.Bearer = instance.Bearer{Index: l.Index, Name: l.Name, MAC: l.MAC.String()}
			return p, nil
		}
		err := want.Refuse(l)
		if err == nil {
			err = b.delete(l, links)
		}
		if err != nil {
			return instance.Place{}, code.With(code.VirtualMACInterface, err)
		}
	}
	l, err := b.links.MakeVirtual(want, links)
	if err != nil {
		return instance.Place{}, code.With(code.VirtualMACInterface, err)
	}
	b.log.Info("interface made for the virtual MAC", "vip", v.Name, "interface", name, "on", p.Name, "mac", want.MAC.String())
	b.seen.put(l)
	p.Bearer = instance.Bearer{Index: l.Index, Name: l.Name, MAC: l.MAC.String()}
	return p, nil
}

// removeOthers deletes what this run or an earlier one has made for virtual MACs and cfg does not have; nil: all of it.
func (b *bearers) removeOthers(cfg *config.Config) {
	wanted := map[string]bool{}
	if cfg != nil {
		for _, v := range cfg.VIPs {
			wanted[v.VirtualMACInterface()] = true
		}
	}
	b.making.Lock()
	defer b.making.Unlock()
	for {
		links := b.seen.now().all
		i := slices.IndexFunc(links, func(l link.Link) bool { return l.OursVirtual() && !wanted[l.Name] })
		if i < 0 {
			return
		}
		if err := b.delete(links[i], links); err != nil {
			b.log.Warn("the interface of a virtual MAC stays", "interface", links[i].Name, "error", err)
			return
		}
	}
}

// delete deletes one. The caller holds the lock.
func (b *bearers) delete(l link.Link, links []link.Link) error {
	gone, err := b.links.DeleteVirtual(l, links)
	if !gone {
		return err
	}
	b.seen.remove(l.Index)
	b.log.Info("interface of a virtual MAC removed", "interface", l.Name)
	if err != nil {
		b.log.Warn("the interface of a virtual MAC has left something behind", "interface", l.Name, "error", err)
	}
	return nil
}

// raise sets a bearer up, before an address is bound to it.
func (b *bearers) raise(index int) error {
	if l, ok := b.seen.now().bearer(index); !ok || l.Up {
		return nil
	}
	if err := b.links.SetUp(index, true); err != nil {
		return err
	}
	b.seen.turn(index, true)
	return nil
}

// lower sets a bearer down that has no address any more. Without carrier it looks down, and would come up by itself.
func (b *bearers) lower(index int) {
	l, ok := b.seen.now().bearer(index)
	if !ok || slices.ContainsFunc(l.Addresses, func(a link.Address) bool { return a.Ours }) {
		return
	}
	if err := b.links.SetUp(index, false); err != nil {
		b.log.Warn("the interface of a virtual MAC stays up", "interface", l.Name, "error", err)
		return
	}
	b.seen.turn(index, false)
}
