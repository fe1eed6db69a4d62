package virtualrouter

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
