package spread

import (
	"log/slog"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// teller has clients learn that nobody has their connections any more, and ends those of this host's own programs. It belongs to the service's
// goroutine; its jobs tell, too.
type teller struct {
	host Host
	log  *slog.Logger
	jobs *jobs

	left  []spreadtables.Client // of connections that this node has ended because the address leaves
	until time.Time             // when these are told for the last time
}

// tell has clients learn that nobody has their connections any more, after each of these times.
func (t *teller) tell(list []spreadtables.Client, after []time.Duration) {
	if len(list) == 0 {
		return
	}
	t.jobs.Go(func() {
		for _, wait := range after {
			select {
			case <-t.jobs.ctx.Done():
				return
			case <-time.After(wait):
			}
			if err := t.host.Poke(list); err != nil {
				t.log.Debug("some clients are not told", "error", err)
			}
		}
	})
}

// tellLeftAfter is when they are told again, one time after the other. Of many connections the last ones are ended when the fence is shut, and what
// tells their clients does not leave; soon the address has gone, and nothing is shut any more.
var tellLeftAfter = [...]time.Duration{300 * time.Millisecond, 700 * time.Millisecond}

// leave tells the clients of connections that this node has ended because the address leaves.
func (t *teller) leave(now time.Time, clients []spreadtables.Client) {
	t.left, t.until = clients, now
	if len(clients) == 0 {
		return
	}
	for _, wait := range tellLeftAfter {
		t.until = t.until.Add(wait)
	}
	t.tell(clients, tellLeftAfter[:])
}

// rest tells them now who were to be told later: this service ends, and the address has gone.
func (t *teller) rest(now time.Time) {
	if !now.Before(t.until) {
		return
	}
	if err := t.host.Poke(t.left); err != nil {
		t.log.Debug("some clients are not told", "error", err)
	}
}

// endOwn ends the connections that this host's own programs, such as its kubelet, have to members that have died since. These go straight to
// the members, so no other node knows of them, and nobody would answer what the programs say. So it is with connections of clients that this node has
// masqueraded before the load was spread directly.
func (t *teller) endOwn(tables []*table) {
	for _, of := range tables {
		fresh, dead := of.newDead(of.rows, false)
		of.ended = dead
		if len(fresh) == 0 || of.plane == nil {
			continue
		}
		plane := of.plane
		t.jobs.Go(func() { t.endOwnTo(plane, fresh) })
	}
}

func (t *teller) endOwnTo(plane Plane, dead []netip.Addr) {
	for try := 1; ; try++ {
		n, clients, err := plane.EndOwn(dead...)
		t.tell(clients, askClientsAfter[:])
		switch {
		case err == nil && n > 0:
			t.log.Info("connections of this host to a member that is dead are ended", "members", dead, "connections", n)
			return
		case err == nil:
			return
		case try == endTries:
			t.log.Warn("connections of this host to a member that is dead may go on until they time out", "members", dead, "error", err)
			return
		}
		select {
		case <-t.jobs.ctx.Done():
			return
		case <-time.After(retryAfter):
		}
	}
}
