//go:build netns

package fence

import (
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/link"
)

// patience bounds what the kernel does by itself; tests return as soon as it has happened.
const patience = 10 * time.Second

// space is a network namespace that lives as long as its test.
type space struct {
	t  *testing.T
	fd int
	*netlink.Handle
}

// newSpace makes a network namespace and moves the calling test into it. The test keeps its thread to the end: Go then throws the thread
// away, and the namespace with it.
func newSpace(t *testing.T) *space {
	t.Helper()
	runtime.LockOSThread()
	require.NoError(t, unix.Unshare(unix.CLONE_NEWNET), "a network namespace takes root")
	fd, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	require.NoError(t, err)
	s := &space{t: t, fd: fd, Handle: h}
	t.Cleanup(func() { h.Close(); _ = unix.Close(fd) })
	s.up("lo")
	return s
}

// enter moves the calling goroutine, whose thread must be locked, into the namespace.
func (s *space) enter() {
	s.t.Helper()
	require.NoError(s.t, unix.Setns(s.fd, unix.CLONE_NEWNET))
}

// pair makes a veth pair: name here, and peer in the namespace of to.
func (s *space) pair(name string, to *space, peer string) {
	s.t.Helper()
	v := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: peer}
	if to != s {
		v.PeerNamespace = netlink.NsFd(to.fd)
	}
	require.NoError(s.t, s.LinkAdd(v))
	s.up(name)
	to.up(peer)
}

func (s *space) up(name string) {
	s.t.Helper()
	require.NoError(s.t, s.LinkSetUp(s.link(name)))
}

func (s *space) link(name string) netlink.Link {
	s.t.Helper()
	l, err := s.LinkByName(name)
	require.NoError(s.t, err)
	return l
}

func (s *space) index(name string) int { return s.link(name).Attrs().Index }

// has puts addresses of the node's own on a link, usable at once.
func (s *space) has(name string, prefixes ...string) {
	s.t.Helper()
	for _, p := range prefixes {
		a, err := netlink.ParseAddr(p)
		require.NoError(s.t, err)
		a.Flags = unix.IFA_F_NODAD
		require.NoError(s.t, s.AddrReplace(s.link(name), a))
	}
}

// ip is for what the library has no word for; it runs in the namespace of the calling test.
func (s *space) ip(args string) {
	s.t.Helper()
	out, err := exec.Command("ip", strings.Fields(args)...).CombinedOutput()
	require.NoError(s.t, err, "ip %s: %s", args, out)
}

func (s *space) sysctl(name, value string) {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile("/proc/sys/"+name, []byte(value), 0))
}

// handle opens what is tested, in the namespace the test is in.
func (s *space) handle(log *slog.Logger) *link.Handle {
	s.t.Helper()
	h, err := link.Open(log)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = h.Close() })
	return h
}

// eventually polls, because the kernel has no channel to wait on.
func (s *space) eventually(ok func() bool, what string) time.Duration {
	s.t.Helper()
	start := time.Now()
	for !ok() {
		require.Less(s.t, time.Since(start), patience, what)
		time.Sleep(100 * time.Microsecond)
	}
	return time.Since(start)
}
