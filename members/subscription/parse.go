package subscription

import (
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members/slots"
)

// checkHeader returns where the fields end. Nothing behind the header is looked at.
func checkHeader(b []byte) (end int, err error) {
	switch {
	case len(b) < headerLen || len(b) > MaxMessage:
		return 0, refused(RejectLength)
	case string(b[:4]) != magic:
		return 0, refused(RejectMagic)
	case b[4] != version:
		return 0, refused(RejectVersion)
	}
	end = headerLen + int(binary.BigEndian.Uint16(b[6:]))
	switch {
	case len(b) != end && len(b) != end+trailerLen:
		return 0, refused(RejectLength)
	case Type(b[5]) < Subscribe || Type(b[5]) > Members:
		return 0, refused(RejectType)
	}
	return end, nil
}

// parse reads a message, and does not look at an authentication code behind it. The error is always a *PacketError. Fields that this
// version does not know are skipped.
func parse(b []byte) (Message, error) {
	end, err := checkHeader(b)
	if err != nil {
		return Message{}, err
	}
	m := Message{Type: Type(b[5]), Session: binary.BigEndian.Uint64(b[8:]), Sequence: binary.BigEndian.Uint64(b[16:])}
	if err := m.parseFields(b[headerLen:end]); err != nil {
		return Message{}, err
	}
	if m.Type == Members && m.List.validate() != nil {
		return Message{}, badField(fieldMember)
	}
	return m, nil
}

func badField(f field) error { return &PacketError{Reason: RejectField, Field: f.String()} }

func (m *Message) parseFields(b []byte) error {
	var group, cookie, node, terms, count bool
	for len(b) > 0 {
		if len(b) < 2 || len(b)-2 < int(b[1]) {
			return refused(RejectLength)
		}
		f, value := field(b[0]), b[2:2+int(b[1])]
		b = b[2+len(value):]
		ok, seen := true, (*bool)(nil)
		switch f {
		case fieldGroup:
			seen = &group
			m.Group, ok = netip.AddrFromSlice(value)
			ok = ok && plain(m.Group)
		case fieldCookie:
			seen = &cookie
			ok = copy(m.Cookie[:], value) == cookieLen && len(value) == cookieLen
		case fieldNode:
			seen = &node
			m.Node, ok = string(value), text(string(value))
		case fieldTerms:
			seen = &terms
			ok = m.List.parseTerms(value)
		case fieldMember:
			ok = m.List.parseMember(value)
		case fieldCount:
			seen = &count
			if ok = len(value) == 4; ok {
				n := binary.BigEndian.Uint32(value)
				m.Connections = &n
			}
		}
		if !ok || seen != nil && *seen {
			return badField(f)
		}
		if seen != nil {
			*seen = true
		}
	}
	switch {
	case !group:
		return badField(fieldGroup)
	case m.Type != Members && !cookie:
		return badField(fieldCookie)
	case m.Type == Members && !terms:
		return badField(fieldTerms)
	case m.Type != Members && (terms || len(m.List.Members) > 0):
		return badField(fieldTerms)
	case m.Type == Members && cookie:
		return badField(fieldCookie)
	case m.Type != Subscribe && node:
		return badField(fieldNode)
	case m.Type != Subscribe && count:
		return badField(fieldCount)
	}
	return nil
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
	if len(b) < memberLen || len(l.Members) == MostMembers {
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
	if len(b) < 1 || int(b[0]) > MostPorts || len(b)-1 < int(b[0])*portLen {
		return false
	}
	n := int(b[0])
	for b = b[1:]; n > 0; n, b = n-1, b[portLen:] {
		m.Ports = append(m.Ports, Port{Protocol: b[0], Condition: slots.Condition(b[1]), Port: binary.BigEndian.Uint16(b[2:])})
	}
	l.Members = append(l.Members, m)
	return true
}
