package address

import (
	"fmt"
	"net/netip"
	"time"
)

// binder binds addresses, and takes them off again.
type binder struct {
	*core
	renewal time.Time // when the addresses' lifetime is due for renewal; zero while none is held
	lives   time.Time // until then they are here unless somebody takes them away; zero: this process has not bound them
	// unfenced tells whether nothing but their lifetime would end the addresses, as others have taken the fence away.
	unfenced func() bool
}

const (
	// unfencedGrace is how long a fence may be missing before the addresses get a shorter lifetime: it is most often there again sooner.
	unfencedGrace = 100 * time.Millisecond
	// perUnfenced is by how much that lifetime is shorter: the kernel counts in seconds.
	perUnfenced = 4
	// kernelEarly is by how much the kernel may end a lifetime before its time: it counts in seconds, and some of them early.
	kernelEarly = time.Second
)

// valid is how long the kernel keeps an address from now on.
func (b *binder) valid() time.Duration {
	if b.unfenced() {
		return max(b.cfg.Valid()/perUnfenced, time.Second).Truncate(time.Second)
	}
	return b.cfg.Valid()
}

// renewAfter is when the addresses are renewed next.
func (b *binder) renewAfter(now time.Time) time.Time {
	if b.unfenced() {
		return now.Add(b.valid() / perUnfenced)
	}
	return b.cfg.renewAfter(now)
}

// fenceLost shortens the lifetime of the addresses soon, unless the fence is there again by then.
func (b *binder) fenceLost(now time.Time) {
	if !b.renewal.IsZero() {
		b.renewal = sooner(b.renewal, now.Add(unfencedGrace))
	}
}

// bind adds every address, also where it is thought to be bound: what was seen last may be stale.
func (b *binder) bind() error {
	lives := time.Now().Add(b.valid() - kernelEarly)
	if _, err := b.bindThere(b.cfg.Addresses); err != nil {
		return fmt.Errorf("bind %s to %s: %w", b.cfg.title(), b.place.Holds().Name, err)
	}
	b.lives = lives
	return nil
}

// unbind removes every address from the place, whatever was seen last, and from wherever else it is.
func (b *binder) unbind() error {
	b.adopting = false
	b.misses(nil, nil)
	err := b.host.Unbind(b.place.Holds().Index, b.cfg.Addresses)
	if err != nil {
		err = fmt.Errorf("remove %s from %s: %w", b.cfg.title(), b.place.Holds().Name, err)
	}
	b.settle(holdNone)
	return err
}

// wanted is what is wanted of the addresses at this moment.
func (b *binder) wanted() holding {
	switch {
	case b.serving:
		return holdBind
	case b.adopting, b.passing, b.telling != nil:
		return holdKeep
	default:
		return holdNone
	}
}

// settle plans and carries out, and tells whether it added an address. What cannot be done now is tried
// again at the next event.
func (b *binder) settle(want holding) bool {
	var missing []netip.Prefix
	for _, s := range plan(want, b.place.Holds().Index, b.cfg.Addresses, b.host.Bound(b.cfg.Addresses)) {
		if s.add {
			missing = append(missing, s.Prefix)
		} else {
			b.uncorrected(b.host.Unbind(s.Index, []netip.Prefix{s.Prefix}))
		}
	}
	if len(missing) == 0 {
		return false
	}
	added, err := b.bindThere(missing)
	b.uncorrected(err)
	return added
}

func (b *binder) uncorrected(err error) {
	if err != nil {
		b.log.Warn("address not corrected", "error", err)
	}
}

// renewDue keeps the addresses alive for another while, and tells whether it was time to.
func (b *binder) renewDue(now time.Time) bool {
	if b.renewal.IsZero() || now.Before(b.renewal) {
		return false
	}
	b.renewal = b.renewAfter(now)
	if !b.holdsLease() {
		return false
	}
	if err := b.bind(); err != nil {
		b.log.Warn("address not renewed", "error", err)
	}
	return true
}

// left are the addresses of an earlier run that may stay.
func (b *binder) left() bool { return b.adopting && len(b.host.Bound(b.cfg.Addresses)) > 0 }

// dropFormer removes addresses that are not in the list any more.
func (b *binder) dropFormer(former []netip.Prefix) {
	keep := setOf(b.cfg.Addresses)
	for _, f := range b.host.Bound(former) {
		if keep[f.Prefix] {
			continue
		}
		if err := b.host.Unbind(f.Index, []netip.Prefix{f.Prefix}); err != nil {
			b.log.Warn("former address not removed", "address", f.Prefix.String(), "error", err)
		}
	}
}
