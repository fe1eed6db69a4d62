package daemon

import (
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keepvip/keepvip/internal/node/control"
)

// answers are what balancers were told, by the names of virtual addresses.
type answers struct {
	fit    func(name string) (why error, known bool)
	ending *atomic.Bool // the process has been told to end

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

// to is what a balancer is told of the virtual address of that name.
func (a *answers) to(name string) error {
	if a.ending.Load() {
		return errEnding
	}
	why, known := a.fit(name)
	return a.next(name, why, known, time.Now())
}

// next is pure but for what it remembers.
func (a *answers) next(name string, why error, known bool, now time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known {
		if a.last == nil {
			a.last = map[string]answered{}
		}
		a.last[name] = answered{why, now}
		return why
	}
	if was, ok := a.last[name]; ok && now.Sub(was.at) < sameFor {
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
		Names: func() []string { return namesOf(d.inForce.Load().VIPs) }, Fit: d.answers.to, Owner: d.users.Name,
		Refuse: func(a netip.Addr) bool { return d.host.seen.now().isVirtual(a) },
	}
}
