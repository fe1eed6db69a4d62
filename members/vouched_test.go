package members

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/vrrp"
)

// A member that hears nobody is deaf only in the eyes of those that another member hears: of two nodes, either may be the one that is broken.
func TestMachineTakesOneThatHearsNobodyForDeafWhereOthersHearEachOther(t *testing.T) {
	group, other, silent := netip.MustParseAddr("10.77.0.100"), netip.MustParseAddr("10.77.0.12"), netip.MustParseAddr("10.77.0.13")
	now := time.Unix(1000, 0)
	m := NewMachine(Config{Group: group, Address: netip.MustParseAddr("10.77.0.11"), Session: 1})
	m.Step(now, SetSelf{Self: Self{State: vrrp.Active, Priority: 100, Fit: true}})
	say := func(from netip.Addr, session uint64, nobody bool, hears ...Heard) {
		m.Step(now, Received{Source: from, Message: Message{Type: Hello, Session: session, Peer: PeerState{
			Self:  Self{State: vrrp.Backup, Fit: true, HearsNobody: nobody},
			Group: group, Lifetime: 10 * time.Second, Hears: hears,
		}}})
	}
	say(silent, 3, true)
	assert.False(t, m.Deaf(silent), "there are two of us")
	say(silent, 3, false)
	say(other, 2, false)
	assert.False(t, m.Deaf(silent), "an empty list proves nothing")
	say(silent, 3, true)
	assert.False(t, m.Deaf(silent), "the other one does not hear this node either")
	say(other, 2, false, Heard{Session: 1})
	assert.True(t, m.Deaf(silent))
	assert.Empty(t, m.Members(nil, now)[1].Peer.Code, "it may just have started")

	now = now.Add(namedAfter)
	list := m.Members(nil, now)
	assert.Equal(t, code.Deaf, list[1].Peer.Code)
	assert.True(t, list[1].Peer.Deaf)
	say(silent, 3, false, Heard{Session: 1})
	assert.False(t, m.Deaf(silent))
	assert.Empty(t, m.Members(nil, now)[1].Peer.Code)
}

// Hosts that cannot be expected to answer are not waited for. They would keep a holder in its place that answers nobody.
func TestOthersAreHostsThatWereThereAndHaveNotLeft(t *testing.T) {
	at := func(s string) netip.Addr { return netip.MustParseAddr(s) }
	there := time.Unix(1000, 0)
	holder, here, gone, left, unheard := at("10.77.0.11"), at("10.77.0.12"), at("10.77.0.13"), at("10.77.0.14"), at("10.77.0.15")
	var h Hearing
	for a, before := range map[netip.Addr]time.Duration{holder: 0, here: witnessFor - 1, gone: witnessFor, left: 0} {
		h.Spoken(a, [6]byte{2, 5: a.As4()[3]}, there.Add(-before), time.Time{})
	}
	h.Know(unheard)
	leaves := func(a netip.Addr) bool { return a == left }
	q := h.Others(holder, there, there.Add(time.Second), leaves)
	assert.Equal(t, []netip.Addr{here}, q.To)
	assert.True(t, q.Named)
	assert.Equal(t, Question{}, h.Others(holder, there.Add(1), there.Add(time.Second), leaves), "it was there too long before")
}
