package daemon

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// fits refuses an address that belongs to none of this node's networks, or that something else has in them. While the node has
// no address at all it is still booting, and a named interface may appear later: that is waited for.
func (h hostLinks) fits(cfg *config.Config) error {
	var errs []error
	virtual := virtualAddresses(cfg)
	for _, v := range cfg.Internal() {
		if _, witness := h.own.among(cfg.Raft.Witnesses); witness && v.Election == config.ElectionRaft {
			continue // votes from any network
		}
		if v.Local() {
			if err := ownIsVirtual(h.all, v, virtual); err != nil {
				errs = append(errs, err)
			}
			continue // routers send it here, from any network
		}
		first := v.First()
		_, err := link.Choose(h.all, first, v.Interface)
		if own := unsuitable(h.all, v, virtual); own != nil {
			errs = append(errs, own)
		} else if unlisted := h.own.unlisted(v); unlisted != nil {
			errs = append(errs, unlisted)
		} else if errors.Is(err, link.ErrNoSubnet) && link.Addressed(h.all, first) {
			errs = append(errs, fmt.Errorf("vips[%s]: %w with --interface or the key \"interface\"", v.Name, err))
		}
	}
	return errors.Join(append(errs, distinct(h.all, cfg))...)
}

// unlisted refuses a list of members without this node: it could not say to the others where it is in their tables.
func (o ownLinks) unlisted(v config.VIP) error {
	if v.Spread.Via == config.ViaOff || len(v.Spread.Members) == 0 {
		return nil
	}
	l, err := link.Choose(o, v.First(), v.Interface)
	if err != nil {
		return nil // it is waited for
	}
	var own []string
	for _, a := range l.Addresses {
		switch {
		case slices.Contains(v.Spread.Members, a.Prefix.Addr()), slices.Contains(v.Candidates, a.Prefix.Addr()):
			return nil
		case a.Prefix.Addr().Is4() == v.Spread.Members[0].Is4():
			own = append(own, a.Prefix.Addr().String())
		}
	}
	if len(own) == 0 {
		return nil
	}
	return strange(v, l.Name, strings.Join(own, ", "))
}

// distinct refuses two virtual routers of one VRID on one of these links.
func distinct(links []link.Link, cfg *config.Config) error {
	return cfg.CheckLinks(func(v config.VIP) (string, bool) {
		l, err := link.Choose(links, v.First(), v.Interface)
		return l.Name, err == nil && !v.External()
	})
}

// ownIsVirtual refuses an address that is this node's own.
func ownIsVirtual(links []link.Link, v config.VIP, virtual []netip.Addr) error {
	for _, p := range v.Addresses {
		if err := link.NotOwn(links, p.Addr(), virtual); err != nil {
			return fmt.Errorf("vips[%s]: %w", v.Name, err)
		}
	}
	return nil
}

// unsuitable is what makes the addresses of v impossible on a host with these links, as far as its links are known.
func unsuitable(links []link.Link, v config.VIP, virtual []netip.Addr) error {
	if v.HooksOnly {
		return nil // the host may have the address for good
	}
	if err := ownIsVirtual(links, v, virtual); err != nil {
		return err
	}
	for _, on := range v.Links() {
		l, err := link.Choose(links, on.Addresses[0].Addr(), cmp.Or(on.Interface, v.Interface))
		if err != nil {
			continue
		}
		if err := link.Suitable(l, on.Addresses...); err != nil {
			return fmt.Errorf("vips[%s]: %w", v.Name, err)
		}
	}
	return nil
}

// SuitsHere judges the addresses by the networks of this host, where it has them. What it cannot see it does not judge: the
// configuration may be another node's.
func SuitsHere(cfg *config.Config) error {
	h, err := link.Open(slog.New(slog.DiscardHandler))
	if err != nil {
		return nil
	}
	defer h.Close()
	links, err := h.Links()
	if err != nil {
		return nil
	}
	return suits(links, cfg)
}

func suits(links []link.Link, cfg *config.Config) error {
	var errs []error
	virtual := virtualAddresses(cfg)
	for i, v := range cfg.VIPs {
		if v.External() {
			continue
		}
		err := unsuitable(links, v, virtual)
		if err == nil && !v.HooksOnly {
			err = ofContainers(links, v, virtual)
		}
		if err != nil {
			errs = append(errs, placed(cfg, i, err))
		}
	}
	return errors.Join(append(errs, distinct(links, cfg))...)
}

// placed puts before err where the addresses of the entry are written.
func placed(cfg *config.Config, entry int, err error) error {
	if at := cfg.Origin(fmt.Sprintf("vips[%d].addresses", entry)); at.Source != config.Default {
		return fmt.Errorf("%s: %w", at, err)
	}
	return err
}

// ofContainers refuses an address in a network of pods, or of containers of this host. A daemon runs nevertheless: doctor warns of it.
func ofContainers(links []link.Link, v config.VIP, virtual []netip.Addr) error {
	for _, p := range v.Addresses {
		if name, subnet, found := link.ContainerNetwork(links, p.Addr(), virtual, v.Interface); found {
			return fmt.Errorf("vips[%s]: %s is in %s, the subnet of %s, which belongs to containers: choose an address of the nodes' own subnet",
				v.Name, p.Addr(), subnet, name)
		}
	}
	return nil
}

// HostNotes is what would keep a Daemon from starting on this host: no mistake of a configuration that is meant for another one.
func HostNotes(cfg *config.Config) []string {
	log := slog.New(slog.DiscardHandler)
	links, err := link.Open(log)
	if err != nil {
		return nil // nothing can be told
	}
	defer links.Close()
	h := newHost(links, log)
	h.seen.setVirtual(virtualAddresses(cfg))
	if _, err := h.refresh(); err != nil {
		return nil
	}
	if err := h.seen.now().fits(cfg); err != nil {
		return strings.Split("on this host: "+strings.ReplaceAll(err.Error(), "\n", "\non this host: "), "\n")
	}
	return nil
}
