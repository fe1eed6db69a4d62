package subscription

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

// field is the type of a field.
type field uint8

const (
	fieldGroup  field = 1  // address
	fieldNode   field = 3  // text
	fieldCookie field = 16 // cookieLen bytes
	fieldTerms  field = 17 // lease in milliseconds (4)  time between two messages in milliseconds (2)
	fieldMember field = 18 // of each member, see appendMember
	fieldCount  field = 19 // connections (4)
)

// fields is one more than the last.
const fields = 20

// known says of each field its name in errors, in which types of messages it is, in which it may be, and whether it may be there more than once.
var known = [fields]struct {
	name            string
	needed, allowed []Type
	often           bool
}{
	fieldGroup:  {name: "group", needed: []Type{Subscribe, Cookie, Members}},
	fieldCookie: {name: "cookie", needed: []Type{Subscribe, Cookie}},
	fieldTerms:  {name: "terms", needed: []Type{Members}},
	fieldMember: {name: "member", allowed: []Type{Members}, often: true},
	fieldNode:   {name: "node", allowed: []Type{Subscribe}},
	fieldCount:  {name: "connections", allowed: []Type{Subscribe}},
}

const (
	cookieLen = 16
	termsLen  = 6
	memberLen = 6 // flags, weight (1 each), age, lifetime in milliseconds (2 each)
	portLen   = 4 // protocol, condition (1 each), port (2)
	maxNode   = 32

	flagSelf = 1 << 0
)

// Is tells whether b may be a message of this package, and not one that members have among themselves. It says nothing about its contents.
func Is(b []byte) bool {
	return envelope.Is(b, uint8(Subscribe), uint8(Members))
}

// append appends the message without authentication. What the wire cannot carry is an error.
func (m Message) append(b []byte) ([]byte, error) {
	if err := m.validate(); err != nil {
		return b, err
	}
	h := envelope.Header{Type: uint8(m.Type), Session: m.Session, Sequence: m.Sequence}
	return h.Append(b, m.appendFields), nil
}

func (m Message) appendFields(b []byte) []byte {
	b = envelope.AppendField(b, fieldGroup, m.Group.AsSlice())
	if m.Type != Members {
		b = envelope.AppendField(b, fieldCookie, m.Cookie[:])
	}
	if m.Type == Subscribe && m.Node != "" {
		b = envelope.AppendField(b, fieldNode, []byte(m.Node))
	}
	if m.Type == Subscribe && m.Connections != nil {
		b = envelope.AppendField(b, fieldCount, binary.BigEndian.AppendUint32(nil, *m.Connections))
	}
	if m.Type == Members {
		terms := binary.BigEndian.AppendUint32(nil, uint32(m.List.Lease/time.Millisecond))
		b = envelope.AppendField(b, fieldTerms, binary.BigEndian.AppendUint16(terms, uint16(m.List.Every/time.Millisecond)))
		for _, o := range m.List.Members {
			b = envelope.AppendField(b, fieldMember, appendMember(nil, o))
		}
	}
	return b
}

// appendMember is the value of fieldMember.
func appendMember(b []byte, m Member) []byte {
	var flags uint8
	if m.Self {
		flags |= flagSelf
	}
	b = append(b, flags, m.Weight)
	b = binary.BigEndian.AppendUint16(b, uint16(m.Age/time.Millisecond))
	b = binary.BigEndian.AppendUint16(b, uint16(m.Lifetime/time.Millisecond))
	for _, part := range [][]byte{m.Address.AsSlice(), m.Other.AsSlice(), []byte(m.Node)} {
		b = append(append(b, uint8(len(part))), part...)
	}
	b = append(b, uint8(len(m.Ports)))
	for _, p := range m.Ports {
		b = binary.BigEndian.AppendUint16(append(b, p.Protocol, uint8(p.Condition)), p.Port)
	}
	return b
}

// validate reports the first thing that the wire cannot carry.
func (m Message) validate() error {
	switch {
	case m.Type < Subscribe || m.Type > Members:
		return fmt.Errorf("subscription: %v, want SUBSCRIBE, COOKIE or MEMBERS", m.Type)
	case !envelope.Plain(m.Group):
		return fmt.Errorf("subscription: group %v, want an address without a zone", m.Group)
	case !envelope.Text(m.Node, maxNode):
		return fmt.Errorf("subscription: node %q, want at most %d bytes of printable text", m.Node, maxNode)
	case m.Type == Members:
		return m.List.validate()
	}
	return nil
}

func (l List) validate() error {
	switch {
	case l.Lease <= 0 || l.Lease > time.Hour:
		return fmt.Errorf("subscription: lease %v, want more than 0s and at most 1h", l.Lease)
	case l.Every <= 0 || l.Every > Never:
		return fmt.Errorf("subscription: interval %v, want more than 0s and at most %v", l.Every, Never)
	case len(l.Members) > mostMembers:
		return fmt.Errorf("subscription: %d members, want at most %d", len(l.Members), mostMembers)
	}
	selves := 0
	for i, m := range l.Members {
		if !m.valid() {
			return fmt.Errorf("subscription: member %+v, want addresses of one host, and no port twice", m)
		}
		for _, o := range l.Members[:i] {
			if o.Address == m.Address {
				return fmt.Errorf("subscription: member %v is there twice", m.Address)
			}
		}
		if m.Self {
			selves++
		}
	}
	if selves != 1 {
		return fmt.Errorf("subscription: %d of the members are the sender, want one", selves)
	}
	return nil
}

func (m Member) valid() bool {
	if !envelope.Host(m.Address) || m.Other != (netip.Addr{}) && !envelope.Host(m.Other) || !envelope.Text(m.Node, maxNode) || len(m.Ports) > mostPorts ||
		m.Age < 0 || m.Age > Never || m.Lifetime < 0 || m.Lifetime > Never {
		return false
	}
	for i, p := range m.Ports {
		if p.Port == 0 || p.Condition > slots.Fit {
			return false
		}
		for _, o := range m.Ports[:i] {
			if o.Port == p.Port && o.Protocol == p.Protocol {
				return false
			}
		}
	}
	return true
}

// NodeName is what of a node's name a message carries.
func NodeName(s string) string {
	if len(s) > maxNode {
		s = s[:maxNode]
	}
	for s != "" && !envelope.Text(s, maxNode) {
		s = s[:len(s)-1]
	}
	return s
}
