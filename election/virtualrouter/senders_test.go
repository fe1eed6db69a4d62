package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
)

// A member that says that it does not hold the address is believed where another one has advertised since. Messages and advertisements come
// by different sockets: what is read last may have been said first.
func TestSendersBelieveWhoSaysThatItDoesNotHoldTheAddress(t *testing.T) {
	const ms = time.Millisecond
	now := time.Unix(1_700_000_000, 0)
	for _, tt := range []struct {
		name     string
		a, b, at time.Duration // when the two advertised, less than 0: never; and when A said so
		want     netip.Addr
	}{
		{"another one has advertised since", 0, 50 * ms, 60 * ms, nodeB},
		{"before the other one did", 0, 50 * ms, 40 * ms, nodeB},
		{"it advertised last", 50 * ms, 0, 60 * ms, nodeA},
		{"before it advertised", 50 * ms, 0, 40 * ms, nodeA},
		{"nobody else advertises", 0, -1, 60 * ms, nodeA},
		{"it has never advertised", -1, 0, 60 * ms, nodeB},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var m senders
			hear := func(source netip.Addr, priority uint8, after time.Duration) {
				if after >= 0 {
					m.hear(source, priority, 3*interval, now.Add(after))
				}
			}
			hear(nodeA, 100, tt.a)
			hear(nodeB, 1, tt.b)
			m.disclaim(nodeA, now.Add(tt.at))
			assert.Equal(t, tt.want, m.holder(now.Add(60*ms)))
			hear(nodeA, 100, 70*ms)
			assert.Equal(t, nodeA, m.holder(now.Add(70*ms)), "an advertisement counts again")
		})
	}
}

// What was found of a node is told until it advertises again, and the end of its process before anything else.
func TestSendersKeepHowANodeWasFoundToBeDead(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	gone, ended := fall{now, code.NodeGone, "no beat"}, fall{now.Add(-5 * time.Millisecond), code.ProcessEnded, "its process ended"}
	for _, order := range [][]fall{{gone, ended}, {ended, gone}} {
		var m senders
		m.hear(nodeA, 100, 3*interval, now.Add(-interval))
		for _, f := range order {
			m.fell(nodeA, f)
			m.fell(nodeB, f) // never heard
		}
		want := fall{now, ended.code, ended.how}
		assert.Equal(t, want, m.find(nodeA).fall)
		m.hear(nodeA, 100, 3*interval, now)
		assert.Equal(t, want, m.find(nodeA).fall, "an advertisement from before")
		m.hear(nodeA, 100, 3*interval, now.Add(1))
		assert.Zero(t, m.find(nodeA).fall)
		assert.Nil(t, m.find(nodeB))
	}
}
