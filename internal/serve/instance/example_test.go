package instance_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// alone is the smallest elector: this node serves while it is fit.
type alone struct {
	fit chan election.Fitness
}

func (a alone) Run(ctx context.Context, apply func(election.Decision) error) error {
	role := election.Standby
	for {
		select {
		case <-ctx.Done():
			return apply(election.Decision{Role: election.Off, Reason: "stopped", At: time.Now()})
		case f := <-a.fit:
			if next := roleFor(f); next != role {
				role = next
				_ = apply(election.Decision{Role: role, Reason: "this node is alone", At: time.Now()})
			}
		}
	}
}

func roleFor(f election.Fitness) election.Role {
	if f.Out || f.Wait {
		return election.Standby
	}
	return election.Serve
}

func (a alone) SetFitness(f election.Fitness) {
	select {
	case <-a.fit:
	default:
	}
	a.fit <- f
}

func (a alone) SetProbe(func(context.Context) election.Fitness) {}
func (a alone) LeaseEnd() time.Time                             { return time.Now().Add(time.Hour) }
func (a alone) Status() election.Status                         { return election.Status{} }

// printer is the smallest service: it says what it is told.
type printer struct{ served chan struct{} }

func (p printer) Apply(_ context.Context, d election.Decision) error {
	fmt.Println(d.Role.State(), "because", d.Reason)
	if d.Role == election.Serve {
		close(p.served)
	}
	return nil
}

func (p printer) Begin(instance.Term)            {}
func (p printer) HostChanged(instance.Place)     {}
func (p printer) End()                           {}
func (p printer) Status() instance.ServiceStatus { return instance.ServiceStatus{} }
func (p printer) Close() error                   { return nil }

// maker makes both.
type maker struct{ printer }

func (maker) Elect(*instance.Config, instance.Place) (election.Elector, func(), error) {
	return alone{make(chan election.Fitness, 1)}, func() {}, nil
}

func (m maker) Serve(*instance.Config, func(election.Fitness)) instance.Service { return m.printer }

// An elector and a service of one's own, joined.
func Example() {
	p := printer{make(chan struct{})}
	set := instance.New(slog.New(slog.DiscardHandler))
	set.Apply(instance.Delta{Add: []instance.Config{{
		VIP:   config.VIP{Name: "apiserver"},
		Place: func() (instance.Place, error) { return instance.Place{Index: 2, Name: "eth0"}, nil },
		Maker: maker{p},
	}}})
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); set.Run(ctx) }()
	<-p.served
	stop()
	<-ended
	// Output:
	// active because this node is alone
	// initialize because stopped
}
