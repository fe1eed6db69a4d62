package lab

import "encoding/binary"

// echoPort is where the echo of each node listens on all its addresses.
const echoPort = 7007

const (
	payloadMagic = 0x6b766c62 // "kvlb"
	payloadSize  = 16
)

// payload is the content of a UDP probe and of its answer.
type payload struct {
	node byte // who answered, 0 in a probe
	seq  uint64
}

func (p payload) put(b []byte) {
	binary.BigEndian.PutUint32(b, payloadMagic)
	b[4], b[5], b[6], b[7] = p.node, 0, 0, 0
	binary.BigEndian.PutUint64(b[8:], p.seq)
}

func parsePayload(b []byte) (payload, bool) {
	if len(b) != payloadSize || binary.BigEndian.Uint32(b) != payloadMagic {
		return payload{}, false
	}
	return payload{node: b[4], seq: binary.BigEndian.Uint64(b[8:])}, true
}
