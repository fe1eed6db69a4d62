package link

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// sockets are the connections of one fence to nftables. They stay open, because closing one makes the kernel wait until what earlier
// transactions have deleted is out of use by every processor, which takes a hundred times as long as a change of a set. The zero value has
// none open.
type sockets struct {
	lasting *nftables.Conn
	ask     *nl.SocketHandle
}

// answers holds the acknowledgements of a transaction that makes the table for hundreds of groups: they all come before the first is read.
const answers = 8 << 20

// roomForAnswers goes past the system's limit only with CAP_NET_ADMIN, which a fence needs anyway.
func roomForAnswers(c *netlink.Conn) error { return c.SetReadBuffer(answers) }

// tables is the connection for transactions and listings. After an error it has to be closed.
func (s *sockets) tables() (*nftables.Conn, error) {
	if s.lasting == nil {
		c, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(roomForAnswers))
		if err != nil {
			return nil, err
		}
		s.lasting = c
	}
	return s.lasting, nil
}

// close ends the connections; the next use opens new ones.
func (s *sockets) close() {
	if s.lasting != nil {
		_ = s.lasting.CloseLasting()
	}
	if s.ask != nil {
		s.ask.Close()
	}
	*s = sockets{}
}

// generation is a number that every change of any nftables table in this network namespace adds one to.
func (s *sockets) generation() (uint32, error) {
	const ask, answer = unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_GETGEN, unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWGEN
	if s.ask == nil {
		socket, err := nl.Subscribe(unix.NETLINK_NETFILTER)
		if err != nil {
			return 0, fmt.Errorf("generation of nftables: %w", err)
		}
		timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
		if err := errors.Join(socket.SetSendTimeout(&timeout), socket.SetReceiveTimeout(&timeout)); err != nil {
			socket.Close()
			return 0, fmt.Errorf("generation of nftables: %w", err)
		}
		s.ask = &nl.SocketHandle{Socket: socket}
	}
	r := nl.NewNetlinkRequest(ask, 0)
	r.Sockets = map[int]*nl.SocketHandle{unix.NETLINK_NETFILTER: s.ask}
	r.AddData(&nl.Nfgenmsg{Version: nl.NFNETLINK_V0})
	msgs, err := execute(r, unix.NETLINK_NETFILTER, answer)
	if err != nil {
		s.close()
		return 0, fmt.Errorf("generation of nftables: %w", err)
	}
	return generationIn(msgs)
}

func generationIn(msgs [][]byte) (uint32, error) {
	for _, m := range msgs {
		if len(m) < nl.SizeofNfgenmsg {
			continue
		}
		attrs, err := attributes(m[nl.SizeofNfgenmsg:])
		if v := attrs[unix.NFTA_GEN_ID]; err == nil && len(v) == 4 {
			return binary.BigEndian.Uint32(v), nil
		}
	}
	return 0, errors.New("generation of nftables: no answer")
}
