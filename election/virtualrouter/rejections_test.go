package virtualrouter

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

func TestRejectionsLogOncePerReasonAndPeerInAMinute(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := newRejections(slog.New(slog.NewTextHandler(&out, nil)))
		lines := func() int { n := strings.Count(out.String(), "\n"); out.Reset(); return n }
		wrongKey := &vrrp.PacketError{Reason: vrrp.RejectMAC}
		for range 1000 {
			r.Add(nodeB, vrrp.RejectMAC, wrongKey)
			r.Add(nodeC, vrrp.RejectMAC, wrongKey)
			r.Add(nodeB, vrrp.RejectKey, &vrrp.PacketError{Reason: vrrp.RejectKey, Got: 7})
			r.Add(nodeB, vrrp.RejectChecksum, nil) // Debug: nobody has to act
		}
		assert.Equal(t, 3, lines())
		time.Sleep(59 * time.Second)
		r.Add(nodeB, vrrp.RejectMAC, wrongKey)
		assert.Zero(t, lines())
		time.Sleep(time.Second)
		r.Add(nodeB, vrrp.RejectMAC, wrongKey)
		assert.Contains(t, out.String(), "level=WARN msg=\"advertisement rejected\" from=10.77.0.12 reason=hmac error=\"vrrp: authentication code differs")
		assert.Equal(t, 1, lines())
		assert.Equal(t, map[string]uint64{"hmac": 2002, "key-id": 1000, "checksum": 1000}, r.Counts())
		list := r.List()
		require.Len(t, list, 4)
		assert.Equal(t, uint64(1002), list[0].Count)
		assert.NotEmpty(t, list[0].Remedy)
	})
}

// A flood from invented sources costs neither memory nor a line for each packet, and silences no other reason.
func TestRejectionsAreBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		r := newRejections(slog.New(slog.NewTextHandler(&out, nil)))
		from := netip.MustParseAddr("10.0.0.0")
		for range 5000 {
			from = from.Next()
			r.Add(from, vrrp.RejectAddresses, &vrrp.PacketError{Reason: vrrp.RejectAddresses})
		}
		r.Add(nodeB, vrrp.RejectMAC, nil)
		assert.Equal(t, election.MostLines+1, strings.Count(out.String(), "\n"))
		assert.Len(t, r.List(), election.MostRejections)
		assert.Equal(t, uint64(5000), r.Counts()["addresses"])
	})
}

// While a key is being introduced, an operator sees by what members still send who has to get it.
func TestElectorCountsMessagesThatEnforceWouldRefuse(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, h, others := talking(t)
		for _, w := range l.mail {
			if w.self == others[0].self {
				w.put(members.Received{Source: h.self, Doubt: members.RejectUnsigned, Message: members.Message{
					Type: members.Hello, Session: 1, Peer: members.PeerState{Self: members.Self{State: vrrp.Active, Fit: true}, Group: w.group, Lifetime: time.Second},
				}})
			}
		}
		time.Sleep(time.Millisecond)
		s := others[0].Status()
		assert.Equal(t, map[string]uint64{"replay": 3, "unsigned-permitted": 1}, s.Counters.MembersRejected)
		require.Len(t, s.Rejected, 1)
		r := s.Rejected[0]
		assert.True(t, r.Permitted)
		assert.Equal(t, h.self, r.Source)
		assert.Contains(t, r.Remedy, "the sender has no key")
		assert.Empty(t, h.Status().Rejected)
		stopAll(t, append(others, h)...)
	})
}
