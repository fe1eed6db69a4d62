package lab

import (
	"encoding/binary"
	"fmt"
	"net"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	brStateDisabled   = 0
	brStateForwarding = 3

	iflaBrportState = 1 // IFLA_BRPORT_STATE
)

// bridgeControl sets the state of switch ports over one netlink socket: starting
// `bridge link set` would take longer than the accuracy that is wanted.
type bridgeControl struct {
	space *Namespace

	mu  sync.Mutex
	fd  int
	seq uint32
}

func openBridgeControl(space *Namespace) (*bridgeControl, error) {
	b := &bridgeControl{space: space}
	err := space.Do(func() (err error) {
		b.fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("lab: netlink socket in the switch: %w", err)
	}
	return b, nil
}

func (b *bridgeControl) close() { unix.Close(b.fd) }

// setState sets a port's state and returns when the kernel has done it.
func (b *bridgeControl) setState(port string, state byte) (err error) {
	defer try.Catch(&err)
	index := try.Get(b.space.linkIndex(port))
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seq++
	if err := unix.Sendto(b.fd, portStateRequest(index, state, b.seq), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("lab: set state of port %s: %w", port, err)
	}
	reply := make([]byte, 4096)
	n, _, err := unix.Recvfrom(b.fd, reply, 0)
	if err != nil {
		return fmt.Errorf("lab: set state of port %s: %w", port, err)
	}
	if n < unix.NLMSG_HDRLEN+4 || binary.NativeEndian.Uint16(reply[4:]) != unix.NLMSG_ERROR {
		return fmt.Errorf("lab: set state of port %s: unexpected netlink reply", port)
	}
	if code := int32(binary.NativeEndian.Uint32(reply[unix.NLMSG_HDRLEN:])); code != 0 {
		return fmt.Errorf("lab: set state of port %s: %w", port, unix.Errno(-code))
	}
	return nil
}

// portStateRequest builds RTM_SETLINK with IFLA_PROTINFO{IFLA_BRPORT_STATE}.
func portStateRequest(index int, state byte, seq uint32) []byte {
	b := make([]byte, unix.NLMSG_HDRLEN+unix.SizeofIfInfomsg, 64)
	binary.NativeEndian.PutUint16(b[4:], unix.RTM_SETLINK)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	binary.NativeEndian.PutUint32(b[8:], seq)
	b[unix.NLMSG_HDRLEN] = unix.AF_BRIDGE
	binary.NativeEndian.PutUint32(b[unix.NLMSG_HDRLEN+4:], uint32(index))
	b = binary.NativeEndian.AppendUint16(b, 4+8)
	b = binary.NativeEndian.AppendUint16(b, unix.IFLA_PROTINFO|unix.NLA_F_NESTED)
	b = binary.NativeEndian.AppendUint16(b, 5)
	b = binary.NativeEndian.AppendUint16(b, iflaBrportState)
	b = append(b, state, 0, 0, 0)
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

func (n *Namespace) linkIndex(name string) (int, error) {
	var index int
	err := n.Do(func() error {
		link, err := net.InterfaceByName(name)
		if err != nil {
			return fmt.Errorf("lab: interface %s in %s: %w", name, n.Name, err)
		}
		index = link.Index
		return nil
	})
	return index, err
}
