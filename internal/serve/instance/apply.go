package instance

import (
	"context"
	"log/slog"
	"time"

	"github.com/keepvip/keepvip/election"
)

// apply has the service carry out what the elector decides. It runs in the elector's goroutine.
func (i *instance) apply(d election.Decision) error {
	v := i.shared.now()
	err := v.service.Apply(context.Background(), d)
	if err == nil && d.Role == election.Serve && v.role.State() != election.Active && v.cfg.TookOver != nil {
		v.cfg.TookOver(time.Since(d.At))
	}
	told := false
	i.shared.change(func(v *view) {
		before := v.role.State()
		if told = v.decided(d, err); told && before != v.role.State() {
			v.count(d.Code)
		}
	})
	if d.Role == election.Serve && d.Away > 0 {
		d.Away += time.Since(d.At) // clients find this node as soon as it has announced the addresses
	}
	if told {
		if d.Away > 0 && v.cfg.Away != nil {
			v.cfg.Away(d.Away)
		}
		i.logDecision(v.role, d)
		t := transition(v.cfg.VIP.Name, v.role.State(), v.holder, d)
		i.shared.change(func(v *view) { v.last = &t })
		v.cfg.moved(t)
	}
	return err
}

const (
	// mostLines is how many lines of one kind that others can bring about are written in a minute.
	mostLines = 10
	// mostChanges is the same for changes of this node's state, each of which is an event of its own.
	mostChanges = 60
)

func (i *instance) logDecision(before election.Role, d election.Decision) {
	text, most := "holder changed", mostLines
	if before.State() != d.Role.State() {
		text, most = "state changed", mostChanges
	}
	if left, ok := i.lines.May(time.Now(), text, most); ok {
		i.log.Log(context.Background(), slog.LevelInfo, text, election.LeftOut(DecisionArgs(before, d), left)...)
	}
}

// DecisionArgs are what a line about a decision says.
func DecisionArgs(before election.Role, d election.Decision) []any {
	args := []any{"from", before.State().String(), "to", d.Role.State().String(), "reason", d.Reason}
	if d.Holder.IsValid() {
		args = append(args, "holder", d.Holder.String())
	}
	for _, a := range []struct{ key, text string }{
		{"code", string(d.Code)}, {"old", d.From.String()}, {"new", d.To.String()}, {"cause", d.Cause}, {"askedBy", d.AskedBy},
	} {
		if a.text != "" {
			args = append(args, a.key, a.text)
		}
	}
	return args
}
