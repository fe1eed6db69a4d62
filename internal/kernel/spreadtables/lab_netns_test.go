//go:build netns

package spreadtables

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
	"github.com/keepvip/keepvip/members/slots"
)

const (
	front  = 9443
	target = 6443
	dns    = 53
	bulk   = 4 << 20 // what a member says when it is asked for much
)

// lab is a client and three members on a bridge. The address is on none of them, unless a test binds it.
type lab struct {
	t       *testing.T
	wires   *netnstest.Space
	client  *netnstest.Space
	members []*node
}

// node is a member. Its index is what it says when it is connected to.
type node struct {
	*netnstest.Space
	index  int
	tables *Tables
	cfg    Config
	open   atomic.Int32 // connections
	heard  atomic.Int32 // datagrams
}

// both are the families, each with the address that is spread.
var both = map[string]netip.Addr{"IPv4": netip.MustParseAddr("10.1.0.100"), "IPv6": netip.MustParseAddr("fd01::100")}

// onAnOlderKernel is for a test of what others do to tables that nobody owns (Linux 6.9).
func onAnOlderKernel(t *testing.T) {
	t.Helper()
	nfttables.Older(true)
	t.Cleanup(func() { nfttables.Older(false) })
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, wires: netnstest.New(t), client: netnstest.New(t)}
	l.wires.Enter()
	l.wires.Bridge("br0")
	quick(l.client)
	l.wires.Plug("br0", "client", l.client)
	l.client.Has("eth0", "10.1.0.9/24", "fd01::9/64")
	for i := range 3 {
		n := &node{Space: netnstest.New(t), index: i}
		quick(n.Space)
		n.Sysctl("net/ipv4/conf/all/rp_filter", "1")
		l.wires.Plug("br0", fmt.Sprintf("m%d", i), n.Space)
		n.Has("eth0", fmt.Sprintf("10.1.0.%d/24", 5+i), fmt.Sprintf("fd01::%d/64", 5+i))
		n.serve(t)
		l.members = append(l.members, n)
	}
	for _, n := range l.members {
		n.cfg = three(n.Index("eth0"))
		n.cfg.Self = n.cfg.Members[n.index].Addresses
		for i := range n.cfg.Members {
			n.cfg.Members[i].Self = i == n.index
			n.cfg.Members[i].MAC = l.members[i].Link("eth0").Attrs().HardwareAddr
		}
		var err error
		n.tables, err = Open("api", nil)
		require.NoError(t, err)
	}
	l.owned(0, slots.None)
	l.receives(0)
	return l
}

// quick spares a new link the seconds in which it may not ask for neighbours by IPv6.
func quick(s *netnstest.Space) {
	s.In(func() { s.Sysctl("net/ipv6/conf/default/accept_dad", "0") })
}

// owned gives all slots to one member, and has it ask the other about what it does not know.
func (l *lab) owned(owner, second uint8) {
	l.t.Helper()
	l.spread(ownedBy(owner, second))
}

// ownedBy is the table of three members in which one has all slots.
func ownedBy(owner, second uint8) *slots.Table {
	return &slots.Table{Owner: slices.Repeat([]uint8{owner}, 12), Second: slices.Repeat([]uint8{second}, 12), Next: []uint8{1, 2, 0}}
}

func (l *lab) spread(table *slots.Table) {
	l.t.Helper()
	for _, n := range l.members {
		n.cfg.Slots = table
	}
	l.apply()
}

func (l *lab) apply() {
	l.t.Helper()
	for _, n := range l.members {
		n.In(func() { require.NoError(l.t, n.tables.Apply(n.cfg)) })
	}
}

// receives makes a member the receiver of what the client sends to the address: what every announcement makes of its neighbours.
func (l *lab) receives(member int) {
	l.t.Helper()
	for _, vip := range both {
		require.NoError(l.t, l.client.NeighSet(neighbour(l.client, vip, l.members[member].Space)))
	}
}

// serve answers each connection to the target port with the member's index, and then says what it hears, or much if it hears an M; an R has it reset the connection. By UDP it
// answers with its index and the length of what it got.
func (n *node) serve(t *testing.T) {
	t.Helper()
	n.Enter()
	l, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(target)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go n.talk(c)
		}
	}()
	for _, a := range []string{fmt.Sprintf("10.1.0.%d", 5+n.index), fmt.Sprintf("fd01::%d", 5+n.index)} {
		u, err := net.ListenPacket("udp", net.JoinHostPort(a, "5353"))
		require.NoError(t, err)
		t.Cleanup(func() { _ = u.Close() })
		go func() {
			b := make([]byte, 65536)
			for {
				size, from, err := u.ReadFrom(b)
				if err != nil {
					return
				}
				n.heard.Add(1)
				_, _ = u.WriteTo(fmt.Appendf(nil, "%d %d", n.index, size), from)
			}
		}()
	}
}

func (n *node) talk(c net.Conn) {
	n.open.Add(1)
	defer func() { _ = c.Close(); n.open.Add(-1) }()
	from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
	_, _ = fmt.Fprintf(c, "%d %s\n", n.index, from)
	b := make([]byte, 1)
	for {
		if _, err := c.Read(b); err != nil {
			return
		}
		if b[0] == 'R' {
			_ = c.(*net.TCPConn).SetLinger(0)
			return
		}
		if b[0] == 'M' {
			b = bytes.Repeat(b, bulk)
		}
		if _, err := c.Write(b); err != nil {
			return
		}
		b = b[:1]
	}
}

// conn is a connection of the client, with the member that has it.
type conn struct {
	*net.TCPConn
	t      *testing.T
	member int
	from   string // the client, as the member sees it
}

func (l *lab) dial(s *netnstest.Space, vip netip.Addr) *conn {
	l.t.Helper()
	return l.dialPort(s, vip, front)
}

func (l *lab) dialPort(s *netnstest.Space, vip netip.Addr, port uint16) *conn {
	l.t.Helper()
	c, err := l.try(s, netip.AddrPortFrom(vip, port))
	require.NoError(l.t, err)
	return c
}

func (l *lab) try(s *netnstest.Space, to netip.AddrPort) (*conn, error) {
	l.t.Helper()
	return l.tryFrom(s, nil, to)
}

// tryFrom connects from a certain port; nil: from any.
func (l *lab) tryFrom(s *netnstest.Space, from net.Addr, to netip.AddrPort) (*conn, error) {
	l.t.Helper()
	var c net.Conn
	var err error
	s.In(func() {
		c, err = (&net.Dialer{Timeout: netnstest.Patience, LocalAddr: from}).Dial("tcp", to.String())
	})
	if err != nil {
		return nil, err
	}
	l.t.Cleanup(func() { _ = c.Close() })
	require.NoError(l.t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
	made := &conn{TCPConn: c.(*net.TCPConn), t: l.t}
	_, err = fmt.Fscanf(c, "%d %s\n", &made.member, &made.from)
	return made, err
}

// goesOn tells whether the connection is still answered.
func (c *conn) goesOn(what string) {
	c.t.Helper()
	require.NoError(c.t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
	_, err := c.Write([]byte("x"))
	require.NoError(c.t, err, what)
	b := make([]byte, 1)
	_, err = io.ReadFull(c, b)
	require.NoError(c.t, err, what)
	require.Equal(c.t, "x", string(b), what)
}

// asksMuch has the member say a lot.
func (c *conn) asksMuch() error {
	_, err := c.Write([]byte("M"))
	if err == nil {
		_, err = io.CopyN(io.Discard, c, bulk)
	}
	return err
}

// ends closes the connection and tells whether the member's socket has noticed, by what is left of it there.
func (c *conn) ends(n *node, what string) {
	c.t.Helper()
	require.NoError(c.t, c.CloseWrite())
	n.Eventually(func() bool { _, err := c.Read(make([]byte, 1)); return err == io.EOF }, what)
}

// refused tells whether an error is what a host says that has nobody to serve.
func refused(err error) bool {
	return err != nil && (errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET))
}

// bound puts the address on a member, as its holder has it.
func (l *lab) bound(member int) {
	l.members[member].Has("eth0", "10.1.0.100/32", "fd01::100/128")
}

func neighbour(of *netnstest.Space, ip netip.Addr, is *netnstest.Space) *netlink.Neigh {
	return &netlink.Neigh{
		LinkIndex: of.Index("eth0"), IP: ip.AsSlice(), State: netlink.NUD_PERMANENT, HardwareAddr: is.Link("eth0").Attrs().HardwareAddr,
	}
}

// forgetMACs leaves members without a MAC in all configurations.
func (l *lab) forgetMACs() {
	for _, n := range l.members {
		for i := range n.cfg.Members {
			n.cfg.Members[i].MAC = nil
		}
	}
}
