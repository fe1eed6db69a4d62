//go:build netns

package fence

import (
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// line is a connection from the holder to the client, as a member has it to another. at is the client's end.
func (w *wire) line(from, to netip.Addr, mark Mark) (fd int, at net.Conn) {
	w.t.Helper()
	w.client.Enter()
	l, err := net.Listen("tcp", netip.AddrPortFrom(to, 9646).String())
	require.NoError(w.t, err)
	w.holder.Enter()
	defer func() { _ = l.Close() }()
	family, own, peer := unix.AF_INET, unix.Sockaddr(&unix.SockaddrInet4{Addr: [4]byte(from.AsSlice()[:4])}), unix.Sockaddr(&unix.SockaddrInet4{Addr: [4]byte(to.AsSlice()[:4]), Port: 9646})
	if from.Is6() {
		family, own, peer = unix.AF_INET6, &unix.SockaddrInet6{Addr: from.As16()}, &unix.SockaddrInet6{Addr: to.As16(), Port: 9646}
	}
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(w.t, err)
	require.NoError(w.t, unix.BindToDevice(fd, "eth0"))
	require.NoError(w.t, unix.Bind(fd, own))
	require.NoError(w.t, unix.Connect(fd, peer))
	at, err = l.Accept()
	require.NoError(w.t, err)
	w.t.Cleanup(func() { _ = at.Close() })
	_, err = unix.Write(fd, []byte("here"))
	require.NoError(w.t, err)
	_, err = io.ReadFull(at, make([]byte, 4))
	require.NoError(w.t, err)
	require.NoError(w.t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, int(mark)))
	return fd, at
}

// own are the ends of a line in each family.
var lineEnds = map[string][2]netip.Addr{
	"IPv4": {netip.MustParseAddr("10.1.0.5"), netip.MustParseAddr("10.1.0.9")},
	"IPv6": {netip.MustParseAddr("fd01::5"), netip.MustParseAddr("fd01::9")},
}

// TestFenceEndsLeasesBeforeTheEndOfALineIsHeard: whoever hears that a process is gone finds its addresses silent.
func TestFenceEndsLeasesBeforeTheEndOfALineIsHeard(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	for family, ends := range lineEnds {
		for how, unread := range map[string]bool{"FIN": false, "RST": true} {
			w.advertiseBoth()
			require.NotZero(t, w.left(f, 4))
			fd, at := w.line(ends[0], ends[1], testMark)
			if unread {
				_, err := at.Write([]byte("nobody reads this"))
				require.NoError(t, err)
				w.holder.Eventually(func() bool { n, _ := unix.IoctlGetInt(fd, unix.TIOCINQ); return n > 0 }, "something that is unread")
			}
			require.NoError(t, unix.Close(fd))
			_, err := at.Read(make([]byte, 1))
			if unread {
				assert.ErrorIs(t, err, syscall.ECONNRESET, "%s by %s", family, how)
			} else {
				assert.ErrorIs(t, err, io.EOF, "%s by %s", family, how)
			}
			for _, id := range []uint32{4, 6} {
				assert.Zero(t, w.left(f, id), "%s by %s: the lease of group %d", family, how, id)
			}
		}
	}
	w.all(false, "after the end of the process")
	w.advertiseBoth()
	w.all(true, "an advertisement of the next run begins a lease again")
	require.NoError(t, f.verify())
}

// TestFenceGoesOnWhereALineEndsInOrder: the mark is taken off before, or it is that of a run before this one.
func TestFenceGoesOnWhereALineEndsInOrder(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	for family, ends := range lineEnds {
		for how, mark := range map[string]Mark{"no mark": 0, "the mark of the run before": testMark - 1, "others' bits": 0xffff0f80} {
			fd, at := w.line(ends[0], ends[1], mark)
			require.NoError(t, unix.Close(fd))
			_, err := at.Read(make([]byte, 1))
			require.ErrorIs(t, err, io.EOF)
			assert.NotZero(t, w.left(f, 4), "%s, %s", family, how)
			assert.NotZero(t, w.left(f, 6), "%s, %s", family, how)
		}
		fd, at := w.line(ends[0], ends[1], testMark)
		require.NoError(t, at.Close(), "the other end goes first")
		w.holder.Eventually(func() bool { n, err := unix.Read(fd, make([]byte, 1)); return n == 0 && err == nil }, "the end of the other's end")
		require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MARK, 0))
		require.NoError(t, unix.Close(fd))
		assert.NotZero(t, w.left(f, 4), family)
	}
	w.all(true, "lines that ended in order")
}

// TestFenceKeepsTheLeaseWhereTheEndDoesNotLeave: nobody hears of it, so the address goes on until its lease is over.
func TestFenceKeepsTheLeaseWhereTheEndDoesNotLeave(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	drop := exec.Command("nft", "-f", "-")
	drop.Stdin = strings.NewReader("table inet filter { chain out { type filter hook output priority 0; tcp dport 9646 tcp flags & (fin|rst) != 0 drop; }; }")
	out, err := drop.CombinedOutput()
	require.NoError(t, err, "%s", out)
	fd, at := w.line(lineEnds["IPv4"][0], lineEnds["IPv4"][1], testMark)
	require.NoError(t, unix.Close(fd))
	require.NoError(t, at.SetReadDeadline(time.Now().Add(300*time.Millisecond)))
	_, err = at.Read(make([]byte, 1))
	assert.ErrorIs(t, err, os.ErrDeadlineExceeded, "nothing is heard")
	assert.NotZero(t, w.left(f, 4))
}

// TestFenceEndsTheLeasesOfGroupsThatCameLater, and of none that is gone.
func TestFenceEndsTheLeasesOfGroupsThatCameLater(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	later := Group{ID: 9, Addresses: []netip.Addr{netip.MustParseAddr("10.1.0.109")}, Lease: long, Guard: 2 * long}
	require.NoError(t, f.set(append(sorted(f.want.groups)[:1], later)))
	require.NoError(t, f.verify())
	require.NoError(t, f.hold(4, 9))
	require.NoError(t, f.renew(9, time.Now().Add(long)))
	w.advertise(w.own4, 51, 100)
	fd, at := w.line(lineEnds["IPv4"][0], lineEnds["IPv4"][1], testMark)
	require.NoError(t, unix.Close(fd))
	_, err := at.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
	assert.Zero(t, w.left(f, 4))
	assert.Zero(t, w.left(f, 9), "a group whose lease this process renews")
	c, err := nftables.New()
	require.NoError(t, err)
	rules, err := c.GetRules(f.kernel.tables.link.table, f.kernel.tables.link.chain(chainEnded))
	require.NoError(t, err)
	assert.Len(t, rules, 2)
}

// TestFenceOfTheNextRunOutlivesTheRepeatedEndOfTheLast: nobody takes in the FIN of the dead process, so its kernel goes on sending it.
func TestFenceOfTheNextRunOutlivesTheRepeatedEndOfTheLast(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	fd, _ := w.line(lineEnds["IPv4"][0], lineEnds["IPv4"][1], testMark)
	w.client.Enter()
	drop := exec.Command("nft", "-f", "-")
	drop.Stdin = strings.NewReader("table inet drops { chain in { type filter hook input priority 0; tcp dport 9646 tcp flags & (fin|rst) != 0 counter drop; }; }")
	out, err := drop.CombinedOutput()
	require.NoError(t, err, "%s", out)
	repeated := func(times string) bool {
		w.client.Enter()
		defer w.holder.Enter()
		out, err := exec.Command("nft", "list", "table", "inet", "drops").CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.Contains(string(out), "counter packets "+times)
	}
	w.holder.Enter()
	groups := sorted(f.want.groups)
	require.NoError(t, unix.Close(fd))
	w.over(f, 4, 6)
	f.dies()
	next, err := open(w.index, "eth0", testMark+1, groups, 4, 6)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, next.remove()) })
	w.advertiseBoth()
	w.holder.Eventually(func() bool { return repeated("4 ") || repeated("5 ") || repeated("6 ") }, "the FIN again and again")
	assert.NotZero(t, w.left(next, 4))
	assert.NotZero(t, w.left(next, 6))
}
