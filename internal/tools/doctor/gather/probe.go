package gather

import (
	"encoding/binary"
	"math"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// A probe, in network byte order; by protocol 112 there are four bytes before it, which say version 15 of VRRP, so that no router takes it for an
// advertisement:
//
//	magic (4)   version (1)  flags (1)  reserved (2)
//	time in nanoseconds since 1970 (8)
//	and with a key: key id (4)  authentication code (32)
const (
	probeMagic   = "kpvd"
	probeVersion = 1
	probeLen     = 16

	noVRRP = 0xf1 // version 15, type 1

	saysVRRP    = 1 << 0 // the sender hears protocol 112 of the receiver
	saysMembers = 1 << 1 // and the members' port
)

func prefixOf(vrrp bool) []byte {
	if vrrp {
		return []byte{noVRRP, 0, 0, 0}
	}
	return nil
}

// probe is one to a peer, by protocol 112 or by UDP.
func (m *meeting) probe(to netip.Addr, vrrp bool, now time.Time) []byte {
	m.mu.Lock()
	p := m.peers[to]
	var flags uint8
	if p.HeardVRRP {
		flags |= saysVRRP
	}
	if p.HeardMembers {
		flags |= saysMembers
	}
	m.mu.Unlock()
	b := append(prefixOf(vrrp), probeMagic...)
	b = append(b, probeVersion, flags, 0, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(now.UnixNano()))
	if len(m.keys) == 0 {
		return b
	}
	return m.keys[0].AppendTrailer(b, probeCovers(b, m.own, to)...)
}

// probeCovers is what a code authenticates: the probe, from whom and for whom it is.
func probeCovers(b []byte, from, to netip.Addr) [][]byte {
	source, destination := from.As16(), to.As16()
	return [][]byte{source[:], destination[:], b}
}

// open reads a probe; its flags count if it is ok. With a key it takes none that is not signed by one of this host's, or too old.
func (m *meeting) open(b []byte, from netip.Addr, vrrp bool, now time.Time) (flags uint8, ok bool) {
	end := len(prefixOf(vrrp)) + probeLen
	if len(b) != end && len(b) != end+auth.TrailerLen || !isProbe(b, vrrp) {
		return 0, false
	}
	at := b[end-probeLen:]
	if len(m.keys) == 0 {
		return at[5], len(b) == end
	}
	made := time.Unix(0, int64(min(binary.BigEndian.Uint64(at[8:]), math.MaxInt64)))
	if len(b) == end || now.Sub(made).Abs() > m.window {
		return 0, false
	}
	_, verdict := auth.Find(m.keys, b[end:end+auth.IDLen], b[end+auth.IDLen:], probeCovers(b[:end], from, m.own)...)
	return at[5], verdict == auth.Fresh
}

// isProbe tells a probe from what else there is by that protocol.
func isProbe(b []byte, vrrp bool) bool {
	prefix := prefixOf(vrrp)
	if len(b) < len(prefix)+probeLen || vrrp && b[0] != noVRRP {
		return false
	}
	b = b[len(prefix):]
	return string(b[:len(probeMagic)]) == probeMagic && b[4] == probeVersion
}

// probed notes that a probe was on the link, whatever becomes of it behind.
func (n *notes) probed(p packet) {
	once(n, &n.wire.Probes, doctor.Probe{Source: p.source, VRRP: p.vrrp})
}
