package subscription

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

func open(b []byte) (envelope.Header, int, error) {
	return envelope.Open(b, uint8(Subscribe), uint8(Members))
}

// parse reads a message, and does not look at an authentication code behind it. The error is always a *envelope.PacketError. Fields that this
// version does not know are skipped.
func parse(b []byte) (Message, error) {
	h, end, err := open(b)
	if err != nil {
		return Message{}, err
	}
	m := Message{Type: Type(h.Type), Session: h.Session, Sequence: h.Sequence}
	if err := m.parseFields(b[envelope.HeaderLen:end]); err != nil {
		return Message{}, err
	}
	if m.Type == Members && m.List.validate() != nil {
		return Message{}, badField(fieldMember)
	}
	return m, nil
}

func badField(f field) error { return envelope.BadField(known[f].name) }

func (m *Message) parseFields(b []byte) error {
	var seen [fields]bool
	err := envelope.Fields(b, func(number uint8, value []byte) error {
		f := field(number)
		if f >= fields || known[f].name == "" {
			return nil
		}
		if seen[f] && !known[f].often || !m.parseField(f, value) {
			return badField(f)
		}
		seen[f] = true
		return nil
	})
	if err != nil {
		return err
	}
	for f, k := range known {
		needed := slices.Contains(k.needed, m.Type)
		if needed != seen[f] && (needed || !slices.Contains(k.allowed, m.Type)) {
			return badField(field(f))
		}
	}
	return nil
}

// parseField takes one known field, and tells whether it is valid.
func (m *Message) parseField(f field, value []byte) (ok bool) {
	switch f {
	case fieldGroup:
		m.Group, ok = envelope.Addr(value)
	case fieldCookie:
		ok = copy(m.Cookie[:], value) == cookieLen && len(value) == cookieLen
	case fieldNode:
		m.Node, ok = string(value), envelope.Text(string(value), maxNode)
	case fieldTerms:
		ok = m.List.parseTerms(value)
	case fieldMember:
		ok = m.List.parseMember(value)
	case fieldCount:
		if ok = len(value) == 4; ok {
			n := binary.BigEndian.Uint32(value)
			m.Connections = &n
		}
	}
	return ok
}

// parseTerms takes what it knows; a later version may have more behind it.
func (l *List) parseTerms(b []byte) bool {
	if len(b) < termsLen {
		return false
	}
	l.Lease = time.Duration(binary.BigEndian.Uint32(b)) * time.Millisecond
	l.Every = time.Duration(binary.BigEndian.Uint16(b[4:])) * time.Millisecond
	return true
}

// parseMember takes what it knows; a later version may have more behind it.
func (l *List) parseMember(b []byte) bool {
	if len(b) < memberLen || len(l.Members) == mostMembers {
		return false
	}
	m := Member{
		Self: b[0]&flagSelf != 0, Weight: b[1],
		Age: time.Duration(binary.BigEndian.Uint16(b[2:])) * time.Millisecond, Lifetime: time.Duration(binary.BigEndian.Uint16(b[4:])) * time.Millisecond,
	}
	var parts [3][]byte
	b = b[memberLen:]
	for i := range parts {
		if len(b) < 1 || len(b)-1 < int(b[0]) {
			return false
		}
		parts[i], b = b[1:1+int(b[0])], b[1+int(b[0]):]
	}
	m.Address, _ = netip.AddrFromSlice(parts[0]) // the list is looked at as a whole
	if len(parts[1]) > 0 {
		var ok bool
		if m.Other, ok = netip.AddrFromSlice(parts[1]); !ok {
			return false
		}
	}
	m.Node = string(parts[2])
	if len(b) < 1 || int(b[0]) > mostPorts || len(b)-1 < int(b[0])*portLen {
		return false
	}
	n := int(b[0])
	for b = b[1:]; n > 0; n, b = n-1, b[portLen:] {
		m.Ports = append(m.Ports, Port{Protocol: b[0], Condition: slots.Condition(b[1]), Port: binary.BigEndian.Uint16(b[2:])})
	}
	l.Members = append(l.Members, m)
	return true
}
