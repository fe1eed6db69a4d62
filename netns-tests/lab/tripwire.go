package lab

import (
	"fmt"
	"net/netip"
	"time"
)

// Sighting is a frame to a group that came out of a node, as the switch saw it.
type Sighting struct {
	At   time.Duration
	Node int

	frame []byte
}

// Datagram is the content of a UDP datagram over IPv4 to the port, nil if the frame is none.
func (s Sighting) Datagram(port uint16) []byte {
	p, _ := packetOf(s.frame)
	if _, to, content := p.datagram(); p.from.Is4() && to == port {
		return content
	}
	return nil
}

// Advertises tells whether it is a VRRP advertisement of a priority above 0.
func (s Sighting) Advertises() bool {
	a, ok := parseAdvert(s.frame)
	return ok && a.Priority > 0
}

// Announces tells whether it is a gratuitous ARP or an unsolicited neighbour advertisement of the address.
func (s Sighting) Announces(addr netip.Addr) bool {
	a, ok := parseAnnouncement(s.frame)
	return ok && a.unsolicited && a.address == addr
}

// Tripwire does something as soon as the switch sees a certain frame.
type Tripwire struct {
	capture *capture
	match   func(Sighting) bool
	act     func() error
	tripped chan struct{} // closed when act has returned

	sprung bool // of the capture's thread; the others are read after tripped
	at     time.Duration
	err    error
}

// Trip calls act once, in the thread that watches, as soon as a node sends a frame to a group that matches. The frame itself is
// on its way: whoever has another processor may have it before act has done anything.
func (l *Lab) Trip(match func(Sighting) bool, act func() error) (*Tripwire, error) {
	t := &Tripwire{match: match, act: act, tripped: make(chan struct{})}
	var err error
	t.capture, err = l.startCapture(func(frame []byte, at time.Duration, node int) { t.note(l, frame, at, node) })
	return t, err
}

func (t *Tripwire) note(l *Lab, frame []byte, at time.Duration, node int) {
	if t.sprung || frame[0]&1 == 0 || !t.match(Sighting{At: at, Node: node, frame: frame}) {
		return
	}
	t.sprung = true
	t.err = t.act()
	t.at = l.now()
	close(t.tripped)
}

// Wait ends the watch when act has returned, or after the limit, which is an error. It returns when that was.
func (t *Tripwire) Wait(limit time.Duration) (time.Duration, error) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-t.tripped:
	case <-timer.C:
	}
	t.capture.finish()
	if !t.sprung {
		return 0, fmt.Errorf("lab: the frame that was waited for did not come within %v", limit)
	}
	return t.at, t.err
}
