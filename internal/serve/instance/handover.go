package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/keepvip/keepvip/election"
)

// hander is an elector that can pass the address on at once.
type hander interface {
	// Handover passes the address on to the node of that name or address, or with an empty one to any, and returns when
	// that node has it.
	Handover(ctx context.Context, to string) error
}

// ErrNoInstance answers a request about one that there is not. The name follows, and those that there are.
var ErrNoInstance = errors.New("no virtual address is named")

// Handover passes on the addresses of the named instances, or of all that are held here when none is named, to the
// node of that name or address, or with an empty one to any. The error says which stay here, and wraps
// election.ErrNoTaker, ErrTimeout or ErrNotActive where that is the cause.
func (a *Set) Handover(ctx context.Context, names []string, to string) error {
	list, err := a.named(names)
	if err != nil {
		return err
	}
	return handAll(ctx, list, to, len(names) == 0)
}

// named are the instances of these names; none: all.
func (i *instances) named(names []string) ([]*instance, error) {
	all := i.all()
	if len(names) == 0 {
		return all, nil
	}
	var out []*instance
	for _, name := range names {
		at := slices.IndexFunc(all, func(r *instance) bool { return r.name == name })
		if at < 0 {
			return nil, fmt.Errorf("%w %q, there are: %s", ErrNoInstance, name, strings.Join(namesOf(all), ", "))
		}
		out = append(out, all[at])
	}
	return out, nil
}

// all does the same with each of them, at once.
func all(list []*instance, do func(*instance) error) []error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, r := range list {
		wg.Go(func() { errs[i] = do(r) })
	}
	wg.Wait()
	return errs
}

// each is all, with one error.
func each(list []*instance, do func(*instance) error) error { return errors.Join(all(list, do)...) }

// handAll passes on several at once. With some, those that are not held here do not count, if one is.
func handAll(ctx context.Context, list []*instance, to string, some bool) error {
	errs := all(list, func(r *instance) error { return r.hand(ctx, to) })
	notHeld := func(err error) bool { return errors.Is(err, election.ErrNotActive) }
	if some && !slices.ContainsFunc(errs, func(err error) bool { return !notHeld(err) }) {
		return notHere(errs)
	}
	if some {
		errs = slices.DeleteFunc(errs, notHeld)
	}
	return errors.Join(errs...)
}

func (i *instance) hand(ctx context.Context, to string) error {
	h, ok := i.shared.now().elector.(hander)
	err := election.ErrNotActive
	if ok {
		err = h.Handover(ctx, to)
	}
	if v := i.shared.now(); errors.Is(err, election.ErrNotActive) {
		if s := v.status(); s.Holder != "" && s.State != "active" {
			err = fmt.Errorf("%w: %s does", err, s.HolderName())
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	return nil
}

// notHere says of several that none is held here.
func notHere(errs []error) error {
	switch len(errs) {
	case 0:
		return election.ErrNotActive
	case 1:
		return errs[0]
	}
	return fmt.Errorf("%w: it is none of these %d, and keepvip status names their holders", election.ErrNotActive, len(errs))
}
