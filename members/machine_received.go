package members

import "time"

func (m *Machine) received(now time.Time, r Received) {
	r.Source = r.Source.WithZone("")
	if r.Refused != "" {
		if r.Refused != RejectPeer && r.Refused != RejectTTL { // these are not told to: nothing is sent to them
			m.reassert(now)
		}
		return
	}
	if r.Source == m.known.own.cfg.Address || r.Message.Peer.Group != m.known.own.cfg.Group {
		return
	}
	if o := m.known.table.find(r.Source); o == nil || o.Session != r.Message.Session { // a node that was restarted knows nobody
		m.hello.met(now)
	}
	m.known.table.hear(r.arrived(now), r)
	m.known.table.forget(now) // it may have waited here for longer than it counts
	o := m.known.table.find(r.Source)
	if o != nil && o.outdated(now) { // after a standstill it shows that the member was there, and no more
		return
	}
	if o != nil { // it has not said good-bye
		m.heardClaim(now, o, r.arrived(now))
	}
	switch r.Message.Type {
	case Hello:
		m.act(m.grantor.heardRequester(r.Source, r.Message.Peer.State))
	case Request:
		m.requested(now, r)
	case Grant:
		m.granted(now, r)
	}
}

// heardClaim keeps what a message says about holding the address, and passes it on to the election if it is news.
func (m *Machine) heardClaim(now time.Time, o *Member, arrived time.Time) {
	us, hears := o.says(m.known.own.cfg.Session)
	claim := m.known.claimants.heardClaim(o, arrived, hears, m.known.own.bounds())
	if us.Missing || claim != nil {
		m.reassert(now)
	}
	m.act(claim)
}

// requested has the grantor take in a REQUEST, if that is for this run and epoch of this node.
func (m *Machine) requested(now time.Time, r Received) {
	if d := r.Message.Transfer; m.known.own.meant(d) && d.Epoch == m.known.own.epoch {
		m.act(m.grantor.requested(now, r, m.known.own.offer()))
	}
}

// granted has the requester take the address, if that was asked for, or wait for the node that has been given it.
func (m *Machine) granted(now time.Time, r Received) {
	switch d := r.Message.Transfer; {
	case d.To != m.known.own.cfg.Address:
		m.requester.grantedAnother(r.arrived(now))
	case m.known.own.meant(d):
		m.act(m.requester.granted(now, r, m.known.own.within()))
	}
}
