package spread

import (
	"net/netip"
	"time"
)

// endOwn ends the connections that this host's own programs, such as its kubelet, have to members that have died since. These go straight to
// the members, so no other node knows of them, and nobody would answer what the programs say. So it is with connections of clients that this node has
// masqueraded before the load was spread directly. With masquerade the kernel's part does it.
func (v *server) endOwn() {
	if v.cfg.Masquerade {
		return
	}
	for _, t := range v.kernel.tables {
		fresh, dead := t.newDead(t.rows, false)
		t.ended = dead
		if len(fresh) == 0 || t.plane == nil {
			continue
		}
		plane := t.plane
		v.jobs.Go(func() { v.endOwnTo(plane, fresh) })
	}
}

func (v *server) endOwnTo(plane Plane, dead []netip.Addr) {
	for try := 1; ; try++ {
		n, clients, err := plane.EndOwn(dead...)
		v.tell(clients, askClientsAfter[:])
		switch {
		case err == nil && n > 0:
			v.log.Info("connections of this host to a member that is dead are ended", "members", dead, "connections", n)
			return
		case err == nil:
			return
		case try == endTries:
			v.log.Warn("connections of this host to a member that is dead may go on until they time out", "members", dead, "error", err)
			return
		}
		select {
		case <-v.jobs.ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}
