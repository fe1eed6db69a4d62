package arp

import (
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// deaf is a Listener on an interface that does not exist, and what it has complained of: of complaints that nobody takes the first ones.
func deaf(t *testing.T) (*Listener, chan error) {
	failed := make(chan error, 10)
	l := NewListener(&net.Interface{Index: 1 << 30, Name: "none0"}, func(err error) {
		select {
		case failed <- err:
		default:
		}
	})
	t.Cleanup(l.Close)
	return l, failed
}

func TestListenerTellsWatchersApart(t *testing.T) {
	l, _ := deaf(t)
	a, b, c := netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.9.0.2"), netip.MustParseAddr("fd09::1")
	var heard []string
	watch := func(name string, addrs ...netip.Addr) func() {
		return l.Watch(addrs, func(c Claim) { heard = append(heard, name+" "+c.Addr.String()) })
	}
	say := func(addrs ...netip.Addr) []string {
		heard = nil
		for _, a := range addrs {
			l.dispatch(Claim{a, foreign, false})
		}
		return heard
	}
	first := watch("first", a, b, a)
	second := watch("second", b, c)
	assert.Equal(t, []string{"first 10.9.0.1", "first 10.9.0.2", "second 10.9.0.2", "second fd09::1"}, say(a, b, c))
	first()
	first()
	assert.Equal(t, []string{"second 10.9.0.2"}, say(a, b))
	second()
	assert.Empty(t, say(a, b, c))
	assert.Empty(t, l.sockets, "nothing is listened to without watchers")
	watch("third", a)
	l.Close()
	assert.Empty(t, say(a))
	watch("late", a)
	assert.Empty(t, l.sockets, "closed")
}

func TestListenerReportsOnlyChangesToThoseWhoAskForThem(t *testing.T) {
	l, _ := deaf(t)
	a, b := netip.MustParseAddr("10.9.0.1"), netip.MustParseAddr("10.9.0.2")
	other := net.HardwareAddr{2, 0, 0, 0, 0, 8}
	var heard []string
	busy := map[string]bool{}
	watch := func(name string, addrs ...netip.Addr) func() {
		return l.WatchChanges(addrs, func(c Claim) bool {
			if !busy[name] {
				heard = append(heard, name+" "+c.Addr.String()+" "+c.MAC.String())
			}
			return !busy[name]
		})
	}
	say := func(a netip.Addr, mac net.HardwareAddr) []string {
		heard = nil
		l.dispatch(Claim{a, slices.Clone(mac), false})
		return heard
	}
	stop := watch("one", a)
	every := l.Watch([]netip.Addr{a}, func(Claim) { heard = append(heard, "every") })
	assert.Equal(t, []string{"every", "one 10.9.0.1 " + foreign.String()}, say(a, foreign))
	assert.Equal(t, []string{"every"}, say(a, foreign))
	every()
	watch("two", a, b)
	assert.Equal(t, []string{"two 10.9.0.1 " + foreign.String()}, say(a, foreign), "new to whom has come since")
	assert.Empty(t, say(a, foreign))
	busy["two"] = true
	assert.Equal(t, []string{"one 10.9.0.1 " + other.String()}, say(a, other))
	busy["two"] = false
	assert.Equal(t, []string{"two 10.9.0.1 " + other.String()}, say(a, other), "what was not taken is new still")
	assert.Empty(t, say(a, other))
	assert.Len(t, say(a, foreign), 2, "back again")
	assert.Equal(t, []string{"two 10.9.0.2 " + foreign.String()}, say(b, foreign), "each address has a MAC of its own")
	stop()
	assert.Len(t, say(a, other), 1)
	l.Close()
	assert.Empty(t, say(a, foreign))
}

func TestListenerSaysWhyNothingIsHeard(t *testing.T) {
	l, failed := deaf(t)
	stop := l.Watch([]netip.Addr{netip.MustParseAddr("10.9.0.1")}, func(Claim) {})
	assert.ErrorContains(t, <-failed, "arp: listen on none0: ")
	select {
	case err := <-failed:
		assert.ErrorContains(t, err, "arp: listen on none0: ", "tried again")
	case <-time.After(20 * reopenAfter):
		assert.Fail(t, "not tried again")
	}
	stop()
}
