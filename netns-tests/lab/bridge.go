package lab

import (
	"net"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/try"
)

const (
	brStateDisabled   = 0
	brStateForwarding = 3

	iflaBrportState = 1 // IFLA_BRPORT_STATE
)

// setPort sets the state of a port of the switch, and returns when the kernel has done it. To start `bridge link set` would take longer than the
// accuracy that is wanted.
func (l *Lab) setPort(port string, state byte) (err error) {
	defer try.Say(&err, "lab: set state of port %s", port)
	index := try.Get(l.Switch.linkIndex(port))
	return l.Switch.Do(func() error {
		request := nl.NewNetlinkRequest(unix.RTM_SETLINK, unix.NLM_F_ACK)
		message, info := nl.NewIfInfomsg(unix.AF_BRIDGE), nl.NewRtAttr(unix.IFLA_PROTINFO|unix.NLA_F_NESTED, nil)
		message.Index = int32(index)
		info.AddRtAttr(iflaBrportState, []byte{state})
		request.AddData(message)
		request.AddData(info)
		return try.Err(request.Execute(unix.NETLINK_ROUTE, 0))
	})
}

func (n *Namespace) linkIndex(name string) (_ int, err error) {
	defer try.Say(&err, "lab: interface %s in %s", name, n.Name)
	return try.Get(doIn(n, func() (*net.Interface, error) { return net.InterfaceByName(name) })).Index, nil
}
