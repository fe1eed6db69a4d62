package daemon

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/node/control"
)

// answers are what balancers were told, by the names of virtual addresses.
type answers struct {
	mu   sync.Mutex // guards last
	last map[string]answered
}

// answered is what was answered last about a virtual address.
type answered struct {
	why error
	at  time.Time
}

// sameFor is for how long an answer stays what it was while there is no new one: an instance that begins anew has no result for a moment.
const sameFor = 3 * time.Second

var (
	errNoResult = errors.New("no result of the checks yet")
	errEnding   = errors.New("keepvip is stopping")
)

// fit is what a balancer is told of the virtual address of that name.
func (d *Daemon) fit(name string) error {
	if d.ending.Load() {
		return errEnding
	}
	why, known := d.set.Fit(name)
	return d.answers.next(name, why, known, time.Now())
}

// next is pure but for what it remembers.
func (b *answers) next(name string, why error, known bool, now time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if known {
		if b.last == nil {
			b.last = map[string]answered{}
		}
		b.last[name] = answered{why, now}
		return why
	}
	if was, ok := b.last[name]; ok && now.Sub(was.at) < sameFor {
		return was.why
	}
	if why == nil {
		why = errNoResult
	}
	return why
}

// health is what the listener of this process answers.
func (d *Daemon) health() control.Health {
	return control.Health{
		Names: func() []string { return namesOf(d.inForce.Load().VIPs) }, Fit: d.fit, Owner: d.users.Name,
		Refuse: func(a netip.Addr) bool { return d.host.seen.now().isVirtual(a) },
	}
}
