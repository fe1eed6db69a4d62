package virtualrouter

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/members"
	"github.com/keepvip/keepvip/vrrp"
)

func TestEqualsAreMembersOfOnePriority(t *testing.T) {
	said := func(a netip.Addr) members.Member {
		return members.Member{Address: a, Peer: members.PeerState{
			Self:     members.Self{Base: 100, Priority: 100, Fit: true, State: vrrp.Backup},
			Revision: members.RevisionPrompt,
		}}
	}
	nodeD := netip.MustParseAddr("10.77.0.14")
	none := vrrp.Equals{}
	tests := []struct {
		name   string
		change func(m *machine)
		want   vrrp.Equals
	}{
		{"all are members and equal; the greater address comes first", func(*machine) {}, vrrp.Equals{Rank: 1, Of: 2}},
		{"the greatest of three", func(m *machine) { m.source = nodeD }, vrrp.Equals{Rank: 0, Of: 2}},
		{"the Active has another priority", func(m *machine) { m.roster.list[0].Peer.Base = 101 }, none},
		{"the Active is not fit any more: it is no less equal", func(m *machine) { m.roster.list[0].Peer.Priority = 1 }, vrrp.Equals{Rank: 1, Of: 2}},
		{"the Active is of a release before", func(m *machine) { m.roster.list[0].Peer.Revision-- }, none},
		{"a Backup is of a release before", func(m *machine) { m.roster.list[1].Peer.Revision-- }, vrrp.Equals{Rank: 1, Of: 2}},
		{"another Backup has another priority", func(m *machine) { m.roster.list[1].Peer.Base = 90 }, none},
		{"another Backup has a higher one for now", func(m *machine) { m.roster.list[1].Peer.Priority = 110 }, none},
		{"another Backup is not fit", func(m *machine) { m.roster.list[1].Peer.Priority, m.roster.list[1].Peer.Fit = 1, false }, vrrp.Equals{Rank: 0, Of: 1}},
		{"another is no candidate", func(m *machine) {
			o := &m.roster.list[1].Peer
			o.NoCandidate, o.Fit, o.Base = true, false, 7 // it is never fit
		}, vrrp.Equals{Rank: 0, Of: 1}},
		{"the Active is no member", func(m *machine) { m.roster.list = m.roster.list[1:] }, none},
		{
			"somebody has advertised who is no member",
			func(m *machine) { m.heard.hear(nodeD, 90, time.Second, time.Now()) }, none,
		},
		{
			"a member that has advertised is silent now",
			func(m *machine) {
				m.heard.hear(nodeD, 100, time.Second, time.Now())
				m.roster.silent = []members.Member{said(nodeD)}
			},
			vrrp.Equals{Rank: 1, Of: 2},
		},
		{"a peer was never heard", func(m *machine) { m.cfg.Peers = []netip.Addr{nodeA, nodeB, nodeC, nodeD} }, none},
		{"the peers are the members", func(m *machine) { m.cfg.Peers = []netip.Addr{nodeA, nodeB, nodeC} }, vrrp.Equals{Rank: 1, Of: 2}},
		{"this node is not fit", func(m *machine) { m.router.Step(time.Now(), vrrp.SetPriority{Priority: 1}) }, none},
		{"plain VRRP", func(m *machine) { m.x = nil }, none},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := newMachine(Config{
				Router:  vrrp.Config{Version: 3, VRID: 51, Priority: 100, Interval: interval, Source: nodeB, Addresses: []netip.Addr{vip}},
				Members: &messageWire{}, AsMember: members.Config{Node: "b", Session: 1, RecoverHold: members.DefaultRecoverHold},
			})
			require.NoError(t, err)
			m.roster.list = []members.Member{said(nodeA), said(nodeC)}
			tt.change(m)
			assert.Equal(t, tt.want, m.equals(nodeA))
		})
	}
}

// A router that has advertised and is no member counts for long, as a Backup says nothing, and not for ever. A forged
// advertisement is one, too.
func TestEqualsForgetARouterThatIsSilentForADay(t *testing.T) {
	nodeD := netip.MustParseAddr("10.77.0.14")
	began := time.Unix(1_700_000_000, 0)
	said := func(a netip.Addr) members.Member {
		return members.Member{Address: a, Peer: members.PeerState{
			Self: members.Self{Base: 100, Priority: 100, Fit: true, State: vrrp.Backup}, Revision: members.RevisionPrompt,
		}}
	}
	advert := func(from netip.Addr, priority uint8, at time.Time) arrived {
		return arrived{Adverts: []Arrival{{Source: from, At: at, Advertisement: vrrp.Advertisement{
			Version: 3, VRID: 51, Priority: priority, Interval: interval, Addresses: []netip.Addr{vip},
		}}}}
	}
	for name, next := range map[string]func(now time.Time) event{
		"an Active is heard": func(now time.Time) event { return advert(nodeA, 100, now) },
		"something is due":   func(time.Time) event { return expired{} },
	} {
		t.Run(name, func(t *testing.T) {
			m, err := newMachine(Config{
				Router:  vrrp.Config{Version: 3, VRID: 51, Priority: 100, Interval: interval, Source: nodeB, Addresses: []netip.Addr{vip}},
				Members: &messageWire{}, AsMember: members.Config{Node: "b", Session: 1, RecoverHold: members.DefaultRecoverHold},
			})
			require.NoError(t, err)
			m.Step(began, advert(nodeD, 90, began))
			for _, want := range []struct {
				after    time.Duration
				equals   vrrp.Equals
				stranger string
				heard    bool
			}{
				{countsFor, vrrp.Equals{}, "10.77.0.14 advertises and is no member", true},
				{countsFor + 1, vrrp.Equals{Rank: 1, Of: 2}, "", false},
			} {
				now := began.Add(want.after)
				m.Step(now, next(now))
				m.roster.list = []members.Member{said(nodeA), said(nodeC)}
				assert.Equal(t, want.equals, m.equals(nodeA), want.after)
				assert.Equal(t, want.stranger, m.watch.strangers(), want.after)
				shown := slices.ContainsFunc(m.status(now).Members, func(o election.Member) bool { return o.Address == nodeD })
				assert.Equal(t, want.heard, shown, want.after)
			}
		})
	}
}

// A member that is gone for good is no stranger when it is forgotten, though it has advertised after its last message.
func TestMemberIsForgottenWithItsAdvertisements(t *testing.T) {
	m, err := newMachine(Config{
		Router:  vrrp.Config{Version: 3, VRID: 51, Priority: 100, Interval: interval, Source: nodeB, Addresses: []netip.Addr{vip}},
		Members: &messageWire{}, AsMember: members.Config{Node: "b", Session: 1, RecoverHold: members.DefaultRecoverHold},
	})
	require.NoError(t, err)
	began := time.Unix(1_700_000_000, 0)
	live := []members.Member{{Address: nodeC}}
	m.roster.update(began, []members.Member{{Address: nodeA, Heard: began}, live[0]})
	m.heard.hear(nodeA, 100, 4*interval, began.Add(900*time.Millisecond))
	for now := began.Add(time.Minute); now.Before(began.Add(rememberFor + time.Minute)); now = now.Add(time.Second) {
		m.heard.age(now)
		m.roster.update(now, slices.Clone(live))
		require.Empty(t, m.watch.strangers(), now.Sub(began))
	}
	assert.False(t, m.roster.has(nodeA))
	assert.Empty(t, m.heard.list)
}

// When a node dies its equals do not wait for a Skew_Time, and exactly one takes over: the one with the greatest address.
func TestMachinesEqualTakesOverWithoutSkewTime(t *testing.T) {
	for seed := range uint64(60) {
		priorities := [][]uint8{{100, 100}, {100, 100, 100}, {100, 100, 100, 100, 100}}[seed%3]
		l := newLink(t, seed, priorities...)
		l.calm = true
		for _, s := range l.nodes {
			s.start()
		}
		l.run(3*time.Second + l.upTo(linkInterval))
		old := l.holder()
		require.NotNil(t, old, "seed %d", seed)
		var next *station
		took := map[*station]uint64{}
		for _, s := range l.nodes {
			if took[s] = s.m.counters.Takeovers; s != old {
				next = s
			}
		}
		died := l.now
		old.kill()
		for next.m.state != election.Active && l.now.Sub(died) < time.Second {
			l.run(time.Millisecond)
		}
		assert.LessOrEqual(t, l.now.Sub(died), 3*linkInterval+3*time.Millisecond, "seed %d", seed)
		l.run(time.Second)
		assert.Equal(t, []string{next.self.String()}, l.answering(), "seed %d", seed)
		for _, s := range l.nodes {
			if s != old && s != next {
				assert.Equal(t, took[s], s.m.counters.Takeovers, "seed %d: %s took over, too", seed, s.self)
			}
		}
	}
}
