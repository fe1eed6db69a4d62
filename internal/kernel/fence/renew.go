package fence

import (
	"encoding/binary"
	"errors"
	"syscall"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// renew makes a timer of the table anew in one transaction: what was in it is out, and the key is in it for a while. The nftables
// library does the same, with an acknowledgement for each message, at twice the cost: this is all that an idle holder does five
// times a second. After an error the connections have to be closed.
func (s *sockets) renew(table, timer string, key []byte, left time.Duration) error {
	fd, err := s.asking()
	if err != nil {
		return err
	}
	first := s.serial + 1
	s.serial += 4 // one for each message
	b := renewalBatch(first, table, timer, key, left)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	var failed error
	for {
		msgs, err := s.receive(fd)
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, m := range msgs {
			done, err := acknowledged(m, first)
			if failed == nil {
				failed = err
			}
			if done {
				return failed
			}
		}
	}
}

// acknowledged reads an answer to one of the messages of a batch, of which that with the number first+2 asks for one. The kernel
// reports one that failed unasked, and a batch that failed as a whole as an answer to its first message.
func acknowledged(m syscall.NetlinkMessage, first uint32) (done bool, err error) {
	number := m.Header.Seq - first
	if m.Header.Type != unix.NLMSG_ERROR || len(m.Data) < 4 || number > 3 {
		return false, nil // the answer to something else
	}
	err = answerError(m)
	return number == 2 || number == 0 && err != nil, err
}

// renewalBatch empties a set and adds one element to it. Its messages are numbered from first on.
func renewalBatch(first uint32, table, set string, key []byte, left time.Duration) []byte {
	const nft = unix.NFNL_SUBSYS_NFTABLES << 8
	value := attribute(nil, unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED, attribute(nil, unix.NFTA_DATA_VALUE, key))
	value = attribute(value, unix.NFTA_SET_ELEM_TIMEOUT, binary.BigEndian.AppendUint64(nil, uint64(left.Milliseconds())))

	b := nfMessage(nil, unix.NFNL_MSG_BATCH_BEGIN, 0, first, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil)
	b = nfMessage(b, nft|unix.NFT_MSG_DELSETELEM, 0, first+1, unix.NFPROTO_NETDEV, 0, inSet(table, set))
	b = nfMessage(b, nft|unix.NFT_MSG_NEWSETELEM, unix.NLM_F_CREATE|unix.NLM_F_ACK, first+2, unix.NFPROTO_NETDEV, 0, elementOf(table, set, value))
	return nfMessage(b, unix.NFNL_MSG_BATCH_END, 0, first+3, unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES, nil)
}

// attribute appends one struct nlattr with its value, padded to 4 bytes.
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

// nfMessage appends a netlink message with a struct nfgenmsg and attributes.
func nfMessage(b []byte, kind, flags uint16, number uint32, family uint8, resource uint16, attrs []byte) []byte {
	b = binary.NativeEndian.AppendUint32(b, uint32(unix.NLMSG_HDRLEN+nl.SizeofNfgenmsg+len(attrs)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flags|unix.NLM_F_REQUEST)
	b = binary.NativeEndian.AppendUint32(b, number)
	b = binary.NativeEndian.AppendUint32(b, 0) // the kernel knows the sender
	b = append(b, family, nl.NFNETLINK_V0)
	b = binary.BigEndian.AppendUint16(b, resource)
	return append(b, attrs...)
}
