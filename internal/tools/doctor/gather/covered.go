package gather

import (
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
	"github.com/keepvip/keepvip/internal/node/coverage"
)

// uncovered is, by the name of an entry, why clients would be refused at an address of it: the keepvip that runs here knows, as it has connected to what
// it holds; without one it is what the kernel lists.
func uncovered(running *daemon, cfg *config.Config, list func() ([]link.Listener, error)) map[string]string {
	out := map[string]string{}
	if running != nil {
		for _, v := range running.VIPs {
			if v.Uncovered != "" {
				out[v.Name] = v.Uncovered
			}
		}
		return out
	}
	all, err := list()
	if err != nil {
		return out
	}
	for _, v := range cfg.VIPs {
		if u := coverage.Uncovered(v, all); len(u) > 0 {
			out[v.Name] = u[0].String()
		}
	}
	return out
}

// unreached is, by the name of an entry, who cannot connect to an address of it where it is held: the keepvip that runs here has heard of it.
func unreached(running *daemon) map[string]string {
	out := map[string]string{}
	if running == nil {
		return out
	}
	for _, v := range running.VIPs {
		if v.Unreached != "" {
			out[v.Name] = v.Unreached
		}
	}
	return out
}
