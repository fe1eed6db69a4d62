package pulse

import (
	"encoding/binary"
	"net/netip"
	"strconv"
	"time"

	"github.com/keepvip/keepvip/members/envelope"
)

// Type is a message's type. The numbers go on behind those of the members' other messages.
type Type uint8

// The types.
const (
	Beat Type = 7 // of a holder, to all: I am here
	Ask  Type = 8 // of a member, to all: is that node there?
	Word Type = 9 // of a member, to all: it is there, or it is gone, as far as I can find out
)

// String returns "BEAT", "ASK" or "WORD".
func (t Type) String() string {
	switch t {
	case Beat:
		return "BEAT"
	case Ask:
		return "ASK"
	case Word:
		return "WORD"
	}
	return "type " + strconv.Itoa(int(t))
}

// Message is one message.
type Message struct {
	Type    Type
	Session uint64 // tells one run of the sender from the next

	// Of a Beat:
	Number uint32        // counts the beats of this session
	Every  time.Duration // between two beats, in milliseconds on the wire
	Last   bool          // no other follows: the sender holds nothing any more

	// Of an Ask and a Word:
	About netip.Addr // the own address of the node
	There bool       // of a Word
}

// field is the type of a field.
type field uint8

const (
	fieldBeat  field = 24 // number (4)  time between two beats in milliseconds (2)  flags (1)
	fieldAbout field = 25 // address
	fieldFinds field = 26 // flags (1)
)

const (
	beatLen  = 7
	findsLen = 1

	flagLast  = 1 << 0 // of fieldBeat
	flagThere = 1 << 0 // of fieldFinds
)

var names = map[field]string{fieldBeat: "beat", fieldAbout: "about", fieldFinds: "finds"}

// needs are the fields of a type of message.
func (t Type) needs() []field {
	switch t {
	case Beat:
		return []field{fieldBeat}
	case Ask:
		return []field{fieldAbout}
	default:
		return []field{fieldAbout, fieldFinds}
	}
}

// Is tells whether b may be a message of this package. It says nothing about its contents.
func Is(b []byte) bool { return envelope.Is(b, uint8(Beat), uint8(Word)) }

// Extent reads where the fields of a message end, behind which there may be an authentication code. The error is always a *envelope.PacketError.
func Extent(b []byte) (envelope.Header, int, error) {
	return envelope.Open(b, uint8(Beat), uint8(Word))
}

// Append appends the message to b, without authentication. sequence grows with every message of a sender. About has no zone.
func (m Message) Append(b []byte, sequence uint64) []byte {
	h := envelope.Header{Type: uint8(m.Type), Session: m.Session, Sequence: sequence}
	return h.Append(b, func(b []byte) []byte {
		for _, f := range m.Type.needs() {
			b = envelope.AppendField(b, f, m.value(f))
		}
		return b
	})
}

func (m Message) value(f field) []byte {
	switch f {
	case fieldBeat:
		v := binary.BigEndian.AppendUint32(nil, m.Number)
		v = binary.BigEndian.AppendUint16(v, uint16(m.Every/time.Millisecond))
		return append(v, flagIf(m.Last, flagLast))
	case fieldAbout:
		return m.About.AsSlice()
	default:
		return []byte{flagIf(m.There, flagThere)}
	}
}

func flagIf(on bool, flag byte) byte {
	if on {
		return flag
	}
	return 0
}

// Parse reads a message and its sequence, and does not look at an authentication code behind it. The error is always an *envelope.PacketError. Fields
// that this version does not know are skipped.
func Parse(b []byte) (Message, uint64, error) {
	h, end, err := Extent(b)
	if err != nil {
		return Message{}, 0, err
	}
	m := Message{Type: Type(h.Type), Session: h.Session}
	seen := map[field]bool{}
	err = envelope.Fields(b[envelope.HeaderLen:end], func(number uint8, value []byte) error {
		f := field(number)
		name, known := names[f]
		if !known {
			return nil
		}
		if seen[f] || !m.take(f, value) {
			return envelope.BadField(name)
		}
		seen[f] = true
		return nil
	})
	if err != nil {
		return Message{}, 0, err
	}
	for _, f := range m.Type.needs() {
		if !seen[f] {
			return Message{}, 0, envelope.BadField(names[f])
		}
	}
	return m, h.Sequence, nil
}

// take takes one field, and tells whether it is valid. A later version may have more behind what this one knows.
func (m *Message) take(f field, value []byte) (ok bool) {
	switch f {
	case fieldBeat:
		if len(value) < beatLen {
			return false
		}
		m.Number, m.Last = binary.BigEndian.Uint32(value), value[6]&flagLast != 0
		m.Every = time.Duration(binary.BigEndian.Uint16(value[4:])) * time.Millisecond
		return m.Every > 0
	case fieldAbout:
		m.About, ok = envelope.Addr(value)
		return ok
	default:
		if len(value) < findsLen {
			return false
		}
		m.There = value[0]&flagThere != 0
		return true
	}
}
