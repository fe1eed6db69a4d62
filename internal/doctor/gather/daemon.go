package gather

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/control"
	"github.com/keepvip/keepvip/internal/doctor"
	"github.com/keepvip/keepvip/internal/instance"
)

// daemon is the status of the keepvip that runs here.
type daemon struct {
	Version string            `json:"version"`
	VIPs    []instance.Status `json:"vips"`
	asked   time.Time
}

// askDaemon returns nil when none answers.
func askDaemon(ctx context.Context, cfg *config.Config) *daemon {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	d := &daemon{}
	if err := control.NewClient(cfg.Socket).Status(ctx, d); err != nil {
		return nil
	}
	d.asked = time.Now()
	return d
}

// recent is how old what a member said may be: with many addresses members speak every 15 s.
const recent = 20 * time.Second

func (d *daemon) facts() *doctor.Daemon {
	if d == nil {
		return nil
	}
	out := &doctor.Daemon{Version: d.Version, Fenced: map[string]string{}, Silent: map[string]string{}}
	for _, v := range d.VIPs {
		out.Lateness = max(out.Lateness, time.Duration(v.Lateness*float64(time.Second)))
		if !v.Fence.Standing && v.State != "initialize" {
			out.Fenced[v.Name] = v.Fence.Reason
		}
		if v.Silent {
			out.Silent[v.Name] = v.Reason
		}
		for _, m := range v.Members {
			if d.speaks(m) {
				out.Speaks = append(out.Speaks, m.Address)
			}
		}
		for _, r := range v.Rejected {
			if r.Source.IsValid() && d.asked.Sub(r.Last) < recent {
				out.Refused = append(out.Refused, r.Source)
			}
		}
	}
	return out
}

func (d *daemon) speaks(m instance.MemberStatus) bool {
	return !m.Self && m.Fit != nil && m.Was == "" && m.LastHeard != nil && d.asked.Sub(*m.LastHeard) < recent
}

// arrived marks the messages that the daemon takes. Those for a group that it does not have say nothing.
func (d *daemon) arrived(wires []doctor.Wire) {
	if d == nil {
		return
	}
	for i := range wires {
		wires[i].HeardMembers = true
		for j := range wires[i].Hellos {
			h := &wires[i].Hellos[j]
			h.Arrived = !d.has(h.Group) || d.hears(h.Group, h.Source)
		}
	}
}

func (d *daemon) has(group netip.Addr) bool {
	return slices.ContainsFunc(d.VIPs, func(v instance.Status) bool { return v.Addresses[0].Addr() == group })
}

func (d *daemon) hears(group, source netip.Addr) bool {
	return slices.ContainsFunc(d.VIPs, func(v instance.Status) bool {
		return v.Addresses[0].Addr() == group && slices.ContainsFunc(v.Members, func(m instance.MemberStatus) bool {
			return m.Address == source && d.speaks(m)
		})
	})
}
