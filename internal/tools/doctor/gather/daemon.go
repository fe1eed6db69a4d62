package gather

import (
	"context"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// daemon is the status of the keepvip that runs here.
type daemon struct {
	Version string            `json:"version"`
	VIPs    []instance.Status `json:"vips"`
}

// askDaemon returns nil when none answers.
func askDaemon(ctx context.Context, cfg *config.Config) *daemon {
	ctx, cancel := context.WithTimeout(ctx, quick)
	defer cancel()
	d := &daemon{}
	if err := control.NewClient(cfg.Socket).Status(ctx, d); err != nil {
		return nil
	}
	return d
}

func (d *daemon) facts() *doctor.Daemon {
	if d == nil {
		return nil
	}
	now := time.Now()
	out := &doctor.Daemon{Version: d.Version, Fenced: map[string]string{}, Silent: map[string]string{}}
	for _, v := range d.VIPs {
		out.Lateness = max(out.Lateness, time.Duration(v.Lateness*float64(time.Second)))
		if !v.Fence.Standing && v.State != "initialize" {
			out.Fenced[v.Name] = v.Fence.Reason
		}
		if v.Silent {
			out.Silent[v.Name] = v.Reason
		}
		for _, r := range v.Rejected {
			if r.Acute(now) && (r.Code == code.NotAPeer || r.Code == code.BehindRouter) {
				out.KeptOut = append(out.KeptOut, doctor.KeptOut{VIP: v.Name, Source: r.Source.WithZone(""), Code: r.Code, Text: r.Text, Remedy: r.Remedy})
			}
		}
	}
	return out
}

// announced are the entries to whose addresses this host has a route now.
func (d *daemon) announced() map[string]bool {
	out := map[string]bool{}
	if d == nil {
		return out
	}
	for _, v := range d.VIPs {
		out[v.Name] = v.State == "active"
	}
	return out
}
