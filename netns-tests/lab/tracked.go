package lab

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// Of linux/netfilter/nfnetlink_conntrack.h and nf_conntrack_common.h.
const (
	newTracked       = unix.NFNL_SUBSYS_CTNETLINK << 8 // IPCTNL_MSG_CT_NEW
	trackedOriginal  = 1                               // CTA_TUPLE_ORIG
	trackedReply     = 2                               // CTA_TUPLE_REPLY
	trackedStatus    = 3                               // CTA_STATUS
	trackedInfo      = 4                               // CTA_PROTOINFO
	trackedTimeout   = 7                               // CTA_TIMEOUT
	trackedAnswered  = 1<<1 | 1<<2 | 1<<3              // IPS_SEEN_REPLY, IPS_ASSURED, IPS_CONFIRMED
	trackedPerSend   = 200
	trackedLifetime  = 3600 // seconds
	trackedPerClient = 50000
)

// Track has the kernel of the namespace track so many connections of TCP more, over IPv4, that are open: from clients of 10.97.64.0/18, which there are
// none of, to the target. The answers come from the server. No packet is sent, and nobody has a socket of them.
func (n *Namespace) Track(target, server netip.AddrPort, count int) (err error) {
	defer try.Say(&err, "lab: track connections")
	fd := try.Get(n.netfilter())
	defer func() { _ = unix.Close(fd) }()
	var ask []byte
	for i := range count {
		client := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 97, byte(64 + i/trackedPerClient/250), byte(1 + i/trackedPerClient%250)}), uint16(1025+i%trackedPerClient))
		ask = append(ask, trackedConnection(client, target, server)...)
		if (i+1)%trackedPerSend > 0 && i+1 < count {
			continue
		}
		try.Do(unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
		ask = ask[:0]
		answer := make([]byte, 512)
		if size, _, err := unix.Recvfrom(fd, answer, unix.MSG_DONTWAIT); err == nil && size >= unix.NLMSG_HDRLEN+4 {
			return unix.Errno(-int32(binary.NativeEndian.Uint32(answer[unix.NLMSG_HDRLEN:])))
		}
	}
	return nil
}

// netfilter is a socket to the kernel's tracking of connections in the namespace.
func (n *Namespace) netfilter() (fd int, err error) {
	err = n.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
		return err
	})
	return fd, err
}

// ForgetTracked has it forget all connections, also those that have sockets.
func (n *Namespace) ForgetTracked() (err error) {
	defer try.Say(&err, "lab: forget tracked connections")
	fd := try.Get(n.netfilter())
	defer func() { _ = unix.Close(fd) }()
	const deleteTracked = unix.NFNL_SUBSYS_CTNETLINK<<8 | 2 // IPCTNL_MSG_CT_DELETE; without a tuple it is meant for all
	ask := netfilterRequest(deleteTracked, 0, []byte{unix.NFPROTO_IPV4, unix.NFNETLINK_V0, 0, 0})
	return unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// Tracked is how many connections the kernel of the namespace tracks, and how many at most.
func (n *Namespace) Tracked() (count, most int, err error) {
	err = n.Do(func() error {
		for name, to := range map[string]*int{"count": &count, "max": &most} {
			text, err := os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_" + name)
			if err == nil {
				*to, err = strconv.Atoi(strings.TrimSpace(string(text)))
			}
			if err != nil {
				return fmt.Errorf("lab: tracked connections: %w", err)
			}
		}
		return nil
	})
	return count, most, err
}

// trackedConnection is the request for one that is established, of which the kernel answers nothing but an error.
func trackedConnection(client, target, server netip.AddrPort) []byte {
	const established = 3
	data := []byte{unix.NFPROTO_IPV4, unix.NFNETLINK_V0, 0, 0}
	data = append(data, nested(trackedOriginal, tupleOf(client, target))...)
	data = append(data, nested(trackedReply, tupleOf(server, client))...)
	data = append(data, nlAttribute(trackedStatus, binary.BigEndian.AppendUint32(nil, trackedAnswered))...)
	data = append(data, nlAttribute(trackedTimeout, binary.BigEndian.AppendUint32(nil, trackedLifetime))...)
	data = append(data, nested(trackedInfo, nested(1, nlAttribute(1, []byte{established})))...)
	return netfilterRequest(newTracked, unix.NLM_F_CREATE|unix.NLM_F_EXCL, data)
}

func netfilterRequest(kind, flags uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.NLMSG_HDRLEN+len(data)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|flags)
	b = append(b, make([]byte, 8)...)
	return append(b, data...)
}

// tupleOf says from where to where one direction goes.
func tupleOf(from, to netip.AddrPort) []byte {
	port := func(p netip.AddrPort) []byte { return binary.BigEndian.AppendUint16(nil, p.Port()) }
	ip := append(nlAttribute(1, from.Addr().AsSlice()), nlAttribute(2, to.Addr().AsSlice())...)
	proto := append(nlAttribute(1, []byte{unix.IPPROTO_TCP}), nlAttribute(2, port(from))...)
	return append(nested(1, ip), nested(2, append(proto, nlAttribute(3, port(to))...))...)
}

func nested(kind uint16, data []byte) []byte { return nlAttribute(kind|unix.NLA_F_NESTED, data) }

// nlAttribute is padded to the next one.
func nlAttribute(kind uint16, data []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(data)))
	b = append(binary.NativeEndian.AppendUint16(b, kind), data...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}
