//go:build netns

package spreadtables

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/netnstest"
	"github.com/keepvip/keepvip/members/slots"
)

// marking is a dialer of a client that gives all that it sends a DSCP.
func marking(vip netip.Addr, dscp int) *net.Dialer {
	return &net.Dialer{Timeout: netnstest.Patience, Control: func(_, _ string, raw syscall.RawConn) error {
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if vip.Is6() {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		var set error
		err := raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), level, option, dscp<<2) })
		return errors.Join(err, set)
	}}
}

// TestMarkOfAClientChoosesNoMember has a client set the DSCP that members tell each other by: it gets the owner of its slot, as without.
func TestMarkOfAClientChoosesNoMember(t *testing.T) {
	l := newLab(t)
	l.owned(1, slots.None)
	for _, ingress := range []bool{true, false} {
		if !ingress {
			for _, n := range l.members {
				n.In(func() { _ = exec.Command("nft", "delete table netdev keepvip-spread-api").Run() })
			}
		}
		for name, vip := range both {
			for _, dscp := range append([]byte{markSpread}, chances[:]...) {
				said := fmt.Sprintf("%s, DSCP %d, at the link %t", name, dscp, ingress)
				var c, u net.Conn
				l.client.In(func() {
					var err error
					c, err = marking(vip, int(dscp)).Dial("tcp", netip.AddrPortFrom(vip, front).String())
					require.NoError(t, err, said)
					u, err = marking(vip, int(dscp)).Dial("udp", netip.AddrPortFrom(vip, dns).String())
					require.NoError(t, err, said)
				})
				require.NoError(t, c.SetDeadline(time.Now().Add(netnstest.Patience)))
				require.NoError(t, u.SetDeadline(time.Now().Add(netnstest.Patience)))
				answer := make([]byte, 100)
				n, err := c.Read(answer)
				require.NoError(t, err, said)
				assert.Equal(t, "1 ", string(answer[:min(n, 2)]), said)
				_, err = u.Write([]byte("x"))
				require.NoError(t, err, said)
				n, err = u.Read(answer)
				require.NoError(t, err, said)
				assert.Equal(t, "1 1", string(answer[:n]), said)
				require.NoError(t, c.Close())
				require.NoError(t, u.Close())
			}
		}
	}
}
