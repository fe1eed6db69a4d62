package subscription

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"net/netip"
	"time"
)

type secret struct {
	bytes [32]byte
	since time.Time
}

// renewSecrets makes cookies old.
func (p *Publisher) renewSecrets(now time.Time) {
	if !p.secrets[0].since.IsZero() && now.Sub(p.secrets[0].since) < secretAge {
		return
	}
	next := secret{since: now}
	for i := 0; i < len(next.bytes); i += 8 {
		binary.BigEndian.PutUint64(next.bytes[i:], p.random())
	}
	p.secrets[1] = p.secrets[0]
	if now.Sub(p.secrets[1].since) >= 2*secretAge {
		p.secrets[1] = next
	}
	p.secrets[0] = next
}

// cookie shows that what is sent to an address arrives there.
func (p *Publisher) cookie(age int, m Message, from netip.AddrPort) (c [cookieLen]byte) {
	h := hmac.New(sha256.New, p.secrets[age].bytes[:])
	a := from.Addr().WithZone("").As16()
	h.Write(a[:])
	h.Write(binary.BigEndian.AppendUint16(nil, from.Port()))
	h.Write(binary.BigEndian.AppendUint64(nil, m.Session))
	g := m.Group.As16()
	h.Write(g[:])
	copy(c[:], h.Sum(nil))
	return c
}

func (p *Publisher) knows(m Message, from netip.AddrPort) bool {
	if m.Cookie == ([cookieLen]byte{}) {
		return false
	}
	for age := range p.secrets {
		if c := p.cookie(age, m, from); hmac.Equal(c[:], m.Cookie[:]) {
			return true
		}
	}
	return false
}
