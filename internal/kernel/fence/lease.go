package fence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// LeaseLeft is how much of a group's lease the kernel has left at this moment, whoever renewed it; 0 for none. It is one short question, which
// does not wait for what others change.
func (f *Fence) LeaseLeft(id uint32) (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left, err := f.socket.left(f.tables.link.table.Name, leaseOf(id), f.tables.link.key())
	if err != nil {
		f.socket.close() // an answer may be half read
		return 0, f.wrap("look for the lease", err)
	}
	return left, nil
}

// left is the time that a key has in a timer of the table. Without the timer it has none.
func (s *sockets) left(table, timer string, key []byte) (time.Duration, error) {
	fd, err := s.asking()
	if err != nil {
		return 0, err
	}
	s.serial++
	answer, err := s.exchange(fd, elementQuestion(s.serial, table, timer, key))
	if err != nil {
		return 0, err
	}
	switch err := answerError(answer); {
	case errors.Is(err, unix.ENOENT):
		return 0, nil
	case err != nil:
		return 0, err
	case answer.Header.Type != unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWSETELEM:
		return 0, fmt.Errorf("an answer of type %#x and %d bytes", answer.Header.Type, len(answer.Data))
	}
	return expirationIn(answer.Data)
}

// expirationIn reads the time that the element in an answer has left: the kernel answers with none that has expired.
func expirationIn(answer []byte) (time.Duration, error) {
	value := answer[min(nl.SizeofNfgenmsg, len(answer)):]
	for _, kind := range []uint16{unix.NFTA_SET_ELEM_LIST_ELEMENTS, unix.NFTA_LIST_ELEM, unix.NFTA_SET_ELEM_EXPIRATION} {
		value = attributeIn(value, kind)
	}
	if len(value) != 8 {
		return 0, fmt.Errorf("an element without its expiration, in an answer of %d bytes", len(answer))
	}
	ms := min(binary.BigEndian.Uint64(value), uint64(time.Hour.Milliseconds())) // no lease is longer
	return max(time.Duration(ms)*time.Millisecond, time.Millisecond), nil
}

// attributeIn is the value of the first attribute of that kind; nil if there is none.
func attributeIn(b []byte, kind uint16) []byte {
	for len(b) >= unix.SizeofNlAttr {
		size := int(binary.NativeEndian.Uint16(b))
		if size < unix.SizeofNlAttr || size > len(b) {
			return nil
		}
		if binary.NativeEndian.Uint16(b[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER) == kind {
			return b[unix.SizeofNlAttr:size]
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}

// elementQuestion asks for one element of a set.
func elementQuestion(number uint32, table, set string, key []byte) []byte {
	value := attribute(nil, unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED, attribute(nil, unix.NFTA_DATA_VALUE, key))
	return nfMessage(nil, unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETSETELEM, 0, number, unix.NFPROTO_NETDEV, 0, elementOf(table, set, value))
}

// elementOf are the attributes of a message about one element of a set, which is described by those in value.
func elementOf(table, set string, value []byte) []byte {
	b := inSet(table, set)
	return attribute(b, unix.NFTA_SET_ELEM_LIST_ELEMENTS|unix.NLA_F_NESTED, attribute(nil, unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED, value))
}

// inSet are the attributes of a message about all elements of a set.
func inSet(table, set string) []byte {
	b := attribute(nil, unix.NFTA_SET_ELEM_LIST_TABLE, append([]byte(table), 0))
	return attribute(b, unix.NFTA_SET_ELEM_LIST_SET, append([]byte(set), 0))
}
