//go:build netns

package netnstest

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Patience bounds what the kernel does by itself; tests return as soon as it has happened.
const Patience = time.Minute

// Space is a network namespace that lives as long as its test. The methods of its Handle work from any namespace. What goes wrong in a
// method of its own fails the test.
type Space struct {
	*netlink.Handle

	FD int // of the namespace, for setns(2)
	t  *testing.T
}

// New makes a network namespace, which takes root, sets lo up and moves the calling test into it. The test keeps its thread to the end: Go
// then throws the thread away, and the namespace with it.
func New(t *testing.T) *Space {
	t.Helper()
	runtime.LockOSThread()
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET), "a network namespace takes root")
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	require.NoError(t, err)
	s := &Space{Handle: h, FD: current(t), t: t}
	t.Cleanup(func() { h.Close(); _ = unix.Close(s.FD) })
	s.Up("lo")
	return s
}

// current opens the namespace that the calling thread is in.
func current(t *testing.T) int {
	t.Helper()
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	return fd
}

// Enter moves the calling goroutine, whose thread must be locked, into the namespace.
func (s *Space) Enter() {
	s.t.Helper()
	require.NoError(s.t, unix.Setns(s.FD, unix.CLONE_NEWNET))
}

// In has the calling test run do in the namespace, and moves it back. Sockets that do opens stay there.
func (s *Space) In(do func()) {
	s.t.Helper()
	back := current(s.t)
	defer func() {
		require.NoError(s.t, unix.Setns(back, unix.CLONE_NEWNET))
		require.NoError(s.t, unix.Close(back))
	}()
	s.Enter()
	do()
}

// Pair makes a veth pair that is up: name here, and peer in the namespace of to, which may be the same.
func (s *Space) Pair(name string, to *Space, peer string) {
	s.t.Helper()
	v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: peer}
	if to != s {
		v.PeerNamespace = netlink.NsFd(to.FD)
	}
	require.NoError(s.t, s.LinkAdd(v))
	s.Up(name)
	to.Up(peer)
}

// Bridge makes a bridge that is up.
func (s *Space) Bridge(name string) {
	s.t.Helper()
	require.NoError(s.t, s.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: name}}))
	s.Up(name)
}

// Plug makes a veth pair whose end here is a port of the bridge, and whose other end is eth0 in the namespace of to.
func (s *Space) Plug(bridge, port string, to *Space) {
	s.t.Helper()
	s.Pair(port, to, "eth0")
	require.NoError(s.t, s.LinkSetMaster(s.Link(port), s.Link(bridge)))
}

// Up sets a link up.
func (s *Space) Up(name string) {
	s.t.Helper()
	require.NoError(s.t, s.LinkSetUp(s.Link(name)))
}

// Link is the link of that name, which must exist.
func (s *Space) Link(name string) netlink.Link {
	s.t.Helper()
	l, err := s.LinkByName(name)
	require.NoError(s.t, err)
	return l
}

// Index is that of a link.
func (s *Space) Index(name string) int { return s.Link(name).Attrs().Index }

// Has puts addresses of the node's own on a link, usable at once.
func (s *Space) Has(name string, prefixes ...string) {
	s.t.Helper()
	for _, p := range prefixes {
		a, err := netlink.ParseAddr(p)
		require.NoError(s.t, err)
		a.Flags = unix.IFA_F_NODAD
		require.NoError(s.t, s.AddrReplace(s.Link(name), a))
		s.Eventually(func() bool { return s.takes(a.IP) }, p+" is taken")
	}
}

// takes tells whether packets to an address stay here.
func (s *Space) takes(ip net.IP) bool {
	routes, err := s.RouteGet(ip)
	return err == nil && len(routes) > 0 && routes[0].Type == unix.RTN_LOCAL
}

// IP runs ip(8), for what the library has no word for, in the namespace that the calling test is in.
func (s *Space) IP(args string) {
	s.t.Helper()
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	require.NoError(s.t, err, "ip %s: %s", args, out)
}

// Sysctl sets one below /proc/sys, in the namespace that the calling test is in.
func (s *Space) Sysctl(name, value string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile("/proc/sys/"+name, []byte(value), 0))
}

// Eventually polls, because the kernel has no channel to wait on, and returns how long it took.
func (s *Space) Eventually(ok func() bool, what string) time.Duration {
	s.t.Helper()
	start := time.Now()
	for !ok() {
		require.Less(s.t, time.Since(start), Patience, what)
		time.Sleep(100 * time.Microsecond)
	}
	return time.Since(start)
}
