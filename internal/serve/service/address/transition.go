package address

import (
	"errors"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// server makes the host what is decided. It belongs to the service's goroutine.
type server struct {
	*addresses
	announcer *announcer
	detector  *detector // nil between terms
	blocked   func(election.Fitness)
	role      election.Role // of the newest decision
	closed    bool
}

func newServer(c *core, blocked func(election.Fitness)) *server {
	return &server{addresses: newAddresses(c), announcer: &announcer{core: c}, blocked: blocked}
}

func (s *server) begin(t instance.Term) {
	s.place, s.elector, s.role, s.serving = t.Place, t.Elector, election.Off, false
	s.announcer.from, s.stuck = time.Time{}, false
	s.drain.tell()
	s.fence.open(s.left())
	s.detector = &detector{core: s.core, announcer: s.announcer, report: s.blocked}
	s.detector.begin()
}

// end lets go of what an elector has left here that ended without a last word.
func (s *server) end() {
	if s.serving || s.passing {
		s.uncorrected(s.apply(election.Decision{Role: election.Off, At: time.Now()}))
	}
	if !s.leaves.IsZero() {
		s.leave() // there is no later
	}
	s.waitTold()
	s.leaves = time.Time{}
	s.detector.end()
	s.detector = nil
	s.forwarding.wait()
	s.fence.close()
	s.elector = nil
}

func (s *server) close() error {
	err := s.apply(election.Decision{Role: election.Off, At: time.Now()})
	if s.elector != nil {
		s.end()
	}
	return err
}

// errNoTerm answers a decision that no elector has made.
var errNoTerm = errors.New("no election takes place")

// apply makes the host what the election has decided. An error for Serve makes the elector resign; one for Quiet says that
// nothing has changed.
func (s *server) apply(d election.Decision) error {
	if s.elector == nil {
		if d.Role != election.Off {
			return errNoTerm
		}
		return s.enter(d)
	}
	if !s.shared && d.Holder.IsValid() && d.Holder != s.place.Source {
		s.shared = true
		defer s.detector.judge() // what forbids a first bind counts no more
	}
	defer func() { s.detector.updateMembers(time.Now()) }()
	return s.enter(d)
}

func (s *server) enter(d election.Decision) error {
	from, to := s.role, d.Role
	if to == election.Quiet {
		if from != election.Serve {
			return nil
		}
		err := s.passOn()
		if err == nil {
			s.role = to
		}
		return err
	}
	s.role = to
	switch {
	case to == election.Serve && from == election.Serve:
		s.announcer.heardRival(d)
		return nil
	case to == election.Serve:
		err := s.take(d)
		if err != nil {
			s.role = election.Standby
		}
		return err
	case from == election.Serve:
		s.announcer.stop()
		return s.letGo()
	case from == election.Quiet && to == election.Standby:
		return s.passed(d)
	default:
		return s.stand(d)
	}
}

// take binds and announces: the announcement is on the wire before anything that can wait.
func (s *server) take(d election.Decision) error {
	err := s.detector.refuse()
	if err == nil {
		s.tellNobody()
		s.freed(true)
		err = s.bindGuarded()
	}
	if err != nil {
		return errors.Join(err, s.unbound())
	}
	s.shared, s.serving = true, true
	if d.Granted {
		s.host.Usable(s.bindable(), usableTime)
		s.forwarding.start(d.From.Address)
	}
	s.takenBack()
	s.detector.lookAgain(time.Now())
	s.announcer.from = time.Time{}
	s.announcer.restart()
	s.renewal = s.cfg.renewAfter(time.Now())
	s.adopting = false
	s.settle(holdBind) // strays of ours on other interfaces
	return nil
}

// stand is every decision after which this node is not the holder, as before.
func (s *server) stand(d election.Decision) error {
	leftover := s.adopting
	if d.Holder.IsValid() || d.Role == election.Off {
		s.adopting = false
	}
	var err error
	if d.Role == election.Off {
		err = s.passed(d)
	}
	if leftover && !s.adopting {
		s.leave()
	} else {
		s.settle(s.wanted())
	}
	s.freed(false)
	return err
}

// hostChanged follows an interface that has another name or MAC, or that was without carrier for a moment, and corrects what somebody
// else has changed.
func (s *server) hostChanged(p instance.Place) {
	if s.elector == nil {
		return
	}
	if p != s.place {
		s.moved(p)
	}
	if s.serving && !s.holdsLease() {
		return
	}
	refused := len(s.missing) > 0 // the host can bind again what it could not; that is said with the fitness
	switch added := s.settle(s.wanted()); {
	case added && refused:
		s.announcer.restart()
	case added:
		s.log.Warn("address restored", "interface", s.place.Name)
		s.shown.set(func(s *shown) { s.status.Restored++ })
		s.announcer.restart()
	}
	s.freed(false)
}

func (s *server) moved(p instance.Place) {
	old := s.place
	s.place = p
	if p.Name != old.Name {
		s.log.Info("the interface was renamed", "from", old.Name, "to", p.Name)
		s.fence.do(func(f *fencer) { f.look() })
	}
	if p.MAC == old.MAC && p.Stay == old.Stay {
		return
	}
	// Neighbours have the old MAC, and a switch may have forgotten the port.
	s.log.Info("the link has changed", "interface", p.Name, "mac", p.MAC)
	if p.Stay != old.Stay {
		s.announcer.listenFirst()
	}
	if p.MAC != old.MAC && p.Source.IsValid() {
		s.announceItself(p)
	}
	if s.holdsLease() {
		s.announcer.restart()
	}
}

// announceItself tells the members the new MAC of this node's own address: by the old one they would take the node for a stranger.
func (s *server) announceItself(p instance.Place) {
	if err := s.host.Announce(p, []netip.Addr{p.Source.WithZone("")}); err != nil {
		s.log.Warn("the new MAC is not announced", "interface", p.Name, "error", err)
	}
}

// reconfigure takes over a configuration that needs no new election.
func (s *server) reconfigure(cfg Part) {
	old := s.cfg
	s.cfg = cfg
	s.dropFormer(old.Addresses)
	if s.elector == nil {
		return
	}
	s.fence.adjust(old)
	s.detector.adjust()
	if !s.renewal.IsZero() { // the new ones may live shorter
		s.renewal = sooner(s.renewal, cfg.renewAfter(time.Now()))
	}
	if s.holdsLease() {
		s.settle(holdBind)
		s.announcer.restart()
	}
}

// claims are nil between terms.
func (s *server) claims() <-chan Claim {
	if s.detector == nil {
		return nil
	}
	return s.detector.heard
}

// overheard are nil between terms.
func (s *server) overheard() <-chan overheard {
	if s.detector == nil {
		return nil
	}
	return s.detector.overheard
}

// next is when due has something to do; zero for never.
func (s *server) next() time.Time {
	next := sooner(s.announcer.next(), s.renewal, s.fence.longer, s.fence.retry, s.drain.next, s.forwarding.next, s.leaves)
	if s.detector != nil {
		next = sooner(next, s.detector.nextDue())
	}
	return next
}

// due does what is due.
func (s *server) due(now time.Time) {
	s.announcer.due(now)
	if s.renewDue(now) {
		s.fence.do((*fencer).holdOn)
	}
	s.drainDue(now)
	s.forwarding.due(now)
	s.leaveDue(now)
	if s.detector != nil {
		s.detector.due(now)
		s.fence.due(now, s.left)
	}
}

// sooner is the first of these that is not zero; zero for none.
func sooner(times ...time.Time) (first time.Time) {
	for _, t := range times {
		if first.IsZero() || !t.IsZero() && t.Before(first) {
			first = t
		}
	}
	return first
}
