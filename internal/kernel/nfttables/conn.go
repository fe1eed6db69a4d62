package nfttables

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Conn is a socket for transactions and questions, and the owner of the tables that are made by it (see [NewTable]). It
// opens when it is used first, and belongs to one goroutine at a time. The zero Conn is ready.
//
// It stays open because the tables are owned by it, and because closing one makes the kernel wait until what earlier
// transactions have deleted is out of use by every processor, which takes a hundred times as long as a change of a set.
type Conn struct {
	open bool
	fd   int
	port uint32 // by which the kernel knows the socket
	seq  uint32
	own  map[ID]bool // tables that were made by it
}

// ID names a table.
type ID struct {
	Family byte // NFPROTO_*
	Name   string
}

func (id ID) String() string { return names[id.Family] + " " + id.Name }

// room is for a transaction that makes the tables for hundreds of entries, which is one message to the kernel, and for
// what it says of that.
const room = 8 << 20

// replyTimeout bounds the wait for one answer of the kernel, in seconds.
const replyTimeout = 10

// ports are those of the sockets of this process that change tables.
var ports sync.Map

func (c *Conn) dial() error {
	if c.open {
		return nil
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER)
	if err != nil {
		return fmt.Errorf("nfttables: open: %w", err)
	}
	// To go past the system's limits takes CAP_NET_ADMIN, which tables need anyway.
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, room),
		unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUFFORCE, room),
		unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: replyTimeout}),
	)
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("nfttables: open: %w", err), unix.Close(fd))
	}
	c.open, c.fd, c.port = true, fd, at.(*unix.SockaddrNetlink).Pid
	ports.Store(c.port, true)
	c.adopt()
	return nil
}

// adopt takes over the tables of a socket before, which nobody owns now. One that is gone stays gone.
func (c *Conn) adopt() {
	for id := range c.own {
		if _, err := c.Table(id); err != nil || c.Commit([]netlink.Message{NewTable(id)}) != nil {
			delete(c.own, id)
		}
	}
}

// LinkName asks for the name that an interface has now. The error wraps [unix.ENODEV] if it is gone.
func (c *Conn) LinkName(index int) (string, error) {
	if err := c.dial(); err != nil {
		return "", err
	}
	ifr, err := unix.NewIfreq("")
	if err != nil {
		return "", err
	}
	ifr.SetUint32(uint32(index))
	if err := unix.IoctlIfreq(c.fd, unix.SIOCGIFNAME, ifr); err != nil {
		return "", fmt.Errorf("nfttables: name of interface %d: %w", index, err)
	}
	return ifr.Name(), nil
}

// there are those of a list of families in which there is a table of that name.
func (c *Conn) there(families []byte, name string) (in []byte, err error) {
	for _, family := range families {
		switch _, err := c.Table(ID{family, name}); {
		case err == nil:
			in = append(in, family)
		case !errors.Is(err, unix.ENOENT) && !Unsupported(err):
			return nil, fmt.Errorf("nfttables: look for a table: %w", err)
		}
	}
	return in, nil
}

// Close closes the socket. Its tables stay, and nobody owns them until it is used again.
func (c *Conn) Close() {
	if c.open {
		_ = unix.Close(c.fd)
		ports.Delete(c.port)
	}
	c.open = false
}

// Commit carries out a transaction: all of it, or nothing. The error is the first that the kernel says, a
// [syscall.Errno].
func (c *Conn) Commit(messages []netlink.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if err := c.dial(); err != nil {
		return err
	}
	frame := netlink.Message{Data: binary.BigEndian.AppendUint16([]byte{unix.AF_UNSPEC, unix.NFNETLINK_V0}, unix.NFNL_SUBSYS_NFTABLES)}
	frame.Header.Type = unix.NFNL_MSG_BATCH_BEGIN
	ask := c.append(nil, frame, 0)
	for i, m := range messages {
		m.Header.Flags &^= netlink.Acknowledge // one for all of them
		if i == len(messages)-1 {
			m.Header.Flags |= netlink.Acknowledge
		}
		ask = c.append(ask, m, m.Header.Flags)
	}
	frame.Header.Type = unix.NFNL_MSG_BATCH_END
	ask = c.append(ask, frame, 0)
	err := c.exchange(ask, nothing)
	for end := time.Now().Add(dyingTime); errors.Is(err, unix.EPERM) && Owning() && time.Now().Before(end); {
		time.Sleep(dyingTime / 50)
		err = c.exchange(ask, nothing)
	}
	if err == nil {
		c.note(messages)
	}
	return err
}

// dyingTime is how long a transaction waits for the owner of a table to be gone: of a process that was killed the
// kernel closes one socket after the other, and the next run may begin as soon as the first are.
const dyingTime = 500 * time.Millisecond

func nothing(uint16, []byte) {}

// note notes whose tables are there now.
func (c *Conn) note(messages []netlink.Message) {
	for _, m := range messages {
		if m.Header.Type != newTable && m.Header.Type != delTable {
			continue
		}
		id := ID{m.Data[0], nameIn(m.Data[header:])}
		delete(c.own, id)
		if m.Header.Type == newTable && attribute(m.Data[header:], unix.NFTA_TABLE_FLAGS) != nil {
			if c.own == nil {
				c.own = map[ID]bool{}
			}
			c.own[id] = true
		}
	}
}

// header is the length of a struct nfgenmsg.
const header = 4

// append adds a message with the next number.
func (c *Conn) append(to []byte, m netlink.Message, flags netlink.HeaderFlags) []byte {
	c.seq++
	to = binary.NativeEndian.AppendUint32(to, uint32(unix.NLMSG_HDRLEN+len(m.Data)))
	to = binary.NativeEndian.AppendUint16(to, uint16(m.Header.Type))
	to = binary.NativeEndian.AppendUint16(to, uint16(flags|netlink.Request))
	to = binary.NativeEndian.AppendUint32(to, c.seq)
	to = binary.NativeEndian.AppendUint32(to, 0) // the kernel knows the sender
	to = append(to, m.Data...)
	return append(to, make([]byte, -len(m.Data)&3)...)
}

// Ask asks a question, and gives the attributes of each answer to each, with the kind of the message (NFT_MSG_*). What
// it gives is valid until each returns. family is one of NFPROTO_*; with [netlink.Dump] in flags the kernel lists all
// that there is.
func (c *Conn) Ask(kind uint16, flags netlink.HeaderFlags, family byte, attributes []byte, each func(kind uint16, attributes []byte)) error {
	if err := c.dial(); err != nil {
		return err
	}
	m := netlink.Message{Data: append([]byte{family, unix.NFNETLINK_V0, 0, 0}, attributes...)}
	m.Header.Type = netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind)
	return c.exchange(c.append(nil, m, flags), each)
}

// buffers are shared by all sockets: what one says is read immediately. The kernel fills 32 KiB of a list at most.
var buffers = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// exchange sends what was numbered last, and reads all that is said of it. The kernel carries out, or answers, what it
// is sent before the call of send returns, so nothing is waited for. After an error of the socket itself it is closed.
func (c *Conn) exchange(ask []byte, each func(kind uint16, attributes []byte)) (failed error) {
	if err := unix.Sendto(c.fd, ask, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		c.Close()
		return err
	}
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	for {
		n, _, err := unix.Recvfrom(c.fd, *b, unix.MSG_DONTWAIT)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return failed
		case err != nil:
			c.Close()
			return err
		}
		messages, err := syscall.ParseNetlinkMessage((*b)[:n])
		if err != nil {
			c.Close()
			return err
		}
		for _, m := range messages {
			if err := refusal(m); err != nil && failed == nil {
				failed = err
			}
			if m.Header.Type>>8 == unix.NFNL_SUBSYS_NFTABLES && len(m.Data) >= header {
				each(m.Header.Type&0xff, m.Data[header:])
			}
		}
	}
}

// refusal is the error that a message says; nil: none.
func refusal(m syscall.NetlinkMessage) error {
	if m.Header.Type != unix.NLMSG_ERROR && m.Header.Type != unix.NLMSG_DONE || len(m.Data) < 4 {
		return nil
	}
	if code := int32(binary.NativeEndian.Uint32(m.Data)); code < 0 {
		return unix.Errno(-code)
	}
	return nil
}

// errSilent: the kernel has said nothing.
var errSilent = errors.New("nfttables: no answer")

// Generation is a number that every change of any nftables table in this network namespace adds one to.
func (c *Conn) Generation() (uint32, error) {
	id, err := uint32(0), errSilent
	failed := c.Ask(unix.NFT_MSG_GETGEN, 0, unix.AF_UNSPEC, nil, func(_ uint16, in []byte) {
		if v := attribute(in, unix.NFTA_GEN_ID); len(v) == 4 {
			id, err = binary.BigEndian.Uint32(v), nil
		}
	})
	return id, errors.Join(failed, err)
}

// state is what the kernel says of a table.
type state struct {
	Handle uint64 // of no other table before or after
	Uses   uint32 // how many chains, sets and maps are in it
	Mine   bool   // it is owned by this Conn: nobody else can change it
}

const (
	tableHandle = 4 // NFTA_TABLE_HANDLE
	tableOwner  = 7 // NFTA_TABLE_OWNER
)

// Table looks for a table. The error wraps [unix.ENOENT] if it is not there.
func (c *Conn) Table(id ID) (state, error) {
	s, err := state{}, errSilent
	failed := c.Ask(unix.NFT_MSG_GETTABLE, 0, id.Family, tableName(id.Name), func(_ uint16, in []byte) {
		handle, uses, owner := attribute(in, tableHandle), attribute(in, unix.NFTA_TABLE_USE), attribute(in, tableOwner)
		if len(handle) == 8 && len(uses) == 4 {
			s.Handle, s.Uses, err = binary.BigEndian.Uint64(handle), binary.BigEndian.Uint32(uses), nil
			s.Mine = len(owner) == 4 && binary.BigEndian.Uint32(owner) == c.port
		}
	})
	if failed != nil {
		return state{}, failed
	}
	return s, err
}

func tableName(name string) []byte {
	ae := netlink.NewAttributeEncoder()
	ae.String(unix.NFTA_TABLE_NAME, name)
	b, _ := ae.Encode() // a string has no error
	return b
}

func nameIn(attributes []byte) string {
	return unix.ByteSliceToString(attribute(attributes, unix.NFTA_TABLE_NAME))
}

// attribute is the data of the first attribute of that kind; nil if there is none.
func attribute(in []byte, want uint16) (out []byte) {
	eachAttribute(in, func(kind uint16, data []byte) {
		if kind == want && out == nil {
			out = data
		}
	})
	return out
}

// Attribute is the data of the first attribute at a path of kinds; nil if there is none.
func Attribute(in []byte, path ...uint16) []byte {
	for _, kind := range path {
		in = attribute(in, kind)
	}
	return in
}

// eachAttribute goes through attributes, which the kernel has made.
func eachAttribute(in []byte, do func(kind uint16, data []byte)) {
	for len(in) >= unix.SizeofNlAttr {
		length, kind := int(binary.NativeEndian.Uint16(in)), binary.NativeEndian.Uint16(in[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)
		if length < unix.SizeofNlAttr || length > len(in) {
			return
		}
		do(kind, in[unix.SizeofNlAttr:length])
		in = in[min((length+3)&^3, len(in)):]
	}
}
