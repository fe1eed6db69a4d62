package coverage

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/reset"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

// listenersFresh is for how long one list of listening sockets is good for all entries.
const listenersFresh = time.Second

// Looker knows at which addresses of this host programs listen. Safe for concurrent use.
type Looker struct {
	list func() ([]link.Listener, error)

	mu     sync.Mutex // guards what follows
	all    []link.Listener
	err    error
	listed time.Time
}

// New makes a Looker that goes by list, such as [link.Listeners].
func New(list func() ([]link.Listener, error)) *Looker { return &Looker{list: list} }

func (l *Looker) listeners() ([]link.Listener, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.listed.IsZero() || now.Sub(l.listed) >= listenersFresh {
		l.all, l.err = l.list()
		l.listed = now
	}
	return l.all, l.err
}

// Why returns what says why clients are refused at an address of v; empty: they are not, as far as is known. It is nil where no port is known. The holder connects to the address before it says so: a
// packet filter may pass the connection to somebody.
func (l *Looker) Why(v *config.VIP) func(ctx context.Context, holds bool) string {
	if port, _ := v.ListenPort(); port == 0 {
		return nil
	}
	return func(ctx context.Context, holds bool) string {
		all, err := l.listeners()
		if err != nil {
			return ""
		}
		for _, u := range Uncovered(*v, all) {
			if !holds || refused(ctx, u.At) {
				return u.String()
			}
		}
		return ""
	}
}

// unlistened is an address and port of an entry at which nothing listens, and where on this host the port is listened on.
type unlistened struct {
	At        netip.AddrPort
	Elsewhere []netip.Addr
}

// String is a clause.
func (u unlistened) String() string {
	where := make([]string, len(u.Elsewhere))
	for i, a := range u.Elsewhere {
		where[i] = netip.AddrPortFrom(a, u.At.Port()).String()
	}
	return fmt.Sprintf("nothing listens at %s: the service listens at %s alone", u.At, strings.Join(where, " and "))
}

// Uncovered are the addresses of v at which nothing of these listens, while the port is listened on elsewhere.
func Uncovered(v config.VIP, all []link.Listener) (out []unlistened) {
	port, sure := v.ListenPort()
	if port == 0 {
		return nil
	}
	for _, p := range v.Addresses {
		at := netip.AddrPortFrom(p.Addr(), port)
		where := link.ListenElsewhere(all, at, sure)
		where = slices.DeleteFunc(where, func(a netip.Addr) bool { return virtualOf(v, a) })
		if len(where) > 0 {
			out = append(out, unlistened{at, where})
		}
	}
	return out
}

// virtualOf tells whether an address is one of v: who listens there covers that one, and does not say where the service else is.
func virtualOf(v config.VIP, a netip.Addr) bool {
	return slices.ContainsFunc(v.Addresses, func(p netip.Prefix) bool { return p.Addr() == a })
}

// refused tells whether a connection to an address of this host is.
func refused(ctx context.Context, at netip.AddrPort) bool {
	return errors.Is(reset.Dial(ctx, at.String()), unix.ECONNREFUSED)
}
