package raft

import (
	"bytes"
	"fmt"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
)

var group = netip.MustParseAddr("10.77.0.100")

func spreadHere() *election.Spread {
	return &election.Spread{
		Weight: 100, MAC: [6]byte{2, 0, 0, 0, 0, 1}, Address: netip.MustParseAddr("10.78.0.11"), Other: netip.MustParseAddr("fd77::11"),
		Serves: netip.MustParseAddr("10.78.0.12"),
		Ports:  []election.SpreadPort{{Protocol: 6, Port: 8443, Healthy: true, Connections: 7}},

		Translates: true, LacksHolder: true,
		Left: []election.Left{{Member: addr(1), Connections: 3}},
	}
}

// heardSpread is what is known after the elector has set what it sets.
func heardSpread() *election.Spread {
	s := spreadHere()
	s.Fit, s.Every = true, 100*time.Millisecond
	return s
}

// spreading are three of which each hears that the others spread.
func spreading(t *testing.T) (l *lan, hosts []*host) {
	l = newLan(t, 3)
	l.settle()
	for i := range 3 {
		h := l.hosts[addr(i)]
		h.elector.SetSpread(spreadHere())
		hosts = append(hosts, h)
	}
	time.Sleep(2*time.Second + 30*time.Millisecond)
	for _, h := range hosts {
		h.changed()
	}
	return l, hosts
}

// changed tells whether the elector has said that members are others than before.
func (h *host) changed() bool {
	synctest.Wait()
	select {
	case <-h.elector.MembersChanged():
		return true
	default:
		return false
	}
}

func TestSpreadIsHeardByAll(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, hosts := spreading(t)
		defer l.stopAll()
		for range 100 {
			time.Sleep(17 * time.Millisecond)
			for _, h := range hosts {
				for _, o := range hosts {
					assert.Equal(t, heardSpread(), h.seen(o).Spread)
					assert.NotEqual(t, election.Silent, h.seen(o).State)
				}
				assert.False(t, h.changed(), "nothing has")
			}
		}
	})
}

// What changes is heard at once; how many connections there are, within a round.
func TestSpreadChangesAreHeardAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, hosts := spreading(t)
		defer l.stopAll()
		one := hosts[1]
		step := func(wake bool, do func(), want func(election.Member)) {
			t.Helper()
			do()
			time.Sleep(10 * time.Millisecond)
			if !wake {
				time.Sleep(100 * time.Millisecond)
			}
			for _, h := range []*host{hosts[0], hosts[2]} {
				want(h.seen(one))
				assert.Equal(t, wake, h.changed())
			}
			time.Sleep(time.Second)
		}
		s := spreadHere()
		s.Ports[0].Connections = 99
		step(false, func() { one.elector.SetSpread(s) }, func(m election.Member) {
			assert.Equal(t, uint32(99), m.Spread.Ports[0].Connections)
		})
		s = spreadHere()
		s.Ports[0].Healthy = false
		step(true, func() { one.elector.SetSpread(s) }, func(m election.Member) { assert.False(t, m.Spread.Ports[0].Healthy) })
		step(true, func() { one.elector.SetSpread(nil) }, func(m election.Member) { assert.Nil(t, m.Spread) })
		step(true, func() { one.elector.SetSpread(spreadHere()) }, func(m election.Member) { assert.Equal(t, heardSpread(), m.Spread) })
		step(true, func() { one.fit(election.Fitness{Less: 254, Reason: "refused"}) }, func(m election.Member) {
			assert.False(t, *m.Fit || m.Spread.Fit)
		})
		step(true, func() { one.fit(election.Fitness{}) }, func(m election.Member) { assert.True(t, *m.Fit && m.Spread.Fit) })
	})
}

// One that dies is silent for those that spread before it is for others, and what it said is kept.
func TestSpreadOfASilentMemberIsKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, hosts := spreading(t)
		defer l.stopAll()
		dead := hosts[1]
		if dead.answers() {
			dead = hosts[2]
		}
		dead.crash()
		time.Sleep(510 * time.Millisecond)
		for _, wait := range []time.Duration{0, time.Second, 5 * time.Minute} {
			time.Sleep(wait)
			for _, h := range hosts {
				if h == dead {
					continue
				}
				assert.Equal(t, election.Silent, h.seen(dead).State)
				assert.Equal(t, heardSpread(), h.seen(dead).Spread)
				assert.Equal(t, wait == 0, h.changed(), "once")
			}
		}
	})
}

// A member that does not spread is one that says nothing of it, and is silent as late as ever.
func TestSpreadBesideAMemberThatDoesNot(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, hosts := spreading(t)
		defer l.stopAll()
		old := hosts[1]
		if old.answers() {
			old = hosts[2]
		}
		old.elector.SetSpread(nil)
		time.Sleep(10 * time.Second)
		old.changed()
		time.Sleep(time.Second)
		assert.False(t, old.changed())
		old.crash()
		time.Sleep(900 * time.Millisecond)
		for _, h := range hosts {
			if h != old {
				assert.Nil(t, h.seen(old).Spread)
				assert.NotEqual(t, election.Silent, h.seen(old).State)
			}
		}
	})
}

func TestMessageRefusesASpreadThatNobodyCan(t *testing.T) {
	for name, spoil := range map[string]func(*message){
		"no group":              func(m *message) { m.Spread[0].Group = netip.Addr{} },
		"a group twice":         func(m *message) { m.Spread = append(m.Spread, m.Spread[0]) },
		"port 0":                func(m *message) { m.Spread[0].Ports[0].Port = 0 },
		"a port twice":          func(m *message) { m.Spread[0].Ports = append(m.Spread[0].Ports, m.Spread[0].Ports[0]) },
		"too many ports":        func(m *message) { m.Spread[0].Ports = ports(election.MostSpreadPorts + 1) },
		"too many groups":       func(m *message) { m.Spread = groups(maxSpread + 1) },
		"an address of many":    func(m *message) { m.Spread[0].Other = netip.MustParseAddr("ff02::12") },
		"an address of nobody":  func(m *message) { m.Spread[0].Address = netip.IPv4Unspecified() },
		"an address with zone":  func(m *message) { m.Spread[0].Other = netip.MustParseAddr("fe80::1%eth0") },
		"served by many":        func(m *message) { m.Spread[0].Serves = netip.MustParseAddr("ff02::12") },
		"a MAC of many":         func(m *message) { m.Spread[0].MAC[0] = 1 },
		"too many left":         func(m *message) { m.Spread[0].Left = mostLeft(election.MostLeft + 1) },
		"left twice":            func(m *message) { m.Spread[0].Left = append(m.Spread[0].Left, m.Spread[0].Left...) },
		"left of nobody":        func(m *message) { m.Spread[0].Left = []election.Left{{}} },
		"a client of nobody":    func(m *message) { m.Spread[0].Clients = []election.Client{{Port: 6443}} },
		"a client of no port":   func(m *message) { m.Spread[0].Clients = []election.Client{{At: someClients(1)[0].At}} },
		"left, not translated":  func(m *message) { m.Spread[0].Translates = false },
		"in the past each time": func(m *message) { m.Spread[0].Every = -1 },
	} {
		t.Run(name, func(t *testing.T) {
			m := message{Kind: askHello, From: addr(0), Spread: []spread{{group, *spreadHere()}}}
			require.NoError(t, m.validate())
			spoil(&m)
			assert.ErrorIs(t, m.validate(), errSpread)
		})
	}
}

func ports(n int) (list []election.SpreadPort) {
	for i := range n {
		list = append(list, election.SpreadPort{Protocol: 17, Port: uint16(65535 - i), Healthy: true, Connections: 1<<32 - 1})
	}
	return list
}

func someClients(n int) (list []election.Client) {
	for i := range n {
		at := netip.MustParseAddr(fmt.Sprintf("2001:db8:aaaa:bbbb:cccc:dddd:eeee:%x", 0xd000+i))
		list = append(list, election.Client{At: netip.AddrPortFrom(at, 65535), Port: 65535})
	}
	return list
}

func mostLeft(n int) (list []election.Left) {
	for i := range n {
		list = append(list, election.Left{Member: netip.MustParseAddr(fmt.Sprintf("2001:db8:aaaa:bbbb:cccc:dddd:eeee:%x", 0xe000+i)), Connections: 1<<32 - 1})
	}
	return list
}

func groups(n int) (list []spread) {
	for i := range n {
		s := *spreadHere()
		s.MAC, s.Ports, s.Every = [6]byte{254, 255, 255, 255, 255, 255}, ports(election.MostSpreadPorts), time.Second
		s.Left, s.Clients = mostLeft(election.MostLeft), someClients(clientsAtOnce/n)
		s.Address, s.Other = netip.MustParseAddr("fe80::aaaa:bbbb:cccc:dddd"), netip.MustParseAddr("255.255.255.254")
		s.Serves = netip.MustParseAddr("2001:db8:aaaa:bbbb:cccc:dddd:ffff:ffff")
		list = append(list, spread{netip.MustParseAddr(fmt.Sprintf("2001:db8:aaaa:bbbb:cccc:dddd:eeee:%x", 0xf000+i)), s})
	}
	return list
}

func TestMessageHasRoomForTheMostThatIsSpread(t *testing.T) {
	give := message{Kind: askHello, From: addr(0), Spread: groups(maxSpread)}
	var wire bytes.Buffer
	require.NoError(t, writeMessage(&wire, give))
	assert.Less(t, wire.Len(), maxFrame-4<<10, "beside what else there is")
	got, err := readMessage(&wire)
	require.NoError(t, err)
	assert.Equal(t, give, got)
	wire.Reset()
	require.NoError(t, writeMessage(&wire, message{Kind: askHello, From: addr(0)}))
	assert.NotContains(t, wire.String(), "spread", "not a byte of it where nothing is spread")
}

// A message has room for some of them, and all are said by turns.
func TestClientsAreSaidByTurns(t *testing.T) {
	all := append(someClients(200), election.Client{Port: 6443})
	const pace, most = 100 * time.Millisecond, 30
	began, heard := time.Now(), map[election.Client]int{}
	for round := range 7 {
		list := due(all, began.Add(time.Duration(round)*pace), pace, most)
		assert.LessOrEqual(t, len(list), most)
		for _, c := range list {
			heard[c]++
		}
	}
	assert.Len(t, heard, 200, "what nobody can send to is left out")
	for c, times := range heard {
		assert.Equal(t, 1, times, "%v", c)
	}
}

// Members that are well known need to speak half as often, but not where they spread.
func TestMembersThatSpreadSpeakAtTheirPaceHoweverLongTheHeartbeat(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := newLan(t, 3)
		l.heartbeat = mostHeartbeat
		for _, h := range l.hosts {
			h.cfg.Heartbeat = l.heartbeat
		}
		l.bootAll()
		defer l.stopAll()
		l.await(time.Minute)
		time.Sleep(time.Minute)
		one, other, heard := l.hosts[addr(0)], l.hosts[addr(1)], map[election.Client]bool{}
		s := spreadHere()
		s.Clients = someClients(2 * clientsAtOnce)
		for _, h := range l.hosts {
			h.elector.SetSpread(s)
		}
		time.Sleep(10 * time.Second)
		for range 200 {
			time.Sleep(50 * time.Millisecond)
			m := other.seen(one)
			require.NotNil(t, m.Spread)
			require.LessOrEqual(t, time.Since(m.LastHeard), m.Spread.Every+20*time.Millisecond)
			for _, c := range m.Spread.Clients {
				heard[c] = true
			}
		}
		assert.Len(t, heard, 2*clientsAtOnce)
	})
}

func TestClientsOfAMemberAreHeard(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l, hosts := spreading(t)
		defer l.stopAll()
		one, heard := hosts[0], map[election.Client]bool{}
		s := spreadHere()
		s.Clients = someClients(200)
		one.elector.SetSpread(s)
		for range 50 {
			time.Sleep(50 * time.Millisecond)
			for _, c := range hosts[1].seen(one).Spread.Clients {
				heard[c] = true
			}
		}
		assert.Len(t, heard, 200)
	})
}
