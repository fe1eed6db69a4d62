//go:build linux && netns

package subscription

import (
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/slots"
)

// hosts are many followers behind one socket, each with an address of its own. They know as much as it takes to be told.
type hosts struct {
	t    *testing.T
	conn *ipv4.PacketConn
	key  *auth.Key

	mu      sync.Mutex // guards what follows
	cookies map[netip.Addr][cookieLen]byte
	told    map[netip.Addr]time.Time // the first MEMBERS since forget
	got     int
}

func address(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}) }

// ask sends one question of each of these.
func (h *hosts) ask(from, to int) {
	var batch []ipv4.Message
	for i := from; i < to; i++ {
		h.mu.Lock()
		m := Message{Type: Subscribe, Session: uint64(i) + 1, Sequence: uint64(time.Now().UnixNano()), Group: group, Cookie: h.cookies[address(i)]}
		h.mu.Unlock()
		b, err := m.Append(nil, h.key)
		require.NoError(h.t, err)
		batch = append(batch, ipv4.Message{
			Buffers: [][]byte{b}, Addr: &net.UDPAddr{IP: net.IPv4(10, 77, 0, 11), Port: 9646}, OOB: (&ipv4.ControlMessage{Src: address(i).AsSlice()}).Marshal(),
		})
	}
	for len(batch) > 0 {
		n, err := h.conn.WriteBatch(batch, 0)
		require.NoError(h.t, err)
		batch = batch[n:]
	}
}

func (h *hosts) read() {
	batch := make([]ipv4.Message, 64)
	for i := range batch {
		batch[i].Buffers, batch[i].OOB = [][]byte{make([]byte, envelope.MaxMessage)}, ipv4.NewControlMessage(ipv4.FlagDst)
	}
	for {
		n, err := h.conn.ReadBatch(batch, 0)
		if err != nil {
			return
		}
		now := time.Now()
		h.mu.Lock()
		for _, in := range batch[:n] {
			var cm ipv4.ControlMessage
			if cm.Parse(in.OOB[:in.NN]) != nil {
				continue
			}
			to, _ := netip.AddrFromSlice(cm.Dst.To4())
			if b := in.Buffers[0][:in.N]; Type(b[5]) == Cookie {
				if m, _, err := Parse(b, []auth.Key{*h.key}); err == nil {
					h.cookies[to] = m.Cookie
				}
				continue
			}
			if h.got++; h.told[to].IsZero() {
				h.told[to] = now
			}
		}
		h.mu.Unlock()
	}
}

func (h *hosts) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.told, h.got = map[netip.Addr]time.Time{}, 0
}

func (h *hosts) count() (told, cookies, got int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.told), len(h.cookies), h.got
}

func usage() time.Duration {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// TestFiveThousandFollowersOnALink are 5,000 addresses of another host: all get a place, and are told of a change. What it takes is in the log of the test.
func TestFiveThousandFollowersOnALink(t *testing.T) {
	const many = 5000
	member, others := netnstest.New(t), netnstest.New(t)
	member.Pair("eth0", others, "eth0")
	member.Has("eth0", "10.77.0.11/8")
	others.Has("eth0", "10.77.0.12/8")
	others.In(func() { others.IP("route add local 10.88.0.0/16 dev lo") })
	member.In(func() { member.IP("route add 10.88.0.0/16 via 10.77.0.12") })
	keys, cfg := keyed(t)
	h := &hosts{t: t, key: cfg.Key, cookies: map[netip.Addr][cookieLen]byte{}}
	h.forget()
	others.In(func() {
		c, err := net.ListenPacket("udp4", "0.0.0.0:40000")
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		require.NoError(t, c.(*net.UDPConn).SetReadBuffer(16<<20))
		raw, err := c.(*net.UDPConn).SyscallConn()
		require.NoError(t, err)
		require.NoError(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) }))
		require.NoError(t, err)
		h.conn = ipv4.NewPacketConn(c)
		require.NoError(t, h.conn.SetControlMessage(ipv4.FlagDst, true))
		go h.read()
	})
	var s *Server
	member.In(func() {
		s = NewServer(9646, slog.New(slog.DiscardHandler))
		s.pub.most = roomIn(16 << 30)
		s.SetKeys(keys)
		// As Serve does it, which opens the sockets in a goroutine: that would be in another namespace.
		s.run = &serving{inbox: make(chan Packet, mostWaiting), wake: make(chan struct{}, 1), stop: make(chan struct{})}
		s.groups[group]++
		s.pub.Serve(group)
		require.NoError(t, s.openAll(s.run))
		s.run.done.Go(func() { s.tick(s.run) })
	})
	t.Cleanup(func() { s.Drop(group) })
	report := func(c slots.Condition) *Report {
		one := aMember(1)
		one.Self, one.Age, one.Lifetime = true, 0, life
		one.Ports[0].Condition = c
		return &Report{Every: hello, Members: []Member{one}}
	}

	began := time.Now()
	h.ask(0, many)
	require.Eventually(t, func() bool { _, n, _ := h.count(); return n == many }, netnstest.Patience, time.Millisecond, "each gets a cookie")
	h.ask(0, many)
	require.Eventually(t, func() bool { n, _ := s.Room(group); return n == many }, netnstest.Patience, time.Millisecond, "and a place")
	s.Tell(group, report(slots.Fit))
	require.Eventually(t, func() bool { n, _, _ := h.count(); return n == many }, netnstest.Patience, time.Millisecond, "and is told")
	t.Logf("all of %d are told %v after their start", many, time.Since(began).Round(time.Millisecond))

	time.Sleep(2 * time.Second)
	h.forget()
	before, began := usage(), time.Now()
	for i := range 10 * 10 { // renewals of 60 s leases
		h.ask(i*25, (i+1)*25)
		s.Tell(group, report(slots.Fit))
		time.Sleep(hello)
	}
	_, _, got := h.count()
	long := time.Since(began)
	t.Logf("nothing changes: %.0f messages a second, member and followers together take %.1f %% of a processor", float64(got)/long.Seconds(), 100*float64(usage()-before)/float64(long))

	h.forget()
	began = time.Now()
	s.Tell(group, report(slots.Keeps))
	require.Eventually(t, func() bool { n, _, _ := h.count(); return n == many }, netnstest.Patience, time.Millisecond, "all are told of a change")
	var took []time.Duration
	for _, at := range h.told {
		took = append(took, at.Sub(began))
	}
	slices.Sort(took)
	t.Logf("a change: told after %v (median), %v (the last one)", took[many/2].Round(time.Millisecond), took[many-1].Round(time.Millisecond))
	assert.Zero(t, s.Refused()[envelope.RejectFull])
}
