package route

import (
	"errors"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// run looks after what is served.
func (s *Service) run() {
	defer close(s.ended)
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
		case <-timer.C:
			s.look()
		}
		timer.Reset(s.next())
	}
}

// next is how long until there is something to do.
func (s *Service) next() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving.under() || !s.serving && !s.drain.IsZero() {
		return s.pause(time.Now())
	}
	return lookEvery
}

// look makes what is there what it should be.
func (s *Service) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if now.Sub(s.drain) > lookEvery { // who has waited knows what is left
		s.drain = time.Time{}
	}
	var errs []error
	if s.leaving.under() || !s.serving && !s.drain.IsZero() {
		over, err := s.follow(now)
		if errs = append(errs, err); over {
			errs = append(errs, s.translate(false))
		}
	}
	if s.translation != nil {
		errs = append(errs, s.translation.Renew(lifetime))
	}
	switch {
	case s.serving:
		errs = append(errs, s.assert())
	case s.wanted && !now.Before(s.again):
		errs = append(errs, s.serve())
	default:
		errs = append(errs, s.withdraw(election.Standby))
	}
	s.say(errors.Join(errs...))
}

// assert puts the routes once more, also those that are there: a routing daemon may have missed them, as FRR does of many at the same time.
// Those that somebody has taken away are said, and counted. The caller holds the lock.
func (s *Service) assert() error {
	var missing []netip.Addr
	err := s.routes.with(func(r Routes) (err error) {
		missing, err = r.Missing(s.table, s.index, s.addresses)
		return err
	})
	if err != nil {
		return err
	}
	s.present = len(s.addresses) - len(missing)
	if len(missing) > 0 {
		if err := s.hang(); err != nil {
			return err
		}
	}
	if err := s.put(); err != nil {
		return err
	}
	if len(missing) > 0 {
		s.restored++
		s.log.Warn("a route to the address was gone, and is back", "addresses", missing, "table", s.table.Number, "code", string(code.RouteLost))
	}
	return nil
}

// pause is how long until connections are looked at again, and no longer than the translation may wait for its renewal. The caller holds the lock.
func (s *Service) pause(now time.Time) time.Duration {
	wait := countEvery
	if s.leaving.under() {
		wait = s.leaving.next(now)
	}
	return min(max(wait, s.recount.Sub(now)), lookEvery)
}

// follow looks at the connections where it is time, and tells whether the while has just ended in which routers still send new ones. The caller holds
// the lock.
func (s *Service) follow(now time.Time) (over bool, err error) {
	due := !now.Before(s.recount)
	if due {
		err = s.count()
	}
	return s.leaving.under() && (due || !now.Before(s.leaving.latest)) && !s.leaving.goesOn(now, s.clients), err
}

// count looks at the connections by this node. Those of its own programs count for nothing: a kubelet's goes on for as long as its program does. What
// cannot be counted is taken to be as before. The caller holds the lock.
func (s *Service) count() error {
	if s.translation == nil { // what the tables of others send on is not tracked here
		s.left = 0
		return nil
	}
	began := time.Now()
	all, err := s.translation.Clients()
	s.recount = time.Now().Add(countShare * time.Since(began))
	if err != nil {
		return err
	}
	own := map[netip.Addr]bool{}
	for _, a := range s.host.OwnAddresses() {
		own[a] = true
	}
	s.clients, s.left = nil, 0
	for _, c := range all {
		if own[c.At.Addr()] {
			continue
		}
		s.clients = append(s.clients, c.At)
		if c.Open {
			s.left++
		}
	}
	return nil
}
