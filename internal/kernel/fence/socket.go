package fence

import (
	"errors"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// sockets are the connections of one fence to nftables. The zero value has none open.
type sockets struct {
	nfttables.Conn                // for transactions and short questions; it owns the tables
	lasting        *nftables.Conn // for listings; open, as closing one waits for the kernel
}

// room is for the listing of a table for hundreds of groups.
const room = 8 << 20

// lists is the connection for listings. After an error it has to be closed.
func (s *sockets) lists() (*nftables.Conn, error) {
	if s.lasting == nil {
		// It goes past the system's limits only with CAP_NET_ADMIN, which a fence needs anyway.
		bigger := func(c *netlink.Conn) error { return errors.Join(c.SetReadBuffer(room), c.SetWriteBuffer(room)) }
		c, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(bigger))
		if err != nil {
			return nil, err
		}
		s.lasting = c
	}
	return s.lasting, nil
}

// endLists ends the connection for listings: an answer may be half read.
func (s *sockets) endLists() {
	if s.lasting != nil {
		_ = s.lasting.CloseLasting()
	}
	s.lasting = nil
}

// close ends the connections; the next use opens new ones.
func (s *sockets) close() {
	s.endLists()
	s.Close()
}

// transact carries out a transaction: all of it, or nothing.
func (s *sockets) transact(build func(*nftables.Conn) error) error {
	messages, err := nfttables.Encode(build)
	if err != nil {
		return err
	}
	return s.Commit(messages)
}
