//go:build netns

package intercept

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

const (
	front  = 9443
	target = 6443
	holder = 3 // the index of the server that has the address
)

// lab is a host and, on the same bridge, three servers and one that holds the address itself.
type lab struct {
	t       *testing.T
	wires   *netnstest.Space
	host    *netnstest.Space
	servers []*netnstest.Space
	table   *Table
	cfg     Config
	dialer  net.Dialer
}

// both are the families, each with the address that is intercepted.
var both = map[string]netip.Addr{"IPv4": netip.MustParseAddr("10.1.0.100"), "IPv6": netip.MustParseAddr("fd01::100")}

// onAnOlderKernel is for a test of what others do to tables that nobody owns (Linux 6.9).
func onAnOlderKernel(t *testing.T) {
	t.Helper()
	nfttables.Older(true)
	t.Cleanup(func() { nfttables.Older(false) })
}

func newLab(t *testing.T) *lab {
	t.Helper()
	l := &lab{t: t, wires: netnstest.New(t), cfg: three(), dialer: net.Dialer{Timeout: netnstest.Patience}}
	l.wires.Bridge("br0")
	for i := range 4 {
		s := netnstest.New(t)
		l.plug(s, fmt.Sprintf("s%d", i), 5+i)
		listen(t, i, target)
		if i == holder {
			s.Has("eth0", "10.1.0.100/32", "fd01::100/128")
			listen(t, i, front)
		}
		l.servers = append(l.servers, s)
	}
	l.host = netnstest.New(t)
	l.plug(l.host, "host", 9)
	for i := range l.servers { // a bridge takes a while to see that a port is up, and IPv6 asks for a neighbour for 3 s only
		for _, net := range []string{"10.1.0.%d", "fd01::%d"} {
			l.host.Eventually(func() bool { return l.reaches(fmt.Sprintf(net, 5+i)) }, "the bridge")
		}
	}
	var err error
	l.table, err = Open("api", nil)
	require.NoError(t, err)
	return l
}

// reaches tells whether the host gets a connection to a server itself.
func (l *lab) reaches(server string) (ok bool) {
	l.host.In(func() {
		c, err := (&net.Dialer{Timeout: netnstest.Patience}).Dial("tcp", net.JoinHostPort(server, strconv.Itoa(target)))
		if ok = err == nil; ok {
			_ = c.Close()
		}
	})
	return ok
}

// plug spares the new link the seconds in which it may not ask for neighbours by IPv6.
func (l *lab) plug(s *netnstest.Space, port string, last int) {
	s.Sysctl("net/ipv6/conf/default/accept_dad", "0")
	l.wires.Plug("br0", port, s)
	s.Has("eth0", fmt.Sprintf("10.1.0.%d/24", last), fmt.Sprintf("fd01::%d/64", last))
}

// listen answers each connection with the index of the server and the client's address, and then says what it hears; by UDP with the index.
func listen(t *testing.T, index int, port int) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort("", strconv.Itoa(port)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				from, _, _ := net.SplitHostPort(c.RemoteAddr().String())
				_, _ = fmt.Fprintf(c, "%d %s\n", index, from)
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	u, err := net.ListenPacket("udp4", net.JoinHostPort("", strconv.Itoa(port)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = u.Close() })
	go func() {
		b := make([]byte, 64)
		for {
			_, from, err := u.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = u.WriteTo([]byte{byte('0' + index)}, from)
		}
	}()
}

func (l *lab) apply() {
	l.t.Helper()
	l.host.In(func() { require.NoError(l.t, l.table.Apply(l.cfg)) })
}

// only leaves some of the servers healthy.
func (l *lab) only(servers ...int) {
	l.t.Helper()
	l.cfg = three()
	for i := range l.cfg.Targets {
		var healthy []Backend
		for _, s := range servers {
			healthy = append(healthy, l.cfg.Targets[i].Backends[s])
		}
		l.cfg.Targets[i].Backends = healthy
	}
	l.apply()
}

// conn is a connection, with the server that has it.
type conn struct {
	*net.TCPConn
	t      *testing.T
	server int
	from   string // the client, as the server sees it
	ended  time.Time
}

func (l *lab) dial(from *netnstest.Space, vip netip.Addr) *conn {
	l.t.Helper()
	var c net.Conn
	var err error
	from.In(func() {
		c, err = l.dialer.Dial("tcp", netip.AddrPortFrom(vip, front).String())
	})
	require.NoError(l.t, err)
	l.t.Cleanup(func() { _ = c.Close() })
	require.NoError(l.t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
	made := &conn{TCPConn: c.(*net.TCPConn), t: l.t}
	_, err = fmt.Fscanf(c, "%d %s\n", &made.server, &made.from)
	require.NoError(l.t, err)
	return made
}

// served counts who gets connections that are made and ended.
func (l *lab) served(n int, vip netip.Addr) [4]int {
	l.t.Helper()
	var out [4]int
	for range n {
		c := l.dial(l.host, vip)
		out[c.server]++
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	return out
}

// goesOn tells whether the connection is still answered.
func (c *conn) goesOn(what string) {
	c.t.Helper()
	require.NoError(c.t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
	_, err := c.Write([]byte("x"))
	require.NoError(c.t, err, what)
	_, err = io.ReadFull(c, make([]byte, 1))
	require.NoError(c.t, err, what)
}

// reads is what a program gets that waits for something to read.
func (c *conn) reads() chan error {
	out := make(chan error, 1)
	_ = c.SetDeadline(time.Time{})
	go func() {
		_, err := c.Read(make([]byte, 1))
		c.ended = time.Now()
		out <- err
	}()
	return out
}

// dies silently.
func (l *lab) dies(server int) {
	require.NoError(l.t, l.wires.LinkSetDown(l.wires.Link(fmt.Sprintf("s%d", server))))
}

// connect says which server answers; -1: none. It has a thread of its own, which nobody else gets.
func (l *lab) connect(vip netip.Addr, server chan<- int) {
	runtime.LockOSThread()
	who := -1
	if unix.Setns(l.host.FD, unix.CLONE_NEWNET) == nil {
		if c, err := (&net.Dialer{Timeout: netnstest.Patience}).Dial("tcp", netip.AddrPortFrom(vip, front).String()); err == nil {
			_, _ = fmt.Fscanf(c, "%d", &who)
			_ = c.Close()
		}
	}
	server <- who
}

var times = regexp.MustCompile(` expires [0-9hms]+`)

// blocks are the sets and chains of a listing, which has them in the order of their making.
func blocks(s string) []string {
	return strings.Split(strings.ReplaceAll(times.ReplaceAllString(s, ""), "}\n}", "}\n\n}"), "\n\n")
}
