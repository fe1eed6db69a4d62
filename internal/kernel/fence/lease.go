package fence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// leaseLeft is how much of a group's lease the kernel has left at this moment, whoever renewed it; 0 for none. It is one short question, which
// does not wait for what others change.
func (f *linkFence) leaseLeft(id uint32) (time.Duration, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	left, err := f.kernel.socket.left(f.kernel.tables.link.table.Name, leaseOf(id), f.kernel.tables.link.key())
	if err != nil {
		return 0, f.wrap("look for the lease", err)
	}
	return left, nil
}

// left is the time that a key has in a timer of the table. Without the timer it has none.
func (s *sockets) left(table, timer string, key []byte) (left time.Duration, err error) {
	value := attribute(nil, unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED, attribute(nil, unix.NFTA_DATA_VALUE, key))
	err = errors.New("an element without an answer")
	failed := s.Ask(unix.NFT_MSG_GETSETELEM, 0, unix.NFPROTO_NETDEV, elementOf(table, timer, value), func(_ uint16, answer []byte) {
		left, err = expirationIn(answer)
	})
	switch {
	case errors.Is(failed, unix.ENOENT):
		return 0, nil
	case failed != nil:
		return 0, failed
	}
	return left, err
}

// expirationIn reads the time that the element in an answer has left: the kernel answers with none that has expired.
func expirationIn(answer []byte) (time.Duration, error) {
	value := nfttables.Attribute(answer, unix.NFTA_SET_ELEM_LIST_ELEMENTS, unix.NFTA_LIST_ELEM, unix.NFTA_SET_ELEM_EXPIRATION)
	if len(value) != 8 {
		return 0, fmt.Errorf("an element without its expiration, in an answer of %d bytes", len(answer))
	}
	ms := min(binary.BigEndian.Uint64(value), uint64(time.Hour.Milliseconds())) // no lease is longer
	return max(time.Duration(ms)*time.Millisecond, time.Millisecond), nil
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
