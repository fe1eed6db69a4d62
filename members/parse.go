package members

import (
	"encoding/binary"

	"github.com/keepvip/keepvip/internal/base/code"
)

// Parse reads a message and its sequence, and does not look at an authentication code behind it. The error is always a
// *PacketError. Fields that this version does not know are skipped.
func Parse(b []byte) (Message, uint64, error) {
	end, err := checkHeader(b)
	if err != nil {
		return Message{}, 0, err
	}
	m := Message{Type: Type(b[5]), Session: binary.BigEndian.Uint64(b[8:])}
	if err := m.parseFields(b[headerLen:end]); err != nil {
		return Message{}, 0, err
	}
	return m, binary.BigEndian.Uint64(b[16:]), nil
}

// checkHeader returns where the fields end.
func checkHeader(b []byte) (end int, err error) {
	switch {
	case len(b) < headerLen:
		return 0, &PacketError{Reason: RejectLength, Got: len(b), Want: headerLen}
	case len(b) > maxMessage:
		return 0, &PacketError{Reason: RejectLength, Got: len(b), Want: maxMessage}
	case string(b[:4]) != magic:
		return 0, &PacketError{Reason: RejectMagic}
	case b[4] != Version:
		return 0, &PacketError{Reason: RejectVersion, Got: int(b[4]), Want: Version}
	}
	end = headerLen + int(binary.BigEndian.Uint16(b[6:]))
	switch {
	case len(b) != end && len(b) != end+trailerLen:
		return 0, &PacketError{Reason: RejectLength, Got: len(b), Want: end}
	case Type(b[5]) < Hello || Type(b[5]) > Grant:
		return 0, &PacketError{Reason: RejectType, Got: int(b[5]), Want: int(Hello)}
	}
	return end, nil
}

func (m *Message) parseFields(b []byte) error {
	var seen [fields]bool
	for len(b) > 0 {
		if len(b) < 2 || len(b)-2 < int(b[1]) {
			return &PacketError{Reason: RejectLength, Got: len(b)}
		}
		f, value := field(b[0]), b[2:2+int(b[1])]
		b = b[2+len(value):]
		if f == 0 || f >= fields {
			continue
		}
		if seen[f] || !m.parseField(f, value) {
			return badField(f.String())
		}
		seen[f] = true
	}
	for _, f := range []field{fieldGroup, fieldRank, fieldTo, fieldTransfer} {
		if !seen[f] && (f < fieldTo || m.Type != Hello) {
			return badField(f.String())
		}
	}
	return nil
}

// parseField takes one known field, and tells whether it is valid.
func (m *Message) parseField(f field, value []byte) (ok bool) {
	state := &m.Peer
	switch f {
	case fieldGroup:
		state.Group, ok = parseAddr(value)
	case fieldRank:
		ok = state.parseRank(value)
	case fieldNode:
		state.Node, ok = string(value), text(string(value), maxNode)
	case fieldSoftware:
		state.Software, ok = string(value), text(string(value), maxSoftware)
	case fieldReason:
		state.Reason, ok = string(value), text(string(value), maxReason)
	case fieldCode:
		if ok = len(value) >= codeLen; ok {
			state.Code = code.Numbered(binary.BigEndian.Uint16(value))
		}
	case fieldFor:
		state.For, ok = parseAddr(value)
	case fieldTo:
		m.Transfer.To, ok = parseAddr(value)
	case fieldTransfer:
		ok = m.Transfer.parse(value)
	case fieldRouter:
		ok = state.Router.parse(value)
	case fieldHears:
		state.Hears, ok = parseHears(value)
	case fieldSpread:
		state.Spread, ok = parseSpread(value)
	case fieldHearing:
		ok = state.parseHearing(value)
	case fieldClients:
		state.Clients, ok = parseClients(value)
	}
	return ok
}
