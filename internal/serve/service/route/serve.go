package route

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
	"github.com/keepvip/keepvip/internal/kernel/intercept"
)

// serve has clients served, and then routers told. What is refused is tried again until Apply says otherwise: an elector
// whose addresses are bound does not ask twice. The caller holds the lock.
func (s *Service) serve() error {
	if s.serving {
		return nil
	}
	err, again := s.try(), s.wanted
	if s.wanted = err != nil; !s.wanted {
		s.backoff = 0
		if again {
			s.log.Info("the route to the address was refused before, and is there now", "addresses", s.addresses, "table", s.table.Number)
		}
		return nil
	}
	s.backoff = min(max(2*s.backoff, lookEvery), mostBackoff)
	s.again = time.Now().Add(s.backoff)
	return err
}

// try is serve, once. The caller holds the lock.
func (s *Service) try() error {
	if err := s.translate(true); err != nil {
		return err
	}
	if err := s.hang(); err != nil {
		return err
	}
	s.serving, s.leaving = true, leaving{}
	if err := s.put(); err != nil {
		return errors.Join(err, s.withdraw(election.Standby))
	}
	return nil
}

// withdraw takes the route away, and then the rest as soon as no new connection may come: at once where the programs behind the address may be
// the reason. Where the kernel refuses that, what arrives is served still, as it would only come again, and it is tried again each second, and by each call
// until then. The caller holds the lock.
func (s *Service) withdraw(role election.Role) error {
	s.serving = false
	if !s.announced {
		return nil
	}
	err := s.routes.with(func(r Routes) error { return r.Remove(s.table, s.addresses) })
	if err != nil {
		err = fmt.Errorf("the route to the address is still announced: %w", err)
		s.say(err)
		return err
	}
	s.announced, s.present = false, 0
	well := role == election.Off || s.term.Ready == nil || !s.term.Ready().Open
	if !well {
		err = s.translate(false)
	}
	s.left = 1 // until they are counted
	s.say(s.count())
	if well && (len(s.ports) > 0 || s.spread) { // else somebody else serves what still arrives
		s.leaving = leave(time.Now(), s.drain, s.clients)
	}
	return err
}

// translate has what arrives for the addresses translated to own ones, or go on by the network. The caller holds the lock.
func (s *Service) translate(on bool) error {
	if len(s.ports) == 0 {
		return nil
	}
	cfg := intercept.Config{Incoming: true, Lifetime: lifetime}
	own := s.host.Own(s.term.Place, s.addresses)
	for _, a := range s.addresses {
		i := slices.IndexFunc(own, func(o netip.Addr) bool { return o.Is4() == a.Is4() })
		if on && i < 0 {
			return code.With(code.NoTranslation, fmt.Errorf("%s has no own address of the family of %s", s.term.Place.Name, a))
		}
		for _, p := range s.ports {
			t := intercept.Target{Address: a, Protocol: p.Protocol.Number(), Port: p.Port}
			if on {
				t.Backends = []intercept.Backend{{At: netip.AddrPortFrom(own[i], p.Target), Weight: 1}}
			}
			cfg.Targets = append(cfg.Targets, t)
		}
	}
	if err := s.openTranslation(); err != nil {
		return code.With(code.NoTranslation, err)
	}
	if err := s.translation.Apply(cfg); err != nil {
		return code.With(code.NoTranslation, err)
	}
	return nil
}

func (s *Service) openTranslation() (err error) {
	if s.translation == nil {
		s.translation, err = s.host.OpenTranslation(s.name)
	}
	return err
}

// hang finds the device that the routes hang on, and makes it anew where somebody has deleted it or set it down. The
// caller holds the lock.
func (s *Service) hang() (err error) {
	if s.held {
		s.index, err = s.host.Mend()
		return err
	}
	index, err := s.host.Use()
	if err == nil {
		s.held, s.index, s.outlives = true, index, nil
		return nil
	}
	if s.outlives == nil {
		s.log.Warn("the route would outlive a keepvip that is killed", "error", err, "code", string(code.RouteOutlives))
	}
	s.outlives = err
	s.index, err = hostroute.Loopback()
	return err
}

// put puts the routes, each time with another mark than before. The caller holds the lock.
func (s *Service) put() error {
	s.mark, s.announced = !s.mark, true
	err := s.routes.with(func(r Routes) error { return r.Put(s.table, s.index, s.addresses, s.mark) })
	if err == nil {
		s.present = len(s.addresses)
		s.asserted++
	}
	return err
}
