package lab

import (
	"encoding/binary"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	trackedAnswered  = 1<<1 | 1<<2 | 1<<3 // IPS_SEEN_REPLY, IPS_ASSURED, IPS_CONFIRMED
	trackedPerSend   = 200
	trackedLifetime  = 3600 // seconds
	trackedPerClient = 50000
)

// Track has the kernel of the namespace track so many connections of TCP more, over IPv4, that are open: from clients of 10.97.64.0/18, which there are
// none of, to the target. The answers come from the server. No packet is sent, and nobody has a socket of them.
func (n *Namespace) Track(target, server netip.AddrPort, count int) (err error) {
	defer try.Say(&err, "lab: track connections")
	fd := try.Get(doIn(n, func() (int, error) {
		return unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	}))
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

// ForgetTracked has it forget all connections, also those that have sockets.
func (n *Namespace) ForgetTracked() error {
	return n.Do(func() error { return netlink.ConntrackTableFlush(netlink.ConntrackTable) })
}

// Tracked is how many connections the kernel of the namespace tracks, and how many at most.
func (n *Namespace) Tracked() (count, most int, err error) {
	defer try.Say(&err, "lab: tracked connections")
	err = n.Do(func() (err error) {
		defer try.Catch(&err)
		for name, to := range map[string]*int{"count": &count, "max": &most} {
			text := try.Get(os.ReadFile("/proc/sys/net/netfilter/nf_conntrack_" + name))
			*to = try.Get(strconv.Atoi(strings.TrimSpace(string(text))))
		}
		return nil
	})
	return count, most, err
}

// trackedConnection is the request for one that is established, of which the kernel answers nothing but an error.
func trackedConnection(client, target, server netip.AddrPort) []byte {
	const established = 3
	request := nl.NewNetlinkRequest(unix.NFNL_SUBSYS_CTNETLINK<<8|nl.IPCTNL_MSG_CT_NEW, unix.NLM_F_CREATE|unix.NLM_F_EXCL)
	request.AddData(&nl.Nfgenmsg{NfgenFamily: unix.AF_INET, Version: nl.NFNETLINK_V0})
	request.AddData(trackedWay(nl.CTA_TUPLE_ORIG, client, target))
	request.AddData(trackedWay(nl.CTA_TUPLE_REPLY, server, client))
	request.AddData(nl.NewRtAttr(nl.CTA_STATUS, nl.BEUint32Attr(trackedAnswered)))
	request.AddData(nl.NewRtAttr(nl.CTA_TIMEOUT, nl.BEUint32Attr(trackedLifetime)))
	info := nl.NewRtAttr(nl.CTA_PROTOINFO|unix.NLA_F_NESTED, nil)
	info.AddRtAttr(nl.CTA_PROTOINFO_TCP|unix.NLA_F_NESTED, nil).AddRtAttr(nl.CTA_PROTOINFO_TCP_STATE, []byte{established})
	request.AddData(info)
	return request.Serialize()
}

// trackedWay says from where to where one direction goes.
func trackedWay(kind int, from, to netip.AddrPort) *nl.RtAttr {
	way := nl.NewRtAttr(kind|unix.NLA_F_NESTED, nil)
	ip := way.AddRtAttr(nl.CTA_TUPLE_IP|unix.NLA_F_NESTED, nil)
	ip.AddRtAttr(nl.CTA_IP_V4_SRC, from.Addr().AsSlice())
	ip.AddRtAttr(nl.CTA_IP_V4_DST, to.Addr().AsSlice())
	proto := way.AddRtAttr(nl.CTA_TUPLE_PROTO|unix.NLA_F_NESTED, nil)
	proto.AddRtAttr(nl.CTA_PROTO_NUM, []byte{unix.IPPROTO_TCP})
	proto.AddRtAttr(nl.CTA_PROTO_SRC_PORT, nl.BEUint16Attr(from.Port()))
	proto.AddRtAttr(nl.CTA_PROTO_DST_PORT, nl.BEUint16Attr(to.Port()))
	return way
}
