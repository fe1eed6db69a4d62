package route

import (
	"errors"
	"net/netip"
	"time"

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
	switch {
	case s.leaving.under():
		return s.leaving.next(time.Now())
	case !s.serving && !s.drain.IsZero():
		return max(s.counted, countEvery)
	}
	return lookEvery
}

// look makes what is there what it should be.
func (s *Service) look() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.drain) > lookEvery { // who has waited knows what is left
		s.drain = time.Time{}
	}
	var errs []error
	if s.leaving.under() && !s.leaving.goesOn(time.Now(), s.clients) {
		errs = append(errs, s.translate(false))
	}
	if s.translation != nil {
		errs = append(errs, s.translation.Renew(lifetime))
	}
	switch {
	case s.serving:
		errs = append(errs, s.assert())
	case s.remains:
		errs = append(errs, s.remove())
		fallthrough
	default:
		s.count()
	}
	s.say(errors.Join(errs...))
}

// assert puts the routes once more, also those that are there: a routing daemon may have missed them, as FRR does of many at the same time.
// Those that somebody has taken away are said, and counted. The caller holds the lock.
func (s *Service) assert() error {
	var missing []netip.Addr
	err := s.routes.with(func(r Routes) (err error) {
		missing, err = r.Missing(s.cfg.Table, s.index, s.cfg.Addresses)
		return err
	})
	if err != nil {
		return err
	}
	s.present = len(s.cfg.Addresses) - len(missing)
	if len(missing) > 0 {
		if err := s.rehang(); err != nil {
			return err
		}
	}
	if err := s.put(); err != nil {
		return err
	}
	if len(missing) > 0 {
		s.restored++
		s.log.Warn("a route to the address was gone, and is back", "addresses", missing, "table", s.cfg.Table.Number, "code", string(code.RouteLost))
	}
	return nil
}

// rehang finds the device anew, which may be what is gone. The caller holds the lock.
func (s *Service) rehang() (err error) {
	if s.held {
		s.index, err = s.host.Mend()
		return err
	}
	return s.hang()
}

// count counts the connections of a node that serves no more, but for this node's own: a kubelet's goes on for as long as its program does. The
// caller holds the lock.
func (s *Service) count() {
	s.left = 0
	if s.serving || s.translation == nil || s.drain.IsZero() {
		return
	}
	began := time.Now()
	n, err := s.translation.Incoming()
	s.counted = countShare * time.Since(began)
	s.left = n
	if err != nil {
		s.say(err)
	}
}
