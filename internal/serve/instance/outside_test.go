package instance

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
)

var nodeC = netip.MustParseAddr("10.77.0.13")

// visitor connects as the test says.
type visitor struct {
	mu     sync.Mutex // guards what follows
	why    string
	known  bool
	looks  int
	holder netip.Addr
}

func (c *visitor) Connect(_ context.Context, _ Place, holder election.Member) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.looks++
	c.holder = holder.Address
	return c.why, c.known
}

func (c *visitor) set(why string, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.why, c.known, c.looks = why, known, 0
}

func (c *visitor) visited() netip.Addr {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holder
}

func (c *visitor) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.looks
}

// heldByB is the election of node A, where node B holds the address, and C is a backup.
func heldByB(s *election.Status) {
	s.State, s.Holder = election.Backup, nodeB
	s.Members = []election.Member{
		{Address: nodeA, Self: true, Node: "n1", Fit: new(true), State: election.Backup},
		{Address: nodeB, Node: "n2", Fit: new(true), State: election.Active},
		{Address: nodeC, Node: "n3", Fit: new(true), State: election.Backup},
	}
}

// looking runs an instance of which another node holds the address, and that looks at it from outside.
func looking(t *testing.T, sure bool, test func(t *testing.T, b *bench, e *fakeElector, c *visitor)) {
	c := &visitor{known: true}
	run(t, nil, func(cfg *Config) { cfg.Outside = &Outside{Connect: c.Connect, Sure: sure} }, func(t *testing.T, b *bench) {
		e := <-b.electors
		e.set(heldByB)
		require.NoError(t, e.decide(election.Standby, nodeB))
		time.Sleep(time.Second) // no beat is at the moment of something else
		test(t, b, e, c)
	})
}

func TestHolderThatIsNotReachedFromOutsideIsNamed(t *testing.T) {
	looking(t, false, func(t *testing.T, b *bench, e *fakeElector, c *visitor) {
		time.Sleep(3 * beatEvery)
		assert.Zero(t, e.told())
		assert.Equal(t, nodeB, c.visited())
		assert.Empty(t, b.Status()[0].Unreached)

		c.set("10.77.0.100:6443 does not answer", true)
		time.Sleep(beatEvery + outsideAgain/2)
		assert.Zero(t, e.told(), "a packet may be lost")
		time.Sleep(beatEvery)
		assert.Equal(t, election.Unreached{Holder: nodeB}, e.told())
		e.set(func(s *election.Status) {
			s.Outside = []election.Outsider{{Node: election.Node{Address: nodeA, Name: "n1"}, Self: true}, {Node: election.Node{Address: nodeC, Name: "n3"}}}
		})
		assert.Contains(t, b.Status()[0].Unreached, "this node and n3 (10.77.0.13) cannot connect to the address at its holder")
		assert.Contains(t, b.Status()[0].Unreached, "10.77.0.100:6443 does not answer")
		time.Sleep(10 * beatEvery)
		assert.Equal(t, 1, strings.Count(b.log.String(), "code=KV344"))
		assert.LessOrEqual(t, c.count(), 16, "no storm")

		c.set("", true)
		e.set(func(s *election.Status) { s.Outside = s.Outside[:1] })
		time.Sleep(2 * beatEvery)
		assert.Zero(t, e.told())
		e.set(func(s *election.Status) { s.Outside = nil })
		time.Sleep(2 * beatEvery)
		assert.Empty(t, b.Status()[0].Unreached)
		assert.Equal(t, 1, strings.Count(b.log.String(), "is served where it is held"))
	})
}

func TestHolderThatWasNeverReached(t *testing.T) {
	for _, sure := range []bool{false, true} {
		t.Run(fmt.Sprintf("the port is sure: %v", sure), func(t *testing.T) {
			looking(t, sure, func(t *testing.T, _ *bench, e *fakeElector, c *visitor) {
				c.set("10.77.0.100:6443 refuses connections", true)
				time.Sleep(4 * beatEvery)
				if sure {
					assert.Equal(t, election.Unreached{Holder: nodeB, Never: true}, e.told(), "it is named, and nothing moves for it")
				} else {
					assert.Zero(t, e.told(), "that port may be of a check alone")
				}
			})
		})
	}
}

// What cannot be tried says nothing; another holder begins anew; and a node that is no backup, or whose holder says itself that something is wrong, does
// not look.
func TestLooksFromOutsideSayNothingOfWhatIsKnownOrUnknown(t *testing.T) {
	for name, change := range map[string]func(*election.Status){
		"the holder is not fit":              func(s *election.Status) { s.Members[1].Fit = new(false) },
		"the holder names a fault":           func(s *election.Status) { s.Members[1].Unfit = "IPv6 is off" },
		"the holder is silent":               func(s *election.Status) { s.Members[1].Silence() },
		"nobody is known to hold it":         func(s *election.Status) { s.Holder = netip.Addr{} },
		"it is out":                          func(s *election.Status) { s.State = election.Initialize },
		"a router of VRRP alone is not well": func(s *election.Status) { s.Members[1].Fit, s.Members[1].Priority = nil, 1 },
	} {
		t.Run(name, func(t *testing.T) {
			looking(t, true, func(t *testing.T, _ *bench, e *fakeElector, c *visitor) {
				time.Sleep(2 * beatEvery)
				e.set(change)
				c.set("it does not answer", true)
				time.Sleep(6 * beatEvery)
				assert.Zero(t, c.count())
				assert.Zero(t, e.told())
			})
		})
	}
	t.Run("it cannot be tried", func(t *testing.T) {
		looking(t, true, func(t *testing.T, _ *bench, e *fakeElector, c *visitor) {
			c.set("", false)
			time.Sleep(6 * beatEvery)
			assert.NotZero(t, c.count())
			assert.Zero(t, e.told())
		})
	})
	t.Run("another holder", func(t *testing.T) {
		looking(t, true, func(t *testing.T, _ *bench, e *fakeElector, c *visitor) {
			time.Sleep(2 * beatEvery)
			c.set("it does not answer", true)
			time.Sleep(2 * beatEvery)
			require.Equal(t, nodeB, e.told().Holder)
			c.set("", true)
			e.set(func(s *election.Status) {
				s.Holder, s.Members[1].State, s.Members[2].State = nodeC, election.Backup, election.Active
			})
			time.Sleep(2 * beatEvery)
			assert.Zero(t, e.told())
		})
	})
}

// A holder has two visitors a beat, however many members there are, and each member is one of them now and then.
func TestLooksFromOutsideComeByTurns(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var all []election.Member
		for i := range n {
			all = append(all, election.Member{Address: netip.AddrFrom4([4]byte{10, 77, 0, byte(11 + i)}), Fit: new(false), State: election.Backup})
		}
		all = append(all, election.Member{Address: nodeA.Next().Next().Next(), Fit: new(false), State: election.Active})
		for _, beats := range []int{1, 4} {
			visits := map[netip.Addr]int{}
			for beat := range 360 {
				now, visitors := time.Unix(int64(beat)*5, 1), 0
				for i := range n {
					seen := append([]election.Member{}, all...)
					seen[i].Self = true
					if lookTurn(seen, now, beats, []netip.Prefix{vip}) {
						visitors++
						visits[all[i].Address]++
					}
				}
				assert.Contains(t, []int{0, min(n, outsideTurns)}, visitors, "n %d", n)
			}
			for a, times := range visits {
				assert.InDelta(t, 360/beats*min(n, outsideTurns)/n, times, 3, "%s of %d, %d beats", a, n, beats)
			}
			assert.Len(t, visits, n)
		}
	}
}
