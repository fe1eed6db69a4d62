package address

import (
	"context"
	"log/slog"

	"github.com/keepvip/keepvip/internal/serve/instance"
)

// overheard is what the foreign host of a MAC says by VRRP.
type overheard struct {
	mac  string
	says instance.Router
}

// overhearing looks for what the foreign hosts of a term say by VRRP, so that an operator can find them.
type overhearing struct {
	ctx       context.Context // of the term
	stop      context.CancelFunc
	overheard chan overheard
}

func newOverhearing() overhearing {
	ctx, stop := context.WithCancel(context.Background())
	return overhearing{ctx: ctx, stop: stop, overheard: make(chan overheard)}
}

// overhear begins for a conflict. Nobody waits for it: it ends with the term, or soon after, when nothing is heard. There are no
// more of them than there are conflicts.
func (d *detector) overhear(c instance.Conflict) {
	ctx, host, place, told := d.ctx, d.host, d.place, d.overheard
	go func() {
		says := host.Overhear(ctx, place, c.Address, c.MAC)
		if says == nil {
			return
		}
		select {
		case told <- overheard{c.MAC, *says}:
		case <-ctx.Done():
		}
	}()
}

// tellOf takes in what was overheard.
func (d *detector) tellOf(o overheard) {
	if !d.tell(o.mac, o.says) {
		return
	}
	d.line(slog.LevelWarn, "the host that claims the address speaks VRRP and is no member: keepalived, or another router", "mac", o.mac,
		"from", o.says.Source.String(), "version", o.says.Version, "vrid", o.says.VRID, "priority", o.says.Priority)
	d.show(d.conflicts())
}
