package virtualrouter

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

// What the host does after each rival takes an Active the time in which it has to advertise.
func TestMachineManyRivalsAtOnceAreOneAnnouncement(t *testing.T) {
	m, err := newMachine(Config{Router: vrrp.Config{
		Version: 3, VRID: 51, Priority: ownerPriority, Interval: interval, Preempt: true, Source: nodeA, Addresses: []netip.Addr{vip},
	}})
	require.NoError(t, err)
	now := time.Now()
	m.Step(now, begin{})
	m.Step(now, response{})
	for range 2 {
		now = now.Add(time.Millisecond)
		ev, source := arrived{}, netip.MustParseAddr("10.88.0.1")
		for range maxMembers {
			ev.Adverts = append(ev.Adverts, Arrival{Source: source, At: now, Advertisement: vrrp.Advertisement{
				Version: 3, VRID: 51, Priority: 1, Interval: interval, Addresses: []netip.Addr{vip},
			}})
			source = source.Next()
		}
		applied := 0
		for _, a := range m.Step(now, ev) {
			if _, ok := a.(apply); ok {
				applied++
			}
		}
		assert.Equal(t, 1, applied)
	}
	assert.Equal(t, uint64(2*maxMembers), m.counters.Rivals)
}

// HELLOs of invented members, as anybody on the link can send them where there is no key.
func TestInventedMembersAreFewLines(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLAN()
		l.talk = true
		var out bytes.Buffer
		m := l.startLogging(t, nodeA, slog.New(slog.NewTextHandler(&out, nil)))
		say := func(source netip.Addr, p members.PeerState) {
			p.Group, p.Router = vip, members.Router{Version: 3, VRID: 51, Interval: interval}
			l.mail[0].put(members.Received{Source: source, Message: members.Message{Type: members.Hello, Session: 1, Peer: p}})
		}
		source := netip.MustParseAddr("10.88.0.1")
		for range 20 { // each is lost at once, and back
			source = source.Next()
			for range 3 {
				say(source, members.PeerState{Lifetime: time.Millisecond})
				time.Sleep(10 * time.Millisecond)
			}
		}
		for range 4 { // each claims the address for a while
			for range 50 {
				source = source.Next()
				from := source
				for again := range 2 {
					time.AfterFunc(time.Duration(again)*700*time.Millisecond, func() {
						say(from, members.PeerState{Self: members.Self{State: vrrp.Active, Claims: true}, Lifetime: time.Second})
					})
				}
			}
			time.Sleep(3 * time.Second)
		}
		time.Sleep(time.Minute)
		say(nodeB, members.PeerState{Node: "cp-2", Lifetime: time.Second})
		time.Sleep(time.Second + time.Millisecond)
		stopAll(t, m)
		for _, text := range []string{"a member is silent", "a member is heard again", "SPLIT", "the split is over"} {
			n := strings.Count(out.String(), "msg=\""+text)
			if text == "a member is silent" {
				n--
			}
			assert.Equal(t, election.MostLines, n, text)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		assert.Regexp(t, `a member is silent" member=10.77.0.12 node=cp-2 was=\w+ "left out before"=\d+$`, lines[len(lines)-1])
	})
}
