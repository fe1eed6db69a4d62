package fence

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Leased reports whether a group has a lease in the kernel at this moment, whoever renewed it. It is one short question, which does not wait
// for what others change.
func (f *Fence) Leased(id uint32) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	leased, err := f.socket.has(f.table.Name, leaseOf(id), f.key())
	if err != nil {
		f.socket.close() // an answer may be half read
		return false, f.wrap("look for the lease", err)
	}
	return leased, nil
}

// has tells whether a key is in a timer of the table, and has time left. Neither is there without the timer.
func (s *sockets) has(table, timer string, key []byte) (bool, error) {
	fd, err := s.asking()
	if err != nil {
		return false, err
	}
	s.serial++
	answer, err := s.exchange(fd, elementQuestion(s.serial, table, timer, key))
	if err != nil {
		return false, err
	}
	switch err := answerError(answer); {
	case errors.Is(err, unix.ENOENT):
		return false, nil
	case err != nil:
		return false, err
	case answer.Header.Type != unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWSETELEM:
		return false, fmt.Errorf("an answer of type %#x and %d bytes", answer.Header.Type, len(answer.Data))
	}
	return true, nil
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
