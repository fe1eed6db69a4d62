package instance

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/base/state"
)

// Set is the instances of a process.
type Set struct {
	log   *slog.Logger
	store *state.Store // nil: holds end with the process
	turns turns        // of what changes desired states

	drills atomic.Bool // one goes on
	instances
}

// instances are those of a Set, and whether they run.
type instances struct {
	mu   sync.Mutex      // guards what follows
	ctx  context.Context // of Run; nil before it
	list []*instance
}

// New makes an empty set. Instances run from Run on.
func New(log *slog.Logger) *Set { return &Set{log: log} }

// Run starts what Apply has added, and returns when ctx has ended and every instance has resigned and
// left nothing of its service behind.
func (a *Set) Run(ctx context.Context) {
	a.begin(ctx)
	<-ctx.Done()
	for _, r := range a.all() {
		<-r.stopped
	}
}

// begin has those that there are run, and later ones as they come.
func (i *instances) begin(ctx context.Context) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ctx = ctx
	for _, r := range i.list {
		r.start(ctx)
	}
}

// start begins the goroutine.
func (i *instance) start(ctx context.Context) {
	ctx, i.cancel = context.WithCancelCause(ctx)
	go i.run(ctx)
}

// add adds one, which runs if the others do.
func (i *instances) add(r *instance) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.list = append(i.list, r)
	if i.ctx != nil {
		r.start(i.ctx)
	}
}

// Delta is a change of the set of instances, by name.
type Delta struct {
	Remove []string // resign and forget
	Add    []Config // new ones; one with a removed one's name begins anew
	Adjust []Config // changed in place, without a new election

	Between func() // called when the removed ones have resigned, and before new ones begin; nil: nothing is
}

// touched are the instances whose desired state comes from somewhere else: another instance, or the store.
func (d Delta) touched() []string {
	names := slices.Clone(d.Remove)
	for _, in := range d.Add {
		names = append(names, in.VIP.Name)
	}
	return names
}

// Why an instance ends before the process does.
var (
	errRemoved  = code.With(code.Removed, errors.New("removed from the configuration"))
	errExternal = code.With(code.External, errors.New("the addresses are external from now on"))
	errRecreate = code.With(code.Reconfigured, errors.New("a change of the configuration begins the election anew"))
)

// why is why the change ends the instance of that name.
func (d Delta) why(name string) error {
	switch i := slices.IndexFunc(d.Add, func(in Config) bool { return in.VIP.Name == name }); {
	case i < 0:
		return errRemoved
	case d.Add[i].apart():
		return errExternal
	}
	return errRecreate
}

// Apply carries out a change that was validated before. Instances that it does not name are not
// touched. It returns when the removed ones have resigned, and the changed ones have taken over their configurations. New ones
// begin after both: what they serve may be what these have given up, and its fence, until then, theirs.
func (a *Set) Apply(d Delta) {
	if names := d.touched(); len(names) > 0 {
		defer a.turns.takeUntilDone(names)()
	}
	desired := map[string]desiredState{} // of instances that begin anew
	for _, r := range a.take(d.Remove) {
		desired[r.name] = r.shared.now().desired
		if r.cancel != nil {
			r.cancel(d.why(r.name))
			<-r.stopped
		}
	}
	if d.Between != nil {
		d.Between()
	}
	a.adjust(d.Adjust)
	for _, in := range d.Add {
		r := newInstance(in, a.log)
		d, again := desired[in.VIP.Name]
		if !again {
			d = a.initialDesired(in.VIP.Name)
		}
		r.shared.change(func(v *view) { v.desired = d })
		a.add(r)
	}
}

// adjust returns when all have taken over their configurations, which they do side by side.
func (a *Set) adjust(changed []Config) {
	var under []func()
	for _, in := range changed {
		if r := a.find(in.VIP.Name); r != nil {
			under = append(under, r.submit(in))
		}
	}
	for _, wait := range under {
		wait()
	}
}

// adjustment is a configuration on its way to an instance.
type adjustment struct {
	cfg  *Config
	done chan struct{} // closed when it has been taken over
}

// submit hands a configuration over. wait returns when it has been taken over, or never will be.
func (i *instance) submit(in Config) (wait func()) {
	a := &adjustment{cfg: &in, done: make(chan struct{})}
	select {
	case i.adjusts <- a:
	case <-i.stopped:
	}
	return func() {
		select {
		case <-a.done:
		case <-i.stopped:
		}
	}
}

// take removes instances.
func (i *instances) take(names []string) []*instance {
	i.mu.Lock()
	defer i.mu.Unlock()
	var taken, kept []*instance
	for _, r := range i.list {
		if slices.Contains(names, r.name) {
			taken = append(taken, r)
		} else {
			kept = append(kept, r)
		}
	}
	i.list = kept
	return taken
}

func (i *instances) all() []*instance {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.list)
}

func (i *instances) find(name string) *instance {
	for _, r := range i.all() {
		if r.name == name {
			return r
		}
	}
	return nil
}

// HostChanged makes every instance look at the host again. It never blocks.
func (a *Set) HostChanged() {
	for _, r := range a.all() {
		r.changed.Send()
	}
}

// Announce announces at once the addresses of the named instances, or of all when none is named. The
// error names those that are not held here.
func (a *Set) Announce(names ...string) error {
	list, err := a.named(names)
	if err != nil {
		return err
	}
	var errs []error
	for _, r := range list {
		if err := announce(r.shared.served()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", r.name, err))
		}
	}
	return errors.Join(errs...)
}

func announce(s Service) error {
	a, ok := s.(Announcer)
	if !ok {
		return ErrNotHeld
	}
	return a.Announce()
}

// deadAfter is how long an instance may be silent before it is taken for stuck.
const deadAfter = 6 * beatEvery

// Live returns an error when an instance does not run any more. It does not depend on the state of any
// election or check.
func (a *Set) Live() error {
	var errs []error
	for _, r := range a.all() {
		if silent := r.silent(time.Now()); silent > deadAfter {
			errs = append(errs, fmt.Errorf("%s: the loop has been stuck for %s", r.name, silent.Round(time.Second)))
		}
	}
	return errors.Join(errs...)
}

// Ready returns an error while an instance is not in its election, or no node can win that, unless an operator wants it so, while it is
// Active without a lease, and while a member holds the address whose advertisements do not arrive here: a node like that must not be
// what a rollout goes on after.
func (a *Set) Ready() error {
	var errs []error
	for _, s := range a.Status() {
		switch {
		case s.Desired == Held, s.Observed == ObservedExternal:
		case s.Blocked != "":
			errs = append(errs, fmt.Errorf("%s: %s", s.Name, s.Blocked))
		case s.State == "initialize", s.Silent:
			errs = append(errs, fmt.Errorf("%s: %s", s.Name, s.Reason))
		}
		for _, p := range s.Splits {
			errs = append(errs, fmt.Errorf("%s: split from %s: %s", s.Name, p.Address, p.Cause))
		}
	}
	return errors.Join(errs...)
}
