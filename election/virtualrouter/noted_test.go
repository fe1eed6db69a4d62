package virtualrouter

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/vrrp"
)

// A node may advertise thousands of times a second for hundreds of Virtual Routers, and hears from the members every few seconds.
func TestHandoverOwnAdvertisementsLookAtNoMember(t *testing.T) {
	l := newLink(t, 1, 200, 150)
	l.calm = true
	for _, s := range l.nodes {
		s.start()
	}
	l.run(3 * time.Second)
	s := l.nodes[0]
	require.Equal(t, election.Active, s.m.state)
	x := s.m.x
	require.Len(t, s.m.roster.list, 1)
	next := func() time.Time {
		for { // not at a time at which something is due about the members
			at, _ := s.m.router.Deadline()
			if due, _ := x.members.Deadline(); at.Before(due) {
				return at
			}
			l.run(linkInterval)
		}
	}
	at, noted := next(), &s.m.roster.list[0]
	sent := s.m.counters.Sent
	s.m.Step(at, expired{})
	assert.Equal(t, sent+1, s.m.counters.Sent)
	assert.Same(t, noted, &s.m.roster.list[0], "nothing new")

	at = next()
	rival := vrrp.Advertisement{Version: 3, VRID: 51, Priority: 150, Interval: linkInterval, Addresses: s.m.cfg.Router.Addresses}
	x.hear(Arrival{Source: l.nodes[1].self, Advertisement: rival, At: at})
	s.m.Step(at, expired{})
	assert.NotSame(t, noted, &s.m.roster.list[0], "an advertisement was heard")
}
