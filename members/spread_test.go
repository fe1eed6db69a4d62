package members

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/vrrp"
)

// spread has a value in each place.
func spread() *Spread {
	return &Spread{
		Fit: true, Weight: 200, MAC: [6]byte{0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee}, Other: netip.MustParseAddr("fd77::11"),
		Ports: []SpreadPort{{Protocol: 6, Port: 8443, Healthy: true, Connections: 1234}, {Protocol: 17, Port: 53}},

		Translates: true,
		Left:       []Left{{Member: netip.MustParseAddr("10.77.0.12"), Connections: 5}},
	}
}

// spreadByIPv6 is of a member that speaks from a link-local address, with a value in each place.
func spreadByIPv6() *Spread {
	s := spread()
	s.Other, s.Serves = netip.MustParseAddr("10.77.0.11"), netip.MustParseAddr("fd77::11")
	return s
}

func mostPorts() (list []SpreadPort) {
	for i := range MostSpreadPorts {
		list = append(list, SpreadPort{Protocol: 6, Port: uint16(6443 + i), Healthy: true, Connections: 1 << 31})
	}
	return list
}

func mostLeft() (list []Left) {
	for i := range MostLeft {
		list = append(list, Left{Member: netip.MustParseAddr(fmt.Sprintf("fd77::%d", 11+i)), Connections: 1 << 31})
	}
	return list
}

func TestSpreadIsAlike(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Spread)
		want   bool
	}{
		"nothing":          {func(*Spread) {}, true},
		"connections":      {func(s *Spread) { s.Ports[0].Connections++ }, true},
		"what is left":     {func(s *Spread) { s.Left[0].Connections++ }, true},
		"no more left":     {func(s *Spread) { s.Left = nil }, true},
		"not translated":   {func(s *Spread) { s.Translates, s.Left = false, nil }, false},
		"fit":              {func(s *Spread) { s.Fit = false }, false},
		"weight":           {func(s *Spread) { s.Weight = 0 }, false},
		"MAC":              {func(s *Spread) { s.MAC[5]++ }, false},
		"other address":    {func(s *Spread) { s.Other = netip.Addr{} }, false},
		"where it serves":  {func(s *Spread) { s.Other, s.Serves = netip.Addr{}, s.Other }, false},
		"health":           {func(s *Spread) { s.Ports[0].Healthy = false }, false},
		"a port less":      {func(s *Spread) { s.Ports = s.Ports[:1] }, false},
		"lacks the holder": {func(s *Spread) { s.LacksHolder = true }, false},
		"another port":     {func(s *Spread) { s.Ports[1].Port = 54 }, false},
		"by TCP, not UDP":  {func(s *Spread) { s.Ports[1].Protocol = 6 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := spread(), spread()
			tt.change(b)
			assert.Equal(t, tt.want, a.Alike(b))
			assert.Equal(t, tt.want, b.Alike(a))
		})
	}
	assert.False(t, spread().Alike(nil))
	assert.False(t, (*Spread)(nil).Alike(spread()))
	assert.True(t, (*Spread)(nil).Alike(nil))
}

// said are the HELLOs of a Step.
func said(actions []Action) (list []PeerState) {
	for _, a := range actions {
		if s, ok := a.(Send); ok && s.Message.Type == Hello {
			list = append(list, s.Message.Peer)
		}
	}
	return list
}

// spreading is a Backup that has said for the last time that it spreads.
func spreading(t *testing.T, cfg Config, interval time.Duration) (m *Machine, now time.Time) {
	t.Helper()
	cfg.Group, cfg.Address, cfg.Session = group, nodeA, 0xa
	m, now = NewMachine(cfg), epoch.Add(time.Minute)
	m.Step(now, SetSelf{Self: Self{
		State: vrrp.Backup, Base: 100, Priority: 100, Fit: true, Router: Router{Version: 3, VRID: 51, Interval: interval}, Spread: spread(),
	}})
	for range repeats {
		now, _ = m.Deadline()
		require.Len(t, said(m.Step(now, Expired{})), 1)
	}
	return m, now
}

// with is the machine's Self with another Spread.
func with(m *Machine, s *Spread) SetSelf {
	self := m.known.own.self
	self.Spread = s
	return self
}

// hellos counts those that a machine says by itself in a while, and the longest time between two.
func hellos(m *Machine, now time.Time, while time.Duration) (n int, gap time.Duration) {
	last := now
	for end := now.Add(while); ; {
		at, ok := m.Deadline()
		if !ok || at.After(end) {
			return n, gap
		}
		if len(said(m.Step(at, Expired{}))) > 0 {
			n, gap, last = n+1, max(gap, at.Sub(last)), at
		}
	}
}

func TestMachineThatSpreadsSaysHelloWithEachInterval(t *testing.T) {
	for name, tt := range map[string]struct {
		cfg             Config
		interval        time.Duration
		every, lifetime time.Duration
	}{
		"the default interval":           {Config{}, 100 * ms, 100 * ms, 350 * ms},
		"a short interval":               {Config{}, 20 * ms, 100 * ms, 350 * ms},
		"a longer interval":              {Config{}, 250 * ms, 250 * ms, 875 * ms},
		"a long interval":                {Config{}, 10 * time.Second, time.Second, 3500 * ms},
		"unknown interval":               {Config{}, 0, 100 * ms, 350 * ms},
		"many groups that spread":        {Config{Every: 4 * time.Second, SpreadEvery: time.Second}, 100 * ms, time.Second, 3500 * ms},
		"too many groups":                {Config{Every: 4 * time.Second, SpreadEvery: 10 * time.Second}, 100 * ms, 4 * time.Second, 14 * time.Second},
		"more than the wire has room to": {Config{Every: time.Minute, SpreadEvery: time.Minute}, 100 * ms, longestEvery, 52500 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			m, now := spreading(t, tt.cfg, tt.interval)
			n, gap := hellos(m, now, 20*tt.every)
			assert.InDelta(t, 20, n, 1)
			assert.LessOrEqual(t, gap, tt.every)
			last := said(m.Step(now.Add(21*tt.every), Expired{}))
			require.Len(t, last, 1)
			assert.Equal(t, tt.lifetime, last[0].Lifetime)
			assert.Equal(t, spread(), last[0].Spread)
		})
	}
}

// Nothing is different for a node that does not spread, or not any more.
func TestMachineThatDoesNotSpreadSaysHelloEachSecond(t *testing.T) {
	m, now := spreading(t, Config{SpreadEvery: 100 * ms}, 100*ms)
	off := said(m.Step(now, with(m, nil)))
	require.Len(t, off, 1, "it is said at once")
	assert.Nil(t, off[0].Spread)
	n, gap := hellos(m, now, 20*time.Second)
	assert.InDelta(t, 20+len(repeats), n, 1)
	assert.Equal(t, time.Second, gap)
	assert.Equal(t, 3500*ms, m.known.own.peerState().Lifetime)
	b, err := m.known.message(Hello, Transfer{}).Append(nil, 1)
	require.NoError(t, err)
	before := NewMachine(Config{Group: group, Address: nodeA, Session: 0xa})
	before.Step(now, m.known.own.self)
	want, err := before.known.message(Hello, Transfer{}).Append(nil, 1)
	require.NoError(t, err)
	assert.Equal(t, want, b, "byte for byte as one that never did")
}

// What changes where packets go is said at once, and twice more; how many connections there are goes with the next HELLO.
func TestMachineSaysChangesOfSpreadAtOnce(t *testing.T) {
	m, now := spreading(t, Config{}, 100*ms)
	next, _ := m.Deadline()
	counted := spread()
	counted.Ports[0].Connections = 99
	assert.Empty(t, m.Step(now.Add(ms), with(m, counted)))
	due, _ := m.Deadline()
	assert.Equal(t, next, due)
	list := said(m.Step(next, Expired{}))
	require.Len(t, list, 1)
	assert.Equal(t, uint32(99), list[0].Spread.Ports[0].Connections)

	unhealthy := spread()
	unhealthy.Ports[0].Healthy = false
	now = next.Add(ms)
	list = said(m.Step(now, with(m, unhealthy)))
	require.Len(t, list, 1)
	assert.False(t, list[0].Spread.Ports[0].Healthy)
	for _, after := range repeats {
		due, _ = m.Deadline()
		assert.Equal(t, now.Add(after), due)
		assert.Len(t, said(m.Step(due, Expired{})), 1)
	}
}

// What no message can carry must not keep all messages from leaving.
func TestMachineLeavesOutASpreadThatCannotBeSaid(t *testing.T) {
	for name, spoil := range map[string]func(*Spread){
		"too many ports":         func(s *Spread) { s.Ports = append(mostPorts(), SpreadPort{Protocol: 17, Port: 53}) },
		"port 0":                 func(s *Spread) { s.Ports[0].Port = 0 },
		"too many left":          func(s *Spread) { s.Left = append(mostLeft(), s.Left...) },
		"left twice":             func(s *Spread) { s.Left = append(s.Left, s.Left...) },
		"left of nobody":         func(s *Spread) { s.Left[0].Member = netip.Addr{} },
		"left, not translated":   func(s *Spread) { s.Translates = false },
		"an address with a zone": func(s *Spread) { s.Other = netip.MustParseAddr("fe80::1%eth0") },
		"serves, with a zone":    func(s *Spread) { s.Other, s.Serves = netip.Addr{}, netip.MustParseAddr("fd77::11%eth0") },
		"serves, link-local":     func(s *Spread) { s.Other, s.Serves = netip.Addr{}, netip.MustParseAddr("fe80::11") },
		"serves by IPv4":         func(s *Spread) { s.Serves = netip.MustParseAddr("10.77.0.11") },
		"serves at two by IPv6":  func(s *Spread) { s.Serves = netip.MustParseAddr("fd77::12") },
	} {
		t.Run(name, func(t *testing.T) {
			m, now := spreading(t, Config{}, 100*ms)
			s := spread()
			spoil(s)
			list := said(m.Step(now, with(m, s)))
			require.Len(t, list, 1)
			assert.Nil(t, list[0].Spread)
			msg := full()
			msg.Peer.Spread = s
			_, err := msg.Append(nil, 1)
			assert.ErrorContains(t, err, "members: spread")
		})
	}
}

// All messages say it, or a member would seem to stop spreading when it asks for the address. The last word does not.
func TestMachineSaysSpreadInEachMessageButTheLast(t *testing.T) {
	m, now := spreading(t, Config{}, 100*ms)
	for _, kind := range []Type{Hello, Request, Grant} {
		assert.Equal(t, spread(), m.known.message(kind, Transfer{}).Peer.Spread)
	}
	bye := said(m.Step(now, Leave{Reason: "stopped"}))
	require.Len(t, bye, 1)
	assert.Nil(t, bye[0].Spread)
	assert.Zero(t, bye[0].Lifetime)
}

// A member that dies is out within 0.4 s, at the default interval.
func TestLANMemberThatSpreadsIsMissedSoon(t *testing.T) {
	l := newLAN(t, 1, 100*ms, 100, 100, 100)
	for _, n := range l.nodes {
		n.fit = true
		n.spread = spread()
		l.start(n)
	}
	l.run(5 * time.Second)
	dead, others := l.nodes[1], []*node{l.nodes[0], l.nodes[2]}
	for _, n := range others {
		require.Equal(t, 2, len(n.m.Members(nil, l.now)))
		assert.Equal(t, spread(), n.m.known.table.find(dead.addr).Peer.Spread)
	}
	l.kill(dead)
	l.run(400 * ms)
	for _, n := range others {
		assert.Nil(t, n.m.known.table.find(dead.addr))
	}
	dead.spread = nil
	l.start(dead)
	l.run(50 * ms)
	for _, n := range others {
		require.NotNil(t, n.m.known.table.find(dead.addr))
		assert.Nil(t, n.m.known.table.find(dead.addr).Peer.Spread, "it does not spread any more, as an older version does not")
	}
	l.run(10 * time.Second)
	for _, n := range others {
		assert.Len(t, n.m.Members(nil, l.now), 2, "one that does not spread lives for 3.5 s, whatever the others do")
	}
}

// Messages that are lost now and then let nobody seem to be dead.
func TestLANMembersThatSpreadBearLoss(t *testing.T) {
	l := newLAN(t, 2, 100*ms, 100, 100, 100)
	for _, n := range l.nodes {
		n.fit = true
		n.spread = spread()
		l.start(n)
	}
	l.run(time.Second)
	l.loss = 0.02
	lost := 0
	for range 1200 {
		l.run(50 * ms)
		for _, n := range l.nodes {
			lost += 2 - len(n.m.Members(nil, l.now))
		}
	}
	assert.LessOrEqual(t, lost, 4, "of 7200 looks: three in a row have to be lost")
}

// Many groups do not all speak at the same moment, and each within its time.
func TestNextSpreadHelloSharesOutTheTenthsOfASecond(t *testing.T) {
	for _, every := range []time.Duration{100 * ms, 250 * ms, time.Second, 2550 * ms} {
		slots := map[time.Duration]int{}
		for i := range 255 {
			g := netip.AddrFrom4([4]byte{10, 77, 1, byte(i)})
			for _, at := range []time.Time{epoch, epoch.Add(ms), epoch.Add(every - 1)} {
				next := nextSpreadHello(at, every, g)
				require.Greater(t, next.Sub(at), time.Duration(0))
				require.LessOrEqual(t, next.Sub(at), every)
				require.Equal(t, next.Add(every), nextSpreadHello(next, every, g))
			}
			slots[nextSpreadHello(epoch, every, g).Sub(epoch)]++
		}
		assert.Len(t, slots, int(every/leastSpreadEvery))
		for _, n := range slots {
			assert.LessOrEqual(t, n, 255/len(slots)+2)
		}
	}
}

// The example of docs/protocol.md is what is on the wire.
func TestSpreadExampleOfTheDocs(t *testing.T) {
	doc, err := os.ReadFile("../docs/protocol.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(doc), "\n```\n0c")
	require.True(t, found)
	example, _, _ := strings.Cut(after, "\n")
	value := appendSpread(nil, spread())
	assert.Equal(t, append([]byte{byte(fieldSpread), byte(len(value))}, value...), unhex(t, "0c"+example))
}

// An older keepvip leaves out what it does not know.
func TestSpreadSaysWhoLacksTheHolder(t *testing.T) {
	want := spread()
	want.LacksHolder = true
	value := appendSpread(nil, want)
	assert.Equal(t, byte(0b1011), value[0])
	got, ok := parseSpread(value)
	require.True(t, ok)
	assert.Equal(t, want, got)
}

// Where a member serves is behind all that an earlier version knows, which skips it as it skips the flag.
func TestSpreadSaysWhereTheMemberServes(t *testing.T) {
	for name, without := range map[string]func(*Spread){
		"all of it":            func(*Spread) {},
		"nothing of the other": func(s *Spread) { s.Other = netip.Addr{} },
		"nothing translated":   func(s *Spread) { s.Translates, s.Left = false, nil },
		"the most of all":      func(s *Spread) { s.Ports, s.Left = mostPorts(), mostLeft() },
	} {
		t.Run(name, func(t *testing.T) {
			want := spreadByIPv6()
			without(want)
			value := appendSpread(nil, want)
			require.LessOrEqual(t, len(value), 255, "a field has no room for more")
			got, ok := parseSpread(append(value, 0xff))
			require.True(t, ok)
			assert.Equal(t, want, got)
			for cut := 1; cut <= servesLen; cut++ {
				_, ok := parseSpread(value[:len(value)-cut])
				assert.False(t, ok, "%d bytes less", cut)
			}
			value[0] &^= flagServes
			want.Serves = netip.Addr{}
			got, ok = parseSpread(value)
			require.True(t, ok)
			assert.Equal(t, want, got, "what is behind the known part is skipped")
		})
	}
}

func TestSpreadRefusesToServeWhereNobodyCan(t *testing.T) {
	for _, bad := range []string{"::", "::1", "ff02::12", "fe80::11", "::ffff:10.77.0.11"} {
		s := spreadByIPv6()
		s.Serves = netip.MustParseAddr(bad)
		_, ok := parseSpread(appendSpread(nil, s))
		assert.False(t, ok, bad)
	}
	s := spreadByIPv6()
	s.Other = netip.MustParseAddr("fd77::12")
	_, ok := parseSpread(appendSpread(nil, s))
	assert.False(t, ok, "two of one family")
}
