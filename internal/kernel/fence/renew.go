package fence

import (
	"encoding/binary"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// renew makes a timer of the table anew in one transaction: what was in it is out, and the key is in it for a while. It
// does not go through the nftables library, which takes several times as long: this is all that an idle holder does
// five times a second.
func (s *sockets) renew(table, timer string, key []byte, left time.Duration) error {
	return s.Commit(timerAnew(table, timer, key, left))
}

// timerAnew empties a set and adds one element to it.
func timerAnew(table, set string, key []byte, left time.Duration) []netlink.Message {
	value := attribute(nil, unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED, attribute(nil, unix.NFTA_DATA_VALUE, key))
	value = attribute(value, unix.NFTA_SET_ELEM_TIMEOUT, binary.BigEndian.AppendUint64(nil, uint64(left.Milliseconds())))
	return []netlink.Message{
		message(unix.NFT_MSG_DELSETELEM, 0, inSet(table, set)),
		message(unix.NFT_MSG_NEWSETELEM, netlink.Create, elementOf(table, set, value)),
	}
}

// attribute appends one struct nlattr with its value, padded to 4 bytes.
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

// message is one about the table of a link.
func message(kind netlink.HeaderType, flags netlink.HeaderFlags, attributes []byte) netlink.Message {
	return netlink.Message{
		Header: netlink.Header{Type: unix.NFNL_SUBSYS_NFTABLES<<8 | kind, Flags: flags},
		Data:   append([]byte{unix.NFPROTO_NETDEV, unix.NFNETLINK_V0, 0, 0}, attributes...),
	}
}
