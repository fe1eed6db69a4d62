package spread

import (
	"context"
	"errors"
	"time"

	"github.com/keepvip/keepvip/election"
)

// inquiry is what questions have said of a host.
type inquiry struct {
	asking  bool      // a question is on its way
	askNext time.Time // when it is asked again
	missed  int       // questions in a row that were not answered
	dead    bool      // until it is heard, healthy, or answers
}

// answered takes in what became of a question. The error is as that of Host.Ask.
func (i *inquiry) answered(now time.Time, err error) {
	i.asking = false
	switch {
	case err == nil:
		i.missed, i.askNext = 0, now.Add(askLater)
	case errors.Is(err, ErrSilent):
		i.missed++
	}
}

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
		v.notes.unasked(now, a.member, a.err)
	}
}

// askClients has the clients of members that have died learn of it now, and not by what they say next: some say nothing for minutes.
func (v *server) askClients() {
	orphans, of := v.roster.orphans(v.cfg.masquerades())
	if len(orphans) == 0 {
		return
	}
	const text = "clients are told that the members that served them do so no more"
	if left, ok := v.notes.lines.May(v.last, text, mostLines); ok {
		v.log.Info(text, election.LeftOut([]any{"members", of, "clients", len(orphans)}, left)...)
	}
	v.teller.tell(clientsAt(v.cfg.addresses, orphans), askClientsAfter[:])
}
