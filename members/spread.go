package members

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
)

// Spread is what a member says of its part in spreading the load of the address over the members. One that a Machine, an elector or a Message has
// is not changed any more.
type Spread struct {
	// Fit tells that it takes new connections. The elector sets it: as fit as this node's checks, operators and service have it, also for the
	// moment in which it passes the address on, and not any more when it stops. The member's own Fit is about holding the address.
	Fit bool `json:"fit"`
	// Every is the time between two messages of a member, which the elector sets: one of which nothing is heard for three and a half times as
	// long is silent. It is an advertisement interval, but not less than a tenth of a second, and more where many addresses are spread. A HELLO
	// does not say it: the lifetime follows from it.
	Every time.Duration `json:"every"`
	// Weight is its share of new connections beside the others'; 0: it gets none, and keeps those that it has.
	Weight uint8 `json:"weight"`
	// MAC is that of the interface by which it takes part; zero: it does not say.
	MAC [6]byte `json:"mac"`
	// Address is its own address on the link of the virtual addresses, of the family that carries the election, where that is not the one by which
	// the election knows it: by Raft members may talk elsewhere. The zero Addr: it is. A HELLO does not say it.
	Address netip.Addr `json:"address,omitzero"`
	// Other is its own address of the family that does not carry the election, for the virtual addresses of that family, without a
	// zone; the zero Addr: it has none.
	Other netip.Addr `json:"other,omitzero"`
	// Serves is its own address of the family that carries the election, for the virtual addresses of that family, where that is not the address by
	// which members are known: by IPv6 these are link-local, so a host on another link reaches none, and a server need not listen there. The zero Addr: it is.
	Serves netip.Addr `json:"serves,omitzero"`
	// Ports are those of the address that it serves, at most MostSpreadPorts.
	Ports []SpreadPort `json:"ports,omitempty"`
	// Translates tells that this node translates connections to the other members and knows how many each has: those of its own programs, or, where
	// the holder masquerades, all. It says so of those in Left.
	Translates bool `json:"translates,omitempty"`
	// LacksHolder tells that its tables have no holder, as while it has not heard how the holder spreads: it can give nothing back to that one. An older
	// keepvip does not say it.
	LacksHolder bool `json:"lacksHolder,omitempty"`
	// Left are members that get no new connections any more, each once it was counted since, at most MostLeft. They cannot count these themselves.
	Left []Left `json:"left,omitempty"`
	// Clients are those of the connections of TCP that a node serves, for whoever holds the address when that node has died. Members say them by
	// turns, so of another node they are those that were due when it was heard last. No message has them all: see PeerState.
	Clients []Client `json:"clients,omitempty"`
}

// MostLeft is how many members a message has room for.
const MostLeft = 4

// Left is how many connections a member still has of those that another one translates.
type Left struct {
	Member      netip.Addr `json:"member"` // its address by the election
	Connections uint32     `json:"connections"`
}

// MostSpreadPorts is how many ports a message has room for.
const MostSpreadPorts = 16

// SpreadPort is one port of the address, as one member serves it.
type SpreadPort struct {
	Protocol    uint8  `json:"protocol"`    // of IP: 6 is TCP, 17 is UDP
	Port        uint16 `json:"port"`        // of the address: what clients connect to
	Healthy     bool   `json:"healthy"`     // the service behind it takes connections, as this member's check of the port says
	Connections uint32 `json:"connections"` // how many this member has, as it counted last
}

// Own are the member's own addresses at which its services are, of each family one at most. address is its own on the
// link of the virtual addresses.
func (s *Spread) Own(address netip.Addr) []netip.Addr {
	own := []netip.Addr{address}
	if s.Serves.IsValid() {
		own[0] = s.Serves
	}
	if s.Other.IsValid() {
		own = append(own, s.Other)
	}
	return own
}

// number is what a message must not say twice.
func (p SpreadPort) number() [2]uint16 { return [2]uint16{uint16(p.Protocol), p.Port} }

// Alike tells whether two say the same but for the Connections, Left and Clients, which change all the time. nil is like nil alone.
func (s *Spread) Alike(o *Spread) bool {
	if s == nil || o == nil {
		return s == o
	}
	return s.Fit == o.Fit && s.Every == o.Every && s.Weight == o.Weight && s.MAC == o.MAC && s.Address == o.Address && s.Other == o.Other &&
		s.Serves == o.Serves && s.Translates == o.Translates && s.LacksHolder == o.LacksHolder &&
		slices.EqualFunc(s.Ports, o.Ports, func(a, b SpreadPort) bool {
			a.Connections, b.Connections = 0, 0
			return a == b
		})
}

// valid tells whether the wire can carry it, and another node can use it.
func (s *Spread) valid() bool {
	return (s.Other == (netip.Addr{}) || s.otherValid()) && (s.Serves == (netip.Addr{}) || s.servesValid()) && s.Sound(envelope.Host)
}

// Sound tells whether its MAC, Ports and Left can be those of a node. host tells of an address whether it can be one
// host's.
func (s *Spread) Sound(host func(netip.Addr) bool) bool {
	if s.MAC[0]&1 != 0 || len(s.Ports) > MostSpreadPorts {
		return false
	}
	for i, p := range s.Ports {
		if p.Port == 0 || slices.ContainsFunc(s.Ports[:i], func(o SpreadPort) bool { return o.number() == p.number() }) {
			return false
		}
	}
	if len(s.Left) > MostLeft || !s.Translates && len(s.Left) > 0 {
		return false
	}
	for i, l := range s.Left {
		if !host(l.Member) || slices.ContainsFunc(s.Left[:i], func(o Left) bool { return o.Member == l.Member }) {
			return false
		}
	}
	return true
}

func (s *Spread) otherValid() bool { return envelope.Host(s.Other) }

// servesValid wants another family than that of Other: a member has one address of each.
func (s *Spread) servesValid() bool {
	return envelope.Host(s.Serves) && s.Serves.Is6() && !s.Serves.IsLinkLocalUnicast() && !s.Other.Is6()
}

// appendSpread is the value of fieldSpread.
func appendSpread(b []byte, s *Spread) []byte {
	var flags uint8
	if s.Fit {
		flags |= flagTakes
	}
	if s.Translates {
		flags |= flagTranslates
	}
	if s.Serves.IsValid() {
		flags |= flagServes
	}
	if s.LacksHolder {
		flags |= flagLacksHolder
	}
	other := s.Other.AsSlice()
	b = append(b, flags, s.Weight)
	b = append(b, s.MAC[:]...)
	b = append(append(b, uint8(len(other))), other...)
	b = append(b, uint8(len(s.Ports)))
	for _, p := range s.Ports {
		var flags uint8
		if p.Healthy {
			flags |= flagHealthy
		}
		b = append(b, p.Protocol, flags)
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, p.Port), p.Connections)
	}
	if s.Translates {
		b = append(b, uint8(len(s.Left)))
		for _, l := range s.Left {
			member := l.Member.AsSlice()
			b = append(append(b, uint8(len(member))), member...)
			b = binary.BigEndian.AppendUint32(b, l.Connections)
		}
	}
	return append(b, s.Serves.AsSlice()...)
}

// parseSpread takes what it knows; a later version may have more behind it.
func parseSpread(b []byte) (*Spread, bool) {
	if len(b) < spreadLen {
		return nil, false
	}
	s := &Spread{
		Fit: b[0]&flagTakes != 0, Translates: b[0]&flagTranslates != 0, LacksHolder: b[0]&flagLacksHolder != 0, Weight: b[1], MAC: [6]byte(b[2:]),
	}
	serves := b[0]&flagServes != 0
	n := int(b[spreadLen-1])
	if b = b[spreadLen:]; len(b) < n+1 {
		return nil, false
	}
	if n > 0 {
		s.Other, _ = netip.AddrFromSlice(b[:n])
		if !s.otherValid() {
			return nil, false
		}
	}
	n, b = int(b[n]), b[n+1:]
	if n > MostSpreadPorts || len(b) < n*spreadPortLen {
		return nil, false
	}
	for ; n > 0; n, b = n-1, b[spreadPortLen:] {
		s.Ports = append(s.Ports, SpreadPort{
			Protocol: b[0], Healthy: b[1]&flagHealthy != 0, Port: binary.BigEndian.Uint16(b[2:]), Connections: binary.BigEndian.Uint32(b[4:]),
		})
	}
	if s.Translates {
		var ok bool
		if b, ok = s.parseLeft(b); !ok {
			return nil, false
		}
	}
	if serves {
		if len(b) < servesLen {
			return nil, false
		}
		s.Serves = netip.AddrFrom16([servesLen]byte(b))
	}
	return s, s.valid()
}

// parseLeft takes in what is behind the ports, and returns the rest, and whether it is whole.
func (s *Spread) parseLeft(b []byte) (rest []byte, ok bool) {
	if len(b) == 0 || b[0] > MostLeft {
		return nil, false
	}
	left := int(b[0])
	for b = b[1:]; left > 0; left-- {
		if len(b) == 0 || len(b) < 1+int(b[0])+4 {
			return nil, false
		}
		n := int(b[0])
		member, ok := netip.AddrFromSlice(b[1 : 1+n])
		if !ok {
			return nil, false
		}
		s.Left = append(s.Left, Left{Member: member, Connections: binary.BigEndian.Uint32(b[1+n:])})
		b = b[1+n+4:]
	}
	return b, true
}

// alike tells whether two say the same but for the connections that are spread: how many there are waits for the next message.
func (s SetSelf) alike(o SetSelf) bool {
	same := s.Spread.Alike(o.Spread)
	s.Spread = o.Spread
	return same && s == o
}

// leastSpreadEvery is the time between two HELLOs of a node that spreads, if it does not advertise more seldom. The others go on
// sending it new packets for three and a half times as long after it has died.
const leastSpreadEvery = 100 * time.Millisecond

// nextSpreadHello is when a group of a node that spreads says HELLO again: at whole multiples of every on the clock, at which all
// nodes speak, so that each wakes up once for all of them. Groups that speak more seldom, because there are many, share out the tenths of
// a second, for the others' buffers.
func nextSpreadHello(now time.Time, every time.Duration, group netip.Addr) time.Time {
	bytes := group.As16()
	share := time.Duration(binary.BigEndian.Uint32(bytes[12:])) % max(every/leastSpreadEvery, 1) * leastSpreadEvery
	wall := now.Round(0)
	at := wall.Truncate(every).Add(share)
	if !at.After(wall) {
		at = at.Add(every)
	}
	return now.Add(at.Sub(wall))
}
