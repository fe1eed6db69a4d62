package members

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/vrrp"
)

// maxLifetime is what the wire can carry.
const maxLifetime = 65535 * time.Millisecond

// Append appends the message to b, without authentication. sequence grows with every message of a sender.
// The error names the field that cannot be sent.
func (m Message) Append(b []byte, sequence uint64) ([]byte, error) {
	if err := m.validate(); err != nil {
		return b, err
	}
	start := len(b)
	h := envelope.Header{Type: uint8(m.Type), Session: m.Session, Sequence: sequence}
	return h.Append(b, func(b []byte) []byte { return m.appendFields(b, start) }), nil
}

// appendFields appends the fields of a message that begins at start.
func (m Message) appendFields(b []byte, start int) []byte {
	f := m.Peer
	b = envelope.AppendField(b, fieldGroup, f.Group.AsSlice())
	b = envelope.AppendField(b, fieldRank, appendRank(nil, f))
	b = appendText(b, fieldNode, f.Node)
	b = appendText(b, fieldSoftware, f.Software)
	b = appendText(b, fieldReason, f.Reason)
	if n := f.Code.Number(); n != 0 {
		b = envelope.AppendField(b, fieldCode, binary.BigEndian.AppendUint16(nil, n))
	}
	if f.For.IsValid() {
		b = envelope.AppendField(b, fieldFor, f.For.AsSlice())
	}
	if f.Router != (Router{}) {
		b = envelope.AppendField(b, fieldRouter, appendRouter(nil, f.Router))
	}
	if len(f.Hears) > 0 {
		b = envelope.AppendField(b, fieldHears, appendHears(nil, f.Hears))
	}
	if f.Deaf || f.HearsNobody || f.Unanswered != 0 || f.Unreached != 0 {
		b = envelope.AppendField(b, fieldHearing, appendHearing(nil, f))
	}
	if f.Fast {
		b = envelope.AppendField(b, fieldDetector, []byte{flagFast})
	}
	if f.Spread != nil {
		b = envelope.AppendField(b, fieldSpread, appendSpread(nil, f.Spread))
	}
	if m.Type != Hello {
		b = envelope.AppendField(b, fieldTo, m.Transfer.To.AsSlice())
		b = envelope.AppendField(b, fieldTransfer, appendTransfer(nil, m.Transfer))
	}
	if list := appendClients(nil, f.Clients, roomForClients(len(b)-start)); len(list) > 0 {
		b = envelope.AppendField(b, fieldClients, list)
	}
	return b
}

// appendText leaves an empty text out.
func appendText(b []byte, f field, s string) []byte {
	if s == "" {
		return b
	}
	return envelope.AppendField(b, f, []byte(s))
}

// validate reports the first field that the wire cannot carry.
func (m Message) validate() error {
	f := m.Peer
	switch {
	case m.Type < Hello || m.Type > Grant:
		return fmt.Errorf("members: %v, want HELLO, REQUEST or GRANT", m.Type)
	case f.State > vrrp.Active:
		return fmt.Errorf("members: %v, want initialize, backup or active", f.State)
	case f.Lifetime < 0 || f.Lifetime > maxLifetime:
		return fmt.Errorf("members: lifetime %v, want 0s to %v", f.Lifetime, maxLifetime)
	case f.For != netip.Addr{} && !envelope.Plain(f.For):
		return fmt.Errorf("members: wanted taker %v, want an address without a zone", f.For)
	case f.Router.Interval < 0 || f.Router.Interval > maxInterval:
		return fmt.Errorf("members: advertisement interval %v, want 0s to %v", f.Router.Interval, maxInterval)
	case len(f.Hears) > maxHears:
		return fmt.Errorf("members: %d members are heard, want at most %d", len(f.Hears), maxHears)
	case f.Spread != nil && !f.Spread.valid():
		return fmt.Errorf("members: spread %+v, want at most %d ports, none twice, and the addresses of one host", *f.Spread, MostSpreadPorts)
	case slices.ContainsFunc(f.Clients, func(c Client) bool { return !c.valid() }):
		return fmt.Errorf("members: clients %v, want addresses of one host, and ports", f.Clients)
	case !envelope.Plain(f.Group):
		return fmt.Errorf("members: group %v, want an address without a zone", f.Group)
	case m.Type != Hello && !envelope.Plain(m.Transfer.To):
		return fmt.Errorf("members: %v to %v, want an address without a zone", m.Type, m.Transfer.To)
	}
	for _, t := range []struct {
		name, text string
		most       int
	}{{"node", f.Node, maxNode}, {"software", f.Software, maxSoftware}, {"reason", f.Reason, maxReason}} {
		if !envelope.Text(t.text, t.most) {
			return fmt.Errorf("members: %s %q, want at most %d bytes of printable text", t.name, t.text, t.most)
		}
	}
	return nil
}
