package subscription

import (
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
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
	a, g := from.Addr().WithZone("").As16(), m.Group.As16()
	port, session := binary.BigEndian.AppendUint16(nil, from.Port()), binary.BigEndian.AppendUint64(nil, m.Session)
	copy(c[:], auth.Key{Secret: p.secrets[age].bytes[:]}.Sum(a[:], port, session, g[:]))
	return c
}

func (p *Publisher) knows(m Message, from netip.AddrPort) bool {
	if m.Cookie == ([cookieLen]byte{}) {
		return false
	}
	for age := range p.secrets {
		if c := p.cookie(age, m, from); subtle.ConstantTimeCompare(c[:], m.Cookie[:]) == 1 {
			return true
		}
	}
	return false
}
