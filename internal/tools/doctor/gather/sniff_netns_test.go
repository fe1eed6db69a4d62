//go:build netns

package gather

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/internal/tools/doctor"
)

// tagged is a frame with a tag of IEEE 802.1Q: priority 6, and a VLAN, of which 0 is none.
func tagged(frame []byte, vlan uint16) []byte {
	tag := binary.BigEndian.AppendUint16([]byte{0x81, 0x00}, 6<<13|vlan)
	return slices.Concat(frame[:12], tag, frame[12:])
}

// A switch or a hypervisor that sets priorities makes nobody deaf: the kernel takes the frame as one without a tag, and so does the sniffer.
func TestSnifferHearsFramesWithAPriorityTag(t *testing.T) {
	space := netnstest.New(t)
	space.Pair("eth0", space, "eth1")
	n := &notes{mac: "02:00:00:00:00:11", wire: doctor.Wire{IPv4: true}}
	// The thread is the test's: a goroutine of its own would look in another namespace.
	fd, err := openSniffer(space.Index("eth0"), 9646, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wg sync.WaitGroup
	wg.Go(func() { sniffFrom(ctx, fd, 9646, n) })

	out, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	defer unix.Close(out)
	send := func(vrid byte, vlan *uint16) {
		payload := advertisement(t)
		payload[1] = vrid
		binary.BigEndian.PutUint16(payload[6:], binary.BigEndian.Uint16(payload[6:])-uint16(vrid)+51)
		b := frame(source4, group4, protoVRRP, 255, payload)
		copy(b, []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
		if vlan != nil {
			b = tagged(b, *vlan)
		}
		to := &unix.SockaddrLinklayer{Ifindex: space.Index("eth1"), Protocol: binary.NativeEndian.Uint16([]byte{b[12], b[13]}), Halen: 6}
		require.NoError(t, unix.Sendto(out, b, 0, to))
	}
	none, other := uint16(0), uint16(7)
	send(53, &other)
	send(52, &none)
	send(51, nil)
	heard := func() (vrids []uint8) {
		for _, a := range n.facts().Adverts {
			vrids = append(vrids, a.VRID)
		}
		return vrids
	}
	assert.Eventually(t, func() bool { return slices.Contains(heard(), 51) }, netnstest.Patience, 10*time.Millisecond)
	assert.Equal(t, []uint8{52, 51}, heard(), "the VLAN 7 is another interface's")
	cancel()
	wg.Wait()
}
