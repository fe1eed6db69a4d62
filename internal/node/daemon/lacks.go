package daemon

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/keepvip/keepvip/internal/config"
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
				if name := h.seen.now().own.linkFor(v, on); p.Addr().Is6() && name != "" && ipv6Off("/proc/sys", name) {
					return fmt.Sprintf("IPv6 is off on %s, so %s is not bound on this node", name, p.Addr())
				}
			}
		}
		return ""
	}
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
