package dhcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// Type is the DHCP message type (RFC 2132 section 9.6).
type Type uint8

// The types that keepvip sends or understands.
const (
	Discover Type = 1
	Offer    Type = 2
	Request  Type = 3
	ACK      Type = 5
	NAK      Type = 6
)

// The options (RFC 2132).
const (
	optPad       = 0
	optRequested = 50
	optLease     = 51
	optOverload  = 52
	optType      = 53
	optServer    = 54
	optWanted    = 55 // Parameter Request List
	optText      = 56
	optT1        = 58
	optT2        = 59
	optClientID  = 61
	optEnd       = 255
)

// Where the fields of a message are (RFC 2131 section 2).
const (
	offXID    = 4
	offSecs   = 8
	offFlags  = 10
	offClient = 12 // ciaddr
	offYour   = 16 // yiaddr
	offChaddr = 28
	offSName  = 44
	offFile   = 108
	offMagic  = 236
	offOption = 240

	leastLen = 300 // of a BOOTP message (RFC 951): relays drop shorter ones
)

const (
	bootRequest = 1
	bootReply   = 2
	ethernet    = 1
	broadcast   = 0x8000
	magic       = 0x63825363
)

// infinite is the time of a lease that never ends (RFC 2131 section 3.3).
const infinite = time.Duration(1<<32-1) * time.Second

// Message is what keepvip says, or understands, of a DHCP message. What is zero is not in it.
type Message struct {
	Type      Type
	XID       uint32
	Secs      uint16     // since the client has begun to ask
	Client    netip.Addr // ciaddr: the address that the client has a lease of
	Your      netip.Addr // yiaddr: the address that the server gives
	Requested netip.Addr
	Server    netip.Addr // Server Identifier
	ClientID  []byte     // with its type in front
	Lease     time.Duration
	T1, T2    time.Duration
	Text      string // why, of a NAK
}

// marshal is a message of the client whose interface has the hardware address. Its answer is to be a broadcast: a unicast to an address that is not
// bound yet would not arrive.
func (m *Message) marshal(mac net.HardwareAddr) []byte {
	b := make([]byte, offOption, leastLen)
	b[0], b[1], b[2] = bootRequest, ethernet, byte(len(mac))
	binary.BigEndian.PutUint32(b[offXID:], m.XID)
	binary.BigEndian.PutUint16(b[offSecs:], m.Secs)
	binary.BigEndian.PutUint16(b[offFlags:], broadcast)
	if m.Client.Is4() {
		copy(b[offClient:], m.Client.AsSlice())
	}
	copy(b[offChaddr:], mac)
	binary.BigEndian.PutUint32(b[offMagic:], magic)
	b = append(b, optType, 1, byte(m.Type), optClientID, byte(len(m.ClientID)))
	b = append(b, m.ClientID...)
	if m.Requested.Is4() {
		b = append(append(b, optRequested, 4), m.Requested.AsSlice()...)
	}
	if m.Server.Is4() {
		b = append(append(b, optServer, 4), m.Server.AsSlice()...)
	}
	b = append(b, optWanted, 3, optLease, optT1, optT2, optEnd)
	return append(b, make([]byte, max(0, leastLen-len(b)))...)
}

var (
	errShort   = errors.New("dhcp: shorter than a message")
	errOptions = errors.New("dhcp: an option ends behind the message")
)

// parse reads the answer of a server.
func parse(b []byte) (Message, error) {
	if len(b) < offOption {
		return Message{}, errShort
	}
	if b[0] != bootReply || b[1] != ethernet || binary.BigEndian.Uint32(b[offMagic:]) != magic {
		return Message{}, fmt.Errorf("dhcp: op %d, hardware type %d, magic %#x, want 2, 1 and %#x", b[0], b[1], b[offMagic:offOption], magic)
	}
	m := Message{
		XID: binary.BigEndian.Uint32(b[offXID:]), Secs: binary.BigEndian.Uint16(b[offSecs:]),
		Client: address(b[offClient : offClient+4]), Your: address(b[offYour : offYour+4]),
	}
	overload, err := m.options(b[offOption:])
	if err == nil && overload&1 != 0 {
		_, err = m.options(b[offFile:offMagic])
	}
	if err == nil && overload&2 != 0 {
		_, err = m.options(b[offSName:offFile])
	}
	if err == nil && m.Type == 0 {
		err = errors.New("dhcp: no message type")
	}
	return m, err
}

// options reads a field with options, and tells which other fields have more of them (RFC 2132 section 9.3).
func (m *Message) options(b []byte) (overload byte, err error) {
	for len(b) > 0 && b[0] != optEnd {
		if b[0] == optPad {
			b = b[1:]
			continue
		}
		if len(b) < 2 || len(b) < 2+int(b[1]) {
			return 0, errOptions
		}
		code, value := b[0], b[2:2+int(b[1])]
		b = b[2+len(value):]
		switch {
		case code == optText:
			m.Text = string(value)
		case code == optClientID:
			m.ClientID = value
		case code == optType && len(value) == 1:
			m.Type = Type(value[0])
		case code == optOverload && len(value) == 1:
			overload = value[0]
		case len(value) == 4:
			m.word(code, value)
		}
	}
	return overload, nil
}

// word is an option of four bytes.
func (m *Message) word(code byte, value []byte) {
	span := time.Duration(binary.BigEndian.Uint32(value)) * time.Second
	switch code {
	case optServer:
		m.Server = address(value)
	case optLease:
		m.Lease = span
	case optT1:
		m.T1 = span
	case optT2:
		m.T2 = span
	}
}

// address is the zero Addr for 0.0.0.0.
func address(b []byte) netip.Addr {
	if a := netip.AddrFrom4([4]byte(b)); !a.IsUnspecified() {
		return a
	}
	return netip.Addr{}
}
