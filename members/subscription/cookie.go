package subscription

import (
	"crypto/subtle"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
)

// cookies show that what is sent to an address arrives there.
type cookies struct {
	random  func() uint64
	secrets [2]secret // the one that is in use, and the one before
}

type secret struct {
	bytes [32]byte
	since time.Time
}

// renew makes cookies old.
func (c *cookies) renew(now time.Time) {
	if !c.secrets[0].since.IsZero() && now.Sub(c.secrets[0].since) < secretAge {
		return
	}
	next := secret{since: now}
	for i := 0; i < len(next.bytes); i += 8 {
		binary.BigEndian.PutUint64(next.bytes[i:], c.random())
	}
	c.secrets[1] = c.secrets[0]
	if now.Sub(c.secrets[1].since) >= 2*secretAge {
		c.secrets[1] = next
	}
	c.secrets[0] = next
}

// bake is the cookie of an address, by a secret.
func (c *cookies) bake(age int, m Message, from netip.AddrPort) (out [cookieLen]byte) {
	a, g := from.Addr().WithZone("").As16(), m.Group.As16()
	port, session := binary.BigEndian.AppendUint16(nil, from.Port()), binary.BigEndian.AppendUint64(nil, m.Session)
	copy(out[:], auth.Key{Secret: c.secrets[age].bytes[:]}.Sum(a[:], port, session, g[:]))
	return out
}

func (c *cookies) knows(m Message, from netip.AddrPort) bool {
	if m.Cookie == ([cookieLen]byte{}) {
		return false
	}
	for age := range c.secrets {
		if own := c.bake(age, m, from); subtle.ConstantTimeCompare(own[:], m.Cookie[:]) == 1 {
			return true
		}
	}
	return false
}
