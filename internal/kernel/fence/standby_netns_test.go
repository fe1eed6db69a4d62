//go:build netns

package fence

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
)

// move takes the addresses off one end of the cable, and gives them to the other.
func (w *wire) move(from, to *netnstest.Space, at, toLink string) {
	w.t.Helper()
	for _, vip := range []netip.Addr{vip4, vip6} {
		addr := &netlink.Addr{IPNet: &net.IPNet{IP: vip.AsSlice(), Mask: net.CIDRMask(vip.BitLen(), vip.BitLen())}, Flags: unix.IFA_F_NODAD}
		require.NoError(w.t, from.AddrDel(from.Link(at), addr))
		to.Has(toLink, addr.String())
	}
}

// TestFenceOnStandbySilencesAnAddressFromTheMomentItIsBound: nothing else is done here between the bind and the first question.
func TestFenceOnStandbySilencesAnAddressFromTheMomentItIsBound(t *testing.T) {
	w := newWire(t)
	f := w.fence(long, 2*long)
	require.True(t, f.canStandBy())
	for _, vip := range []netip.Addr{vip4, vip6} {
		require.NoError(t, w.h.Remove(w.index, netip.PrefixFrom(vip, vip.BitLen())))
	}
	require.NoError(t, f.standBy(4, 6))
	for _, vip := range []netip.Addr{vip4, vip6} {
		require.NoError(t, w.h.Add(w.index, []netip.Prefix{netip.PrefixFrom(vip, vip.BitLen())}, 0))
	}
	w.all(false, "bound without a lease")
	w.advertiseBoth()
	w.all(true, "with a lease")
	require.NoError(t, f.hold(4, 6))
	w.advertiseBoth()
	w.all(true, "held")
	require.NoError(t, f.verify())
	w.lapse(f, 4, 6)
	w.all(false, "held, and the lease is over")
	require.NoError(t, f.standBy(4, 6))
	w.all(false, "on standby again")
	require.NoError(t, f.rebuild(nil))
	w.all(false, "built anew")
	require.NoError(t, f.verify())
	require.NoError(t, f.release(4))
	require.NoError(t, f.release(6))
	w.all(true, "released")
}

// TestFenceOnStandbyIsOverByItself: nobody is locked out by a keepvip that is gone.
func TestFenceOnStandbyIsOverByItself(t *testing.T) {
	w := newWire(t)
	f := w.fence(50*time.Millisecond, 100*time.Millisecond)
	require.NoError(t, f.standBy(4, 6))
	w.all(false, "on standby")
	time.Sleep(standbyBeyond(0))
	w.holder.Eventually(func() bool { return w.answers(vip4) && w.answers(vip6) }, "an answer")
	require.NoError(t, f.verify(), "an end that had to come is not broken")
}

// TestFenceOnStandbyLetsTheNodeUseTheAddressesOfTheHolder: as a client, and as a router.
func TestFenceOnStandbyLetsTheNodeUseTheAddressesOfTheHolder(t *testing.T) {
	w := newWire(t)
	f := w.fence(200*time.Millisecond, 60*time.Second)
	require.NoError(t, f.standBy(4, 6))
	w.move(w.holder, w.client, "eth0", "cl0")
	w.client.Enter()
	for _, vip := range []netip.Addr{vip4, vip6} {
		l, err := net.Listen("tcp", netip.AddrPortFrom(vip, 6443).String())
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
	}
	w.holder.Enter()
	for _, vip := range []netip.Addr{vip4, vip6} {
		c, err := net.DialTimeout("tcp", netip.AddrPortFrom(vip, 6443).String(), netnstest.Patience)
		if assert.NoError(t, err, "a client on the node") {
			_ = c.Close()
		}
	}
	// A packet from the address comes in, and goes on by the same link.
	w.holder.Sysctl("net/ipv4/ip_forward", "1")
	far := netip.MustParseAddr("10.9.9.9")
	require.NoError(t, w.holder.RouteAdd(&netlink.Route{LinkIndex: w.index, Dst: &net.IPNet{IP: far.AsSlice(), Mask: net.CIDRMask(32, 32)}, Gw: net.IP{10, 1, 0, 9}}))
	w.client.Enter()
	fd := w.socketOf(unix.AF_PACKET, unix.SOCK_RAW, 0)
	index := w.client.Index("cl0")
	packets := []([]byte){w.packet(vip4, far), w.packet(netip.MustParseAddr("10.1.0.9"), vip4)}
	w.holder.Enter()
	for i, p := range packets {
		seen := make(chan int, 1)
		stop := make(chan struct{})
		go func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case <-stop:
					seen <- 0
					return
				case <-tick.C:
					_ = unix.Sendto(fd, p, 0, &unix.SockaddrLinklayer{Ifindex: index, Protocol: htons(unix.ETH_P_IP)})
				}
			}
		}()
		source := netip.AddrFrom4([4]byte(p[26:30]))
		w.says(fmt.Sprintf("packet %d is forwarded", i), source)
		close(stop)
		<-seen
	}
}

// packet is a frame with a UDP packet for the holder's MAC.
func (w *wire) packet(from, to netip.Addr) []byte {
	ip := slices.Concat([]byte{0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0}, from.AsSlice(), to.AsSlice())
	var sum uint32
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	mac := w.client.Link("cl0").Attrs().HardwareAddr
	return slices.Concat(w.mac, mac, []byte{8, 0}, ip, []byte{0x4e, 0x20, 0x4e, 0x21, 0, 8, 0, 0})
}
