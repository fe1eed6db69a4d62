package spread

import (
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/members/slots"
	"github.com/keepvip/keepvip/members/subscription"
)

// fakeFollowers remember what they are told.
type fakeFollowers struct {
	mu     sync.Mutex // guards what follows
	served []netip.Addr
	wanted bool
	told   int
	newest *subscription.Report
	has    *uint32 // connections, as the follower says
	said   time.Time
}

// say is what the follower says of its connections.
func (f *fakeFollowers) say(n uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.wanted, f.has, f.said = true, &n, time.Now()
}

func (f *fakeFollowers) Serve(group netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served = append(f.served, group)
}

func (f *fakeFollowers) Drop(netip.Addr) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.served = f.served[1:]
}

func (f *fakeFollowers) Room(netip.Addr) (taken, most int) { return 2048, 2048 }

func (f *fakeFollowers) Wanted(netip.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.wanted
}

func (f *fakeFollowers) Subscribers(netip.Addr) []subscription.Subscriber {
	if !f.Wanted(netip.Addr{}) {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return []subscription.Subscriber{{Address: addr(50), Node: "w-1", Since: time.Unix(1, 0), Connections: f.has, Counted: f.said}}
}

func (f *fakeFollowers) Tell(_ netip.Addr, r *subscription.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.newest = r
	f.told++
}

// look shows what is remembered.
func (f *fakeFollowers) look() (served []netip.Addr, told int, newest *subscription.Report) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.served), f.told, f.newest
}

func TestServiceTellsFollowersOfTheMembers(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{}
	cfg.followers = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.member(13, false)
		b.begin()
		time.Sleep(settle + 10*tick)
		served, told, _ := f.look()
		assert.Equal(t, []netip.Addr{cfg.Addresses[0].Addr()}, served)
		assert.Zero(t, told, "nobody wants to know")
		assert.Empty(t, b.service.Status().Spread.Followers)

		f.mu.Lock()
		f.wanted = true
		f.mu.Unlock()
		time.Sleep(2 * tick)
		_, _, newest := f.look()
		require.NotNil(t, newest)
		got := map[string]slots.Condition{}
		for _, m := range newest.Members {
			require.Len(t, m.Ports, 1)
			assert.Equal(t, uint16(9443), m.Ports[0].Port)
			assert.Equal(t, m.Address == addr(11), m.Self)
			assert.Positive(t, m.Lifetime)
			got[m.Node] = m.Ports[0].Condition
		}
		time.Sleep(showEvery)
		assert.Equal(t, []subscription.Subscriber{{Address: addr(50), Node: "w-1", Since: time.Unix(1, 0)}}, b.service.Status().Spread.Followers)
		assert.Equal(t, map[string]slots.Condition{"n1": slots.Fit, "n2": slots.Fit, "n3": slots.Keeps}, got)

		b.service.End()
		synctest.Wait()
		time.Sleep(tick)
		_, _, newest = f.look()
		assert.Nil(t, newest, "it is in no election: it knows nothing")
		require.NoError(t, b.service.Close())
		served, _, _ = f.look()
		assert.Empty(t, served)
	})
}

// A follower that learns late of a server's death has its programs refused until then.
func TestServiceTellsOfAMemberThatIsNotFitBeforeTheKernelHasItsTable(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.followers = f
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.begin()
		time.Sleep(settle)
		conditions := func() []slots.Condition {
			_, _, newest := f.look()
			require.NotNil(t, newest)
			var out []slots.Condition
			for _, m := range newest.Members {
				out = append(out, m.Ports[0].Condition)
			}
			return out
		}
		require.Equal(t, []slots.Condition{slots.Fit, slots.Fit}, conditions())
		stuck := make(chan struct{})
		b.host.mu.Lock()
		b.host.stuck = stuck
		b.host.mu.Unlock()
		defer close(stuck)
		b.member(12, false)
		b.elector.changed <- struct{}{}
		synctest.Wait()
		assert.Equal(t, []slots.Condition{slots.Fit, slots.Keeps}, conditions())
	})
}

// A node that is restarted while another one's keepvip is, too, has never heard that one. Followers end their connections to a host that is said to be
// dead, whatever all others say.
func TestServiceTellsNobodyThatAListedMemberIsDeadWhoseHostLives(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.followers, cfg.Spread.Members = f, []netip.Addr{addr(11), addr(12), addr(13)}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.member(12, true)
		b.host.set(addr(13), true)
		b.begin()
		time.Sleep(settle)
		conditions := func() []slots.Condition {
			_, _, newest := f.look()
			require.NotNil(t, newest)
			var out []slots.Condition
			for _, m := range newest.Members {
				out = append(out, m.Ports[0].Condition)
			}
			return out
		}
		for range 50 {
			require.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Keeps}, conditions())
			time.Sleep(tick)
		}
		assert.Equal(t, map[string]int{"10.77.0.11 fit": 60, "10.77.0.12 fit": 60, "10.77.0.13 dead": 0}, b.shares(), "no packet of others goes there")
		b.host.set(addr(13), false)
		time.Sleep(2 * time.Second)
		assert.Equal(t, []slots.Condition{slots.Fit, slots.Fit, slots.Dead}, conditions())
	})
}

func TestServiceTellsAtOnceThatThisNodeIsNotFit(t *testing.T) {
	cfg, f := spreadOne(), &fakeFollowers{wanted: true}
	cfg.followers, cfg.Spread.Ports[0].Check = f, "serving"
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.good["serving"] = true
		b.begin()
		time.Sleep(settle)
		require.True(t, b.elector.own().Ports[0].Healthy)
		stuck := make(chan struct{})
		b.host.mu.Lock()
		b.host.stuck = stuck
		b.host.mu.Unlock()
		defer close(stuck)
		b.mu.Lock()
		b.good["serving"] = false
		b.mu.Unlock()
		b.service.Judged()
		synctest.Wait()
		_, _, newest := f.look()
		assert.Equal(t, slots.Keeps, newest.Members[0].Ports[0].Condition, "followers")
		assert.False(t, b.elector.own().Ports[0].Healthy, "members")
	})
}

func TestServiceShowsHowManyFollowersThereIsRoomFor(t *testing.T) {
	cfg := spreadOne()
	cfg.followers = &fakeFollowers{wanted: true}
	inBubble(t, cfg, func(t *testing.T, b *bench) {
		b.begin()
		time.Sleep(settle + tick)
		s := b.service.Status().Spread
		assert.Equal(t, 2048, s.FollowerPlaces)
		assert.True(t, s.FollowersFull)
	})
}
