package daemon

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// lacks says why the IPv6 addresses of v cannot be bound now, while those of IPv4 can; nil where v has one family.
func (h *host) lacks(v config.VIP) func() string {
	four, six := 0, netip.Addr{}
	for _, p := range v.Addresses {
		if p.Addr().Is4() {
			four++
		} else if !six.IsValid() {
			six = p.Addr()
		}
	}
	if four == 0 || !six.IsValid() {
		return nil
	}
	return func() string {
		for _, on := range v.Links() {
			for _, p := range on.Addresses {
				if name := h.seen.linkFor(v, on); p.Addr().Is6() && name != "" && ipv6Off("/proc/sys", name) {
					return fmt.Sprintf("IPv6 is off on %s, so %s is not bound on this node", name, p.Addr())
				}
			}
		}
		return ""
	}
}

// electsWithoutIPv6 is the error of addresses that are elected with IPv6 where the interface has none; nil: that is not so. Where IPv4 addresses are among them
// they go with the election: nodes that have IPv6 would not hear one with IPv4, and two would hold them. The caller holds the lock.
func (s *seen) electsWithoutIPv6(w where) error {
	if w.addresses[0].Addr().Is4() {
		return nil
	}
	for _, p := range w.addresses {
		l, err := link.Choose(s.own, p.Addr(), w.link)
		if err != nil || !ipv6Off("/proc/sys", l.Name) {
			continue
		}
		text := fmt.Sprintf("IPv6 is off on %s, and %s is elected with IPv6", l.Name, w.addresses[0].Addr())
		if i := slices.IndexFunc(w.addresses, func(p netip.Prefix) bool { return p.Addr().Is4() }); i >= 0 {
			text += fmt.Sprintf(", and %s with it: written first, it would be elected with IPv4", w.addresses[i].Addr())
		}
		return code.With(code.NoIPv6, errors.New(text))
	}
	return nil
}

// linkFor is the name of the interface of these addresses; empty: there is none now.
func (s *seen) linkFor(v config.VIP, on config.OnLink) string {
	name := on.Interface
	if name == "" {
		name = v.Interface
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := link.Choose(s.own, v.First(), name)
	if err != nil {
		return ""
	}
	return l.Name
}

// ipv6Off tells whether the kernel, or the interface of that name, has no IPv6. root is that of the sysctls.
func ipv6Off(root, name string) bool {
	conf := filepath.Join(root, "net/ipv6/conf")
	if _, err := os.Stat(filepath.Join(conf, "all")); err != nil {
		return os.IsNotExist(err) && exists(filepath.Join(root, "net/ipv4/conf"))
	}
	text, err := os.ReadFile(filepath.Join(conf, name, "disable_ipv6"))
	return err == nil && strings.TrimSpace(string(text)) != "0"
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
