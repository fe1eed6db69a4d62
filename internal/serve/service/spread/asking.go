package spread

import (
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
)

// ask asks the hosts of members that are, or may soon be, silent.
func (v *server) ask(now time.Time) {
	due, limit := v.roster.ask(now)
	place, ask := v.term.Place, v.cfg.asking(v.host)
	for _, a := range due {
		v.jobs.Go(func() {
			ctx, cancel := context.WithTimeout(v.jobs.ctx, limit)
			defer cancel()
			send(v.jobs.ctx, v.answers, answer{a, ask(ctx, place, a)})
		})
	}
}

// answered takes in what became of a question.
func (v *server) answered(now time.Time, a answer) {
	v.roster.answered(now, a.member, a.err)
	if a.err != nil && !errors.Is(a.err, ErrSilent) {
		v.noteUnasked(now, a.member, a.err)
	}
}

// noteUnasked notes that this node could not ask a host whether it is there.
func (v *server) noteUnasked(now time.Time, of netip.Addr, err error) {
	const text = "the host of a silent member cannot be asked whether it is there: it counts as alive"
	if left, ok := v.lines.May(now, text, mostLines); ok {
		v.log.Warn(text, election.LeftOut([]any{"member", of, "error", err}, left)...)
	}
}

// askClients has the clients of members that have died learn of it now, and not by what they say next: some say nothing for minutes.
func (v *server) askClients() {
	orphans, of := v.roster.orphans(v.cfg.Masquerade)
	if len(orphans) == 0 {
		return
	}
	const text = "clients are told that the members that served them do so no more"
	if left, ok := v.lines.May(v.last, text, mostLines); ok {
		v.log.Info(text, election.LeftOut([]any{"members", of, "clients", len(orphans)}, left)...)
	}
	v.tell(clientsAt(v.cfg.Addresses, orphans), askClientsAfter[:])
}

// tell has clients learn that nobody has their connections any more, after each of these times.
func (v *server) tell(list []spreadtables.Client, after []time.Duration) {
	if len(list) == 0 {
		return
	}
	v.jobs.Go(func() {
		for _, wait := range after {
			select {
			case <-v.jobs.ctx.Done():
				return
			case <-time.After(wait):
			}
			if err := v.host.Poke(list); err != nil {
				v.log.Debug("some clients are not told", "error", err)
			}
		}
	})
}
