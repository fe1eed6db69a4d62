//go:build netns

package arp

import (
	"net/netip"
	"runtime/pprof"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

func TestEarsTellWhetherAnybodyAnswers(t *testing.T) {
	for name, a := range map[string]struct{ own, client, nobody, otherFamily string }{
		"IPv4": {"10.9.0.11", "10.9.0.1", "10.9.0.77", "fd09::77"},
		"IPv6": {"fd09::11", "fd09::1", "fd09::77", "10.9.0.77"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLAN(t)
			n := &l.nodes[0]
			var e *Ears
			n.In(func() {
				var err error
				e, err = OpenEars(&n.ifi, netip.MustParseAddr(a.own))
				require.NoError(t, err)
			})
			t.Cleanup(func() { _ = e.Close() })
			answers := func(address string) bool { return e.Answers(netip.MustParseAddr(address), 2, time.Millisecond) }
			assert.True(t, e.Answers(netip.MustParseAddr(a.client), int(netnstest.Patience/time.Millisecond), 2*time.Millisecond), "a host that is there")
			assert.False(t, answers(a.nobody), "nobody has it")
			assert.True(t, answers(a.otherFamily), "it cannot be asked for")
			n.In(func() { require.NoError(t, netlink.LinkSetDown(n.Link("eth0"))) })
			assert.True(t, answers(a.nobody), "no question leaves")
		})
	}
}

// A node that takes over many addresses asks for all of them in the same moment. Questions that wait must not keep the threads from what follows them.
func TestManyQuestionsWaitInOneThread(t *testing.T) {
	const many = 64
	l := newLAN(t)
	n := &l.nodes[0]
	var e *Ears
	n.In(func() {
		var err error
		e, err = OpenEars(&n.ifi, netip.MustParseAddr("10.9.0.11"))
		require.NoError(t, err)
	})
	t.Cleanup(func() { _ = e.Close() })
	before := threads()
	var asking sync.WaitGroup
	for i := range many {
		asking.Go(func() {
			assert.False(t, e.Answers(netip.AddrFrom4([4]byte{10, 9, 0, byte(100 + i)}), 1, 300*time.Millisecond))
		})
	}
	asking.Wait()
	assert.Less(t, threads()-before, many/4)
}

// threads is how many of them the runtime has made.
func threads() int { return pprof.Lookup("threadcreate").Count() }

// An answer is one for all that share the ears; what a host says by itself is none.
func TestEarsTellAnswersFromOtherWords(t *testing.T) {
	l := newLAN(t)
	n, host := &l.nodes[0], netip.MustParseAddr("10.9.0.1")
	var e *Ears
	n.In(func() {
		var err error
		e, err = OpenEars(&n.ifi, netip.MustParseAddr("10.9.0.11"))
		require.NoError(t, err)
	})
	t.Cleanup(func() { _ = e.Close() })
	began := time.Now()
	heard := func() (at, answered time.Time) {
		e.Heard(began, func(c Claim, when, told time.Time) {
			if c.Addr == host {
				at, answered = when, told
			}
		})
		return at, answered
	}
	require.NoError(t, l.open(&l.nodes[1]).Announce(host))
	require.Eventually(t, func() bool { at, _ := heard(); return !at.IsZero() }, netnstest.Patience, time.Millisecond)
	_, answered := heard()
	assert.Zero(t, answered, "a claim that nobody has asked for")
	e.Ask([]netip.Addr{host}, true, 0)
	require.Eventually(t, func() bool { _, answered = heard(); return !answered.IsZero() }, netnstest.Patience, time.Millisecond)
	assert.True(t, answered.After(began))
}

// A word that came in while nobody looked is as old as it is. A node that has become deaf, and asks for the first time, must not take what was said before
// for a sound.
func TestEarsHearWhenAWordArrivedAndNotWhenItWasRead(t *testing.T) {
	for name, a := range map[string]struct{ own, speaker, nobody string }{
		"IPv4": {"10.9.0.11", "10.9.0.12", "10.9.0.77"},
		"IPv6": {"fd09::11", "fd09::12", "fd09::77"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLAN(t)
			n, speaker := &l.nodes[0], netip.MustParseAddr(a.speaker)
			var e *Ears
			n.In(func() {
				var err error
				e, err = OpenEars(&n.ifi, netip.MustParseAddr(a.own))
				require.NoError(t, err)
			})
			t.Cleanup(func() { _ = e.Close() })
			c := l.open(&l.nodes[1])
			time.Sleep(100 * time.Millisecond) // a kernel begins to date frames soon after the first socket of the host wants it
			opened := time.Now()
			wait := unix.NsecToTimespec(int64(netnstest.Patience))
			require.NoError(t, c.Announce(speaker))
			waiting, err := unix.Ppoll([]unix.PollFd{{Fd: e.descriptor(), Events: unix.POLLIN}}, &wait, nil)
			require.NoError(t, err)
			require.Equal(t, 1, waiting, "the word is in the socket")
			time.Sleep(50 * time.Millisecond) // and stays there for a while, all of it

			asked := time.Now()
			e.Ask([]netip.Addr{netip.MustParseAddr(a.nobody)}, true, 0)
			var at time.Time
			e.Heard(opened, func(c Claim, when, _ time.Time) {
				if c.Addr == speaker {
					at = when
				}
			})
			assert.True(t, at.After(opened), "it is heard")
			assert.False(t, at.After(asked), "it came before the question, and is read after it")
		})
	}
}
