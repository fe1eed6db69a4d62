package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// DrillKind is how a drill makes a holder fail. Its text is part of the command line and the status.
type DrillKind string

// The kinds.
const (
	DrillHandover DrillKind = "handover" // the address is passed on, as an operator would
	DrillStop     DrillKind = "stop"     // the election stands still, as if the process were frozen: the kernel ends the lease
	DrillCheck    DrillKind = "check"    // every health check is taken to be bad
)

// Drill is a failover that is made on purpose.
type Drill struct {
	Kind   DrillKind
	Lasts  time.Duration   // the failure, at most
	Return bool            // the address comes back here afterwards
	Gone   <-chan struct{} // whoever asked has gone: the failure ends at once; nil: never
}

// Drilled is what a drill has come to.
type Drilled struct {
	Begun    bool   `json:"begun"`    // the holder was made to fail
	Holder   string `json:"holder"`   // who had the address after the failure, by name and address; empty when nobody was heard
	Returned bool   `json:"returned"` // the address is here again
	Stays    string `json:"stays"`    // why it is not, though it was to come back; empty otherwise
}

var (
	// errDrillBusy refuses a second drill.
	errDrillBusy = errors.New("a drill goes on already: wait for its end")
	// errStops ends a drill for the sake of the end of the process.
	errStops = errors.New("keepvip stops")
	// errNoElection is why there is no way back.
	errNoElection = errors.New("this node takes no part in an election now")
	// ErrDrillEnded is a drill that was ended before its time: it says nothing about the other nodes. The reason follows.
	ErrDrillEnded = errors.New("the drill was ended before its time")
)

const (
	// rests is how long the address stays where it has gone before it comes back: the announcements of a takeover last a second and a half.
	rests = 1500 * time.Millisecond
	// settles is how long another node may take to be heard as the holder after the failure, over and above the lease.
	settles = 2 * time.Second
	// returns bounds the way back.
	returns = 5 * time.Second
	// MostDrill bounds the failure.
	MostDrill = 30 * time.Second
)

// stander is an elector that can stand still.
type stander interface {
	// StandStill returns when ctx has ended and the election goes on.
	StandStill(ctx context.Context) error
}

// taker is an elector that can have the address back from a holder that is as fit.
type taker interface {
	TakeBack(ctx context.Context) error
}

// Drill makes the instance of that name fail as its holder, and those that move together with it, and waits until another node holds the
// address and, with Return, until it has come back. It is refused while any other member that is known is not well. What has begun ends by
// itself, whoever asked may be gone; a later command, the end of Run, or that of ctx, ends it at once. Nothing of it outlives the process.
func (a *Set) Drill(ctx context.Context, name string, d Drill) (Drilled, error) {
	if d.Lasts <= 0 || d.Lasts > MostDrill {
		return Drilled{}, fmt.Errorf("a drill of %s, want more than 0s and at most %s", d.Lasts, MostDrill)
	}
	if !a.drills.CompareAndSwap(false, true) {
		return Drilled{}, errDrillBusy
	}
	defer a.drills.Store(false)
	list, err := a.together(name)
	if err != nil {
		return Drilled{}, err
	}
	ctx, done, err := a.turns.takeIdle(ctx, namesOf(list))
	if err != nil {
		return Drilled{}, err
	}
	defer done()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(a.runs(), func() { end(errStops) })()
	if err := a.mayDrill(list, d); err != nil {
		return Drilled{}, err
	}
	r := list[0]
	r.log.Warn("a drill begins", "code", string(d.Kind.code()), "kind", string(d.Kind), "lasts", d.Lasts, "cause", election.AskedToDrill(string(d.Kind)))
	out, err := drill(ctx, list, d)
	logDrilled(r.log, out, err, d.Gone)
	if err == nil || errors.Is(err, ErrDrillEnded) {
		return out, err
	}
	return out, fmt.Errorf("%w (%s)", err, code.DrillFailed)
}

// runs is the context of Run.
func (i *instances) runs() context.Context {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ctx == nil {
		return context.Background()
	}
	return i.ctx
}

// endedEarly is err, or ErrDrillEnded if a later command or the end of the process is why there is one.
func endedEarly(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && (errors.Is(cause, errSuperseded) || errors.Is(cause, errStops)) {
		return fmt.Errorf("%w: %w (%s)", ErrDrillEnded, cause, code.DrillInterrupted)
	}
	return err
}

// code is the cause of what a drill makes happen.
func (k DrillKind) code() code.Code {
	switch k {
	case DrillStop:
		return code.DrillStop
	case DrillCheck:
		return code.DrillCheck
	}
	return code.DrillHandover
}

func logDrilled(log *slog.Logger, out Drilled, err error, gone <-chan struct{}) {
	args := []any{"holder", out.Holder, "returned", out.Returned}
	interrupted := false
	select {
	case <-gone:
		interrupted = true
	default:
	}
	switch {
	case interrupted:
		args = append(args, "code", string(code.DrillInterrupted), "reason", "whoever asked has gone")
	case errors.Is(err, ErrDrillEnded):
		args = append(args, "code", string(code.DrillInterrupted), "reason", err)
	case err != nil:
		args = append(args, "code", string(code.DrillFailed), "error", err)
	case out.Stays != "":
		args = append(args, "code", string(code.DrillStays), "reason", out.Stays)
	}
	log.Warn("a drill has ended", args...)
}

// together are the instances that move with the one of that name, which is the first.
func (a *Set) together(name string) ([]*instance, error) {
	list, err := a.named([]string{name})
	if err != nil {
		return nil, err
	}
	with := list[0].shared.now().cfg
	for _, r := range a.all() {
		if cfg := r.shared.now().cfg; r != list[0] && (with.VIP.Group != "" && cfg.VIP.Group == with.VIP.Group || with.cluster() && cfg.cluster()) {
			list = append(list, r)
		}
	}
	return list, nil
}

// drill has the first of list fail, and the others with it, looks who has the address, and has it back.
func drill(ctx context.Context, list []*instance, d Drill) (Drilled, error) {
	i := list[0]
	watching, stop := context.WithCancel(ctx)
	defer stop()
	taken := make(chan string, 1)
	go func() { taken <- i.shared.awaitOther(watching) }()
	failure := failFor(ctx, list, d)
	if here := i.shared.now().state == election.Active; failure != nil && here {
		stop()
	}
	late := time.AfterFunc(i.shared.now().cfg.Lease+settles, stop)
	defer late.Stop()
	out := Drilled{Begun: true, Holder: i.shared.called(<-taken)}
	switch {
	case out.Holder == "" && failure == nil:
		failure = fmt.Errorf("%s: %w", i.name, election.ErrTimeout)
		fallthrough
	case out.Holder == "":
		out.Returned = i.shared.now().state == election.Active
		return out, endedEarly(ctx, failure)
	case !d.Return:
		return out, nil
	}
	rest(ctx, d.Gone)
	back, cancel := context.WithTimeout(ctx, returns)
	defer cancel()
	err := context.Cause(ctx) // an address must not come back to a process that stops
	if err == nil {
		err = takeBack(back, list)
	}
	if out.Returned = err == nil; err != nil {
		out.Stays = endedEarly(ctx, err).Error()
	}
	return out, nil
}

// called is what an operator calls the node at an address.
func (s *shared) called(address string) string {
	v := s.now()
	shown := v.status()
	shown.Holder = address
	return shown.HolderName()
}

// rest waits before the way back, for as long as whoever asked is there.
func rest(ctx context.Context, gone <-chan struct{}) {
	limit := time.NewTimer(rests)
	defer limit.Stop()
	select {
	case <-limit.C:
	case <-gone:
	case <-ctx.Done():
	}
}

// failFor fails for as long as is wanted, and as whoever asked is there.
func failFor(ctx context.Context, list []*instance, d Drill) error {
	ctx, cancel := context.WithTimeout(ctx, d.Lasts)
	defer cancel()
	go func() { // ends with the failure
		select {
		case <-d.Gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return fail(ctx, list, d.Kind)
}

// fail returns when the failure is over.
func fail(ctx context.Context, list []*instance, kind DrillKind) error {
	reason := election.AskedToDrill(string(kind))
	switch kind {
	case DrillHandover:
		if list[0].shared.now().cfg.cluster() {
			list = list[:1] // leadership goes, and with it every address
		}
		return handAll(election.Because(ctx, code.DrillHandover, reason), list, "", false)
	case DrillCheck:
		return failChecks(ctx, list, reason)
	}
	return each(list, func(r *instance) error {
		s, ok := r.shared.now().elector.(stander)
		if !ok {
			return election.ErrNotActive
		}
		return s.StandStill(ctx)
	})
}

// failChecks has the checks bad until the address is elsewhere, or ctx ends.
func failChecks(ctx context.Context, list []*instance, reason string) error {
	for _, r := range list {
		r.shared.tell(func(v *view) { v.failing = reason })
	}
	defer func() {
		for _, r := range list {
			r.shared.tell(func(v *view) { v.failing = "" })
		}
	}()
	return each(list, func(r *instance) error {
		tick := time.NewTicker(goneEvery)
		defer tick.Stop()
		for r.shared.elsewhere() == "" {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", r.name, election.ErrTimeout)
			}
		}
		return nil
	})
}

// elsewhere is who holds the address, if that is another node; otherwise empty. The service has let go then.
func (s *shared) elsewhere() string {
	v := s.now()
	if v.state == election.Active || v.role == election.Quiet || v.elector == nil {
		return ""
	}
	if holder := v.elector.Status().Holder; holder.IsValid() && holder != v.place.Source {
		return holder.String()
	}
	return ""
}

// awaitOther waits for another holder, and returns it; empty when there is none by the end of ctx. A process that stood still over that looks once more.
func (s *shared) awaitOther(ctx context.Context) string {
	tick := time.NewTicker(goneEvery)
	defer tick.Stop()
	for {
		if holder := s.elsewhere(); holder != "" {
			return holder
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return s.elsewhere()
		}
	}
}

// takeBack waits until the addresses are here again.
func takeBack(ctx context.Context, list []*instance) error {
	return each(list, func(r *instance) error {
		t, ok := r.shared.now().elector.(taker)
		if !ok {
			return errNoElection
		}
		return t.TakeBack(ctx)
	})
}
