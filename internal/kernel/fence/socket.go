package fence

import (
	"encoding/binary"
	"errors"
	"fmt"
	"syscall"
	"time"

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
	ask     *nl.NetlinkSocket
	serial  uint32    // of what is asked
	answer  [512]byte // to it
}

// replyTimeout bounds one exchange with the kernel.
const replyTimeout = 10 * time.Second

// room is for a transaction that makes the table for hundreds of groups, which is one message to the kernel, and for the acknowledgements of
// it, which all come before the first is read.
const room = 8 << 20

// roomForGroups goes past the system's limits only with CAP_NET_ADMIN, which a fence needs anyway.
func roomForGroups(c *netlink.Conn) error {
	return errors.Join(c.SetReadBuffer(room), c.SetWriteBuffer(room))
}

// tables is the connection for transactions and listings. After an error it has to be closed.
func (s *sockets) tables() (*nftables.Conn, error) {
	if s.lasting == nil {
		c, err := nftables.New(nftables.AsLasting(), nftables.WithSockOptions(roomForGroups))
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

// asking is the descriptor of the connection for short questions.
func (s *sockets) asking() (int, error) {
	if s.ask == nil {
		socket, err := nl.Subscribe(unix.NETLINK_NETFILTER)
		if err != nil {
			return -1, err
		}
		timeout := unix.NsecToTimeval(replyTimeout.Nanoseconds())
		if err := errors.Join(socket.SetSendTimeout(&timeout), socket.SetReceiveTimeout(&timeout)); err != nil {
			socket.Close()
			return -1, err
		}
		s.ask = socket
	}
	return s.ask.GetFd(), nil
}

// generation is a number that every change of any nftables table in this network namespace adds one to.
func (s *sockets) generation() (uint32, error) {
	n, err := s.askGeneration()
	if err != nil {
		s.close()
		return 0, fmt.Errorf("generation of nftables: %w", err)
	}
	return n, nil
}

// askGeneration receives into a few bytes: this is asked twice a second, and the netlink library would take 64 KiB of stack for it.
func (s *sockets) askGeneration() (uint32, error) {
	fd, err := s.asking()
	if err != nil {
		return 0, err
	}
	s.serial++
	ask := nfMessage(nil, unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_GETGEN, 0, s.serial, unix.AF_UNSPEC, 0, nil)
	answer, err := s.exchange(fd, ask)
	if err != nil {
		return 0, err
	}
	return generationIn(answer)
}

// exchange asks a question that has the newest number, and returns the answer to it, which is valid until something else is received.
func (s *sockets) exchange(fd int, ask []byte) (syscall.NetlinkMessage, error) {
	if err := unix.Sendto(fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return syscall.NetlinkMessage{}, err
	}
	for {
		msgs, err := s.receive(fd)
		if err != nil {
			return syscall.NetlinkMessage{}, err
		}
		for _, m := range msgs {
			if m.Header.Seq == s.serial {
				return m, nil
			}
		}
	}
}

// answerError is the error in an answer; nil if it carries none.
func answerError(m syscall.NetlinkMessage) error {
	if m.Header.Type != unix.NLMSG_ERROR || len(m.Data) < 4 {
		return nil
	}
	if code := int32(binary.NativeEndian.Uint32(m.Data)); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}

// receive returns the next messages, which are valid until it is called again.
func (s *sockets) receive(fd int) ([]syscall.NetlinkMessage, error) {
	for {
		switch n, _, err := unix.Recvfrom(fd, s.answer[:], 0); err {
		case nil:
			return syscall.ParseNetlinkMessage(s.answer[:n])
		case unix.EINTR:
		default:
			return nil, err
		}
	}
}

// generationIn reads the answer.
func generationIn(m syscall.NetlinkMessage) (uint32, error) {
	if err := answerError(m); err != nil {
		return 0, err
	}
	if m.Header.Type != unix.NFNL_SUBSYS_NFTABLES<<8|unix.NFT_MSG_NEWGEN || len(m.Data) < nl.SizeofNfgenmsg {
		return 0, fmt.Errorf("an answer of type %#x and %d bytes", m.Header.Type, len(m.Data))
	}
	attrs, err := netlink.UnmarshalAttributes(m.Data[nl.SizeofNfgenmsg:])
	for _, a := range attrs {
		if err == nil && a.Type == unix.NFTA_GEN_ID && len(a.Data) == 4 {
			return binary.BigEndian.Uint32(a.Data), nil
		}
	}
	return 0, errors.New("an answer without a number")
}

// nameOf asks the kernel for the name that an interface has now. The error wraps unix.ENODEV if it is gone.
func (s *sockets) nameOf(index int) (string, error) {
	fd, err := s.asking()
	if err != nil {
		return "", fmt.Errorf("name of interface %d: %w", index, err)
	}
	ifr, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	ifr.SetUint32(uint32(index))
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFNAME, ifr); err != nil {
		return "", fmt.Errorf("name of interface %d: %w", index, err)
	}
	return ifr.Name(), nil
}
