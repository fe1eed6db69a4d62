package lab

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/envelope"
	"github.com/keepvip/keepvip/members/subscription"
	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	// crowdPlace is the network of their addresses, which are the client's.
	crowdPlace    = "10.88.0.0/16"
	followersPort = 9646
	// crowdRenews is how often each of them asks each member, which is well within the lease of a subscription; and crowdTurn how often some of them do.
	crowdRenews, crowdTurn = 20 * time.Second, 100 * time.Millisecond
)

// Crowd is many followers behind one socket of the client, each with an address of its own. They know as much as it takes to be told who the members are.
type Crowd struct {
	group   netip.Addr
	members []netip.Addr
	count   int
	conn    *ipv4.PacketConn
	stop    atomic.Bool
	wait    sync.WaitGroup

	mu   sync.Mutex // guards what follows
	seen map[crowdPair]*crowdSeen
}

// crowdPair is a follower and a member that it asks.
type crowdPair struct{ follower, member netip.Addr }

type crowdSeen struct {
	cookie subscription.Message // the newest one
	told   bool
}

// StartCrowd has so many followers ask all nodes about a group, which is named by its first virtual address.
func (l *Lab) StartCrowd(group netip.Addr, count int) (_ *Crowd, err error) {
	defer try.Catch(&err)
	c := &Crowd{group: group, count: count, seen: map[crowdPair]*crowdSeen{}}
	try.Do(l.placeCrowd())
	for _, n := range l.Nodes {
		c.members = append(c.members, n.Address)
	}
	try.Do(l.Client.Do(func() (err error) {
		defer try.Catch(&err)
		conn := try.Get(net.ListenUDP("udp4", &net.UDPAddr{Port: envelope.SourcePort}))
		c.conn = ipv4.NewPacketConn(conn)
		try.Do(c.conn.SetControlMessage(ipv4.FlagDst, true))
		try.Do(c.conn.SetTTL(255)) // what is not signed comes from the link, and from a port of the system
		return try.Get(conn.SyscallConn()).Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 16<<20) })
	}))
	c.wait.Go(c.read)
	c.wait.Go(c.renew)
	l.atEnd(c.Stop)
	return c, nil
}

// placeCrowd gives the client the network of a crowd, and the nodes a route to it.
func (l *Lab) placeCrowd() (err error) {
	defer try.Catch(&err)
	try.Get(l.Client.Run("ip", "route", "add", "local", crowdPlace, "dev", "lo"))
	for _, n := range l.Nodes {
		try.Get(n.Run("ip", "route", "add", crowdPlace, "via", l.Client.Address.String()))
	}
	return nil
}

// Stop ends them.
func (c *Crowd) Stop() {
	if !c.stop.Swap(true) {
		_ = c.conn.Close()
		c.wait.Wait()
	}
}

// Told is how many of the followers every member has told who the members are.
func (c *Crowd) Told() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := map[netip.Addr]int{}
	for pair, s := range c.seen {
		if s.told {
			by[pair.follower]++
		}
	}
	told := 0
	for _, n := range by {
		if n == len(c.members) {
			told++
		}
	}
	return told
}

func follower(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 88, byte(i >> 8), byte(i)}) }

// renew has all ask twice soon, for a cookie and with it, and from then on one after the other.
func (c *Crowd) renew() {
	turns := int(crowdRenews / crowdTurn)
	for turn := 0; !c.stop.Load(); turn++ {
		quick := turns / 10 // of the first two rounds
		of, at := turns, turn%turns
		if turn < 2*quick {
			of, at = quick, turn%quick
		}
		c.ask(at*c.count/of, (at+1)*c.count/of)
		time.Sleep(crowdTurn)
	}
}

// ask sends a question of each of these to each member.
func (c *Crowd) ask(from, to int) {
	for i := from; i < to; i++ {
		for _, member := range c.members {
			m := subscription.Message{Type: subscription.Subscribe, Session: uint64(i) + 1, Sequence: uint64(time.Now().UnixNano()), Group: c.group, Node: fmt.Sprintf("w%d", i)}
			c.mu.Lock()
			if s := c.seen[crowdPair{follower(i), member}]; s != nil {
				m.Cookie = s.cookie.Cookie
			}
			c.mu.Unlock()
			b, err := m.Append(nil, nil)
			if err != nil {
				panic(err) // it is a message of our own
			}
			control := ipv4.ControlMessage{Src: follower(i).AsSlice()}
			_, _ = c.conn.WriteTo(b, &control, net.UDPAddrFromAddrPort(netip.AddrPortFrom(member, followersPort))) // what is lost is asked again
		}
	}
}

func (c *Crowd) read() {
	b := make([]byte, envelope.MaxMessage)
	for {
		size, control, from, err := c.conn.ReadFrom(b)
		if err != nil {
			return
		}
		source, ok := from.(*net.UDPAddr)
		if !ok || control == nil || control.Dst.To4() == nil {
			continue
		}
		m, _, err := subscription.Parse(b[:size], nil)
		if err != nil {
			continue
		}
		pair := crowdPair{netip.AddrFrom4([4]byte(control.Dst.To4())), source.AddrPort().Addr().Unmap()}
		c.mu.Lock()
		s := c.seen[pair]
		if s == nil {
			s = &crowdSeen{}
			c.seen[pair] = s
		}
		if m.Type == subscription.Cookie {
			s.cookie = m
		} else {
			s.told = true
		}
		c.mu.Unlock()
	}
}
