package members

import (
	"encoding/binary"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/members/envelope"
)

// Parse reads a message and its sequence, and does not look at an authentication code behind it. The error is always a
// *envelope.PacketError. Fields that this version does not know are skipped.
func Parse(b []byte) (Message, uint64, error) {
	h, end, err := open(b)
	if err != nil {
		return Message{}, 0, err
	}
	m := Message{Type: Type(h.Type), Session: h.Session}
	if err := m.parseFields(b[envelope.HeaderLen:end]); err != nil {
		return Message{}, 0, err
	}
	return m, h.Sequence, nil
}

func open(b []byte) (envelope.Header, int, error) {
	return envelope.Open(b, uint8(Hello), uint8(Grant))
}

func (m *Message) parseFields(b []byte) error {
	var seen [fields]bool
	err := envelope.Fields(b, func(number uint8, value []byte) error {
		f := field(number)
		if f == 0 || f >= fields {
			return nil
		}
		if seen[f] || !m.parseField(f, value) {
			return envelope.BadField(f.String())
		}
		seen[f] = true
		return nil
	})
	if err != nil {
		return err
	}
	for _, f := range []field{fieldGroup, fieldRank, fieldTo, fieldTransfer} {
		if !seen[f] && (f < fieldTo || m.Type != Hello) {
			return envelope.BadField(f.String())
		}
	}
	return nil
}

// parseField takes one known field, and tells whether it is valid.
func (m *Message) parseField(f field, value []byte) (ok bool) {
	state := &m.Peer
	switch f {
	case fieldGroup:
		state.Group, ok = envelope.Addr(value)
	case fieldRank:
		ok = state.parseRank(value)
	case fieldNode:
		state.Node, ok = string(value), envelope.Text(string(value), maxNode)
	case fieldSoftware:
		state.Software, ok = string(value), envelope.Text(string(value), maxSoftware)
	case fieldReason:
		state.Reason, ok = string(value), envelope.Text(string(value), maxReason)
	case fieldCode:
		if ok = len(value) >= codeLen; ok {
			state.Code = code.Numbered(binary.BigEndian.Uint16(value))
		}
	case fieldFor:
		state.For, ok = envelope.Addr(value)
	case fieldTo:
		m.Transfer.To, ok = envelope.Addr(value)
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
	case fieldDetector:
		if ok = len(value) >= detectorLen; ok {
			state.Fast = value[0]&flagFast != 0
		}
	case fieldClients:
		state.Clients, ok = parseClients(value)
	}
	return ok
}
