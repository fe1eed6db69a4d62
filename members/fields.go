package members

import (
	"encoding/binary"
	"time"

	"github.com/keepvip/keepvip/vrrp"
)

// MostHeard is how many members a message has room for in [PeerState.Hears].
const MostHeard = maxHears

// field is the type of a field.
type field uint8

const (
	fieldGroup    field = 1  // address
	fieldRank     field = 2  // see rankLen
	fieldNode     field = 3  // text
	fieldSoftware field = 4  // text
	fieldReason   field = 5  // text
	fieldFor      field = 6  // address
	fieldTo       field = 7  // address
	fieldTransfer field = 8  // session (8)  epoch (8)  nonce (8)
	fieldRouter   field = 9  // version (1)  VRID (1)  advertisement interval in milliseconds (4)  and if known digest of the addresses (4)  MTU (2)
	fieldHears    field = 10 // of each member that is heard: flags (1)  session (8)

	fieldCode field = 11 // number of the code of the reason (2), or of the cause by which the sender leaves

	// flags, weight (1 each), MAC (6), length of an address (1), address, number of ports (1); each: protocol, flags (1 each), port (2), connections (4)
	fieldSpread field = 12

	fieldHearing field = 14 // flags (1)  and session of the holder with each of flagUnanswered and flagUnreached (8)

	fieldDetector field = 15 // flags (1)

	fieldClients field = 13 // of each client: length of its address (1), address, its port (2), port of the virtual address (2)

	fields = 16 // one more than the last
)

const (
	rankLen     = 15 // state, base, priority, flags, revision (1 each), lifetime (2), epoch (8)
	transferLen = 24

	routerLen = 6
	codeLen   = 2
	digestLen = 4
	mtuLen    = 2
	heardLen  = 9
	maxHears  = 255 / heardLen

	spreadLen     = 9 // up to the length of the address
	spreadPortLen = 8
	servesLen     = 16

	maxClients  = 255 // bytes
	hearingLen  = 1
	detectorLen = 1
	sessionLen  = 8

	flagFit      = 1 << 0
	flagProven   = 1 << 1
	flagDraining = 1 << 2
	flagClaims   = 1 << 3
	flagMember   = 1 << 4 // no candidate

	flagMissing     = 1 << 0 // of fieldHears
	flagTakes       = 1 << 0 // of fieldSpread
	flagTranslates  = 1 << 1 // of fieldSpread
	flagServes      = 1 << 2 // of fieldSpread
	flagLacksHolder = 1 << 3 // of fieldSpread
	flagHealthy     = 1 << 0 // of a port there

	flagDeaf       = 1 << 0 // of fieldHearing
	flagUnanswered = 1 << 1 // of fieldHearing
	flagNobody     = 1 << 2 // of fieldHearing
	flagUnreached  = 1 << 3 // of fieldHearing
	flagNever      = 1 << 4 // of fieldHearing, with flagUnreached

	flagFast = 1 << 0 // of fieldDetector

	maxNode     = 253
	maxSoftware = 64
	maxReason   = 200
)

// String is the name in errors.
func (f field) String() string {
	return [fields]string{"0", "group", "rank", "node", "software", "reason", "for", "to", "transfer", "router", "hears", "code", "spread", "clients", "hearing", "detector"}[f]
}

func appendRank(b []byte, f PeerState) []byte {
	var flags uint8
	if f.Fit {
		flags |= flagFit
	}
	if f.Proven {
		flags |= flagProven
	}
	if f.Draining {
		flags |= flagDraining
	}
	if f.Claims {
		flags |= flagClaims
	}
	if f.NoCandidate {
		flags |= flagMember
	}
	b = append(b, uint8(f.State), f.Base, f.Priority, flags, f.Revision)
	b = binary.BigEndian.AppendUint16(b, uint16(f.Lifetime/time.Millisecond))
	return binary.BigEndian.AppendUint64(b, f.Epoch)
}

// parseRank takes what it knows; a later version may have more behind it.
func (f *PeerState) parseRank(b []byte) bool {
	if len(b) < rankLen || vrrp.State(b[0]) > vrrp.Active {
		return false
	}
	f.State, f.Base, f.Priority, f.Fit, f.Revision = vrrp.State(b[0]), b[1], b[2], b[3]&flagFit != 0, b[4]
	f.Proven, f.Draining, f.Claims = b[3]&flagProven != 0, b[3]&flagDraining != 0, b[3]&flagClaims != 0
	f.NoCandidate = b[3]&flagMember != 0
	f.Lifetime = time.Duration(binary.BigEndian.Uint16(b[5:])) * time.Millisecond
	f.Epoch = binary.BigEndian.Uint64(b[7:])
	return true
}

func appendTransfer(b []byte, d Transfer) []byte {
	b = binary.BigEndian.AppendUint64(b, d.Session)
	b = binary.BigEndian.AppendUint64(b, d.Epoch)
	return binary.BigEndian.AppendUint64(b, d.Nonce)
}

func (d *Transfer) parse(b []byte) bool {
	if len(b) < transferLen {
		return false
	}
	d.Session, d.Epoch, d.Nonce = binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]), binary.BigEndian.Uint64(b[16:])
	return true
}

func appendRouter(b []byte, r Router) []byte {
	b = append(b, r.Version, r.VRID)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Interval/time.Millisecond))
	if r.Addresses == 0 {
		return b
	}
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint32(b, r.Addresses), r.MTU)
}

func (r *Router) parse(b []byte) bool {
	if len(b) < routerLen {
		return false
	}
	r.Version, r.VRID = b[0], b[1]
	r.Interval = time.Duration(binary.BigEndian.Uint32(b[2:])) * time.Millisecond
	if len(b) >= routerLen+digestLen {
		r.Addresses = binary.BigEndian.Uint32(b[routerLen:])
	}
	if len(b) >= routerLen+digestLen+mtuLen && r.Addresses != 0 {
		r.MTU = binary.BigEndian.Uint16(b[routerLen+digestLen:])
	}
	return r.Interval <= maxInterval
}

func appendHears(b []byte, list []Heard) []byte {
	for _, h := range list {
		var flags uint8
		if h.Missing {
			flags |= flagMissing
		}
		b = binary.BigEndian.AppendUint64(append(b, flags), h.Session)
	}
	return b
}

func parseHears(b []byte) (list []Heard, ok bool) {
	for ; len(b) >= heardLen; b = b[heardLen:] {
		list = append(list, Heard{Session: binary.BigEndian.Uint64(b[1:]), Missing: b[0]&flagMissing != 0})
	}
	return list, len(b) == 0
}

func appendHearing(b []byte, f PeerState) []byte {
	var flags uint8
	if f.Deaf {
		flags |= flagDeaf
	}
	if f.HearsNobody {
		flags |= flagNobody
	}
	if f.Unanswered != 0 {
		flags |= flagUnanswered
	}
	if f.Unreached != 0 {
		flags |= flagUnreached
	}
	if f.Unreached != 0 && f.NeverReached {
		flags |= flagNever
	}
	b = append(b, flags)
	for _, session := range []uint64{f.Unanswered, f.Unreached} {
		if session != 0 {
			b = binary.BigEndian.AppendUint64(b, session)
		}
	}
	return b
}

// parseHearing takes what it knows; a later version may have more behind it.
func (f *PeerState) parseHearing(b []byte) bool {
	if len(b) < hearingLen {
		return false
	}
	flags, rest := b[0], b[hearingLen:]
	f.Deaf, f.HearsNobody = flags&flagDeaf != 0, flags&flagNobody != 0
	f.NeverReached = flags&flagUnreached != 0 && flags&flagNever != 0
	for _, s := range []struct {
		flag    uint8
		session *uint64
	}{{flagUnanswered, &f.Unanswered}, {flagUnreached, &f.Unreached}} {
		if flags&s.flag == 0 {
			continue
		}
		if len(rest) < sessionLen {
			return false
		}
		*s.session, rest = binary.BigEndian.Uint64(rest), rest[sessionLen:]
	}
	return true
}
