package nfttables

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/google/nftables"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Since Linux 6.9 a table can belong to a socket, and outlive it: nobody else can change or delete it meanwhile, and
// `nft flush ruleset` passes it over. When the process is gone the table is like any other, so a next run or a cleanup
// takes it over. An older kernel refuses the flags, and the tables are watched and made anew there (see [Watch]).

const (
	newTable = netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_NEWTABLE)
	delTable = netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | unix.NFT_MSG_DELTABLE)

	flagOwner   = 1 << 1 // NFT_TABLE_F_OWNER, Linux 5.12
	flagPersist = 1 << 2 // NFT_TABLE_F_PERSIST, Linux 6.9: the table stays when its owner is gone
)

// older has this process behave as on a kernel before 6.9. Tests set it, by the linker or by [Older].
var older string

// Older is for tests: with true this process behaves as on a kernel before 6.9.
func Older(yes bool) {
	owning.Store(0)
	if older = ""; yes {
		older = "yes"
	}
}

// owning is whether tables can be owned: 0 is not known yet, 1 yes, 2 no.
var owning atomic.Int32

// Owning reports whether the kernel lets a socket own tables that outlive it. It asks the kernel once, by a transaction
// that changes nothing.
func Owning() bool {
	if owning.Load() == 0 {
		answer := int32(2)
		if older == "" && canOwn() {
			answer = 1
		}
		owning.Store(answer)
	}
	return owning.Load() == 1
}

func canOwn() bool {
	var c Conn
	defer c.Close()
	id := ID{unix.NFPROTO_IPV4, "keepvip-try"}
	return c.Commit([]netlink.Message{table(newTable, id, flagOwner|flagPersist), deleteTable(id)}) == nil
}

// NewTable makes a table, or goes on with one that is there, owned by the Conn that commits it where the kernel can.
func NewTable(id ID) netlink.Message {
	if Owning() {
		return table(newTable, id, flagOwner|flagPersist)
	}
	return table(newTable, id, 0)
}

// deleteTable deletes a table, which has to be there.
func deleteTable(id ID) netlink.Message { return table(delTable, id, 0) }

// removeTable deletes a table, whether or not it is there.
func removeTable(id ID) []netlink.Message {
	return []netlink.Message{table(newTable, id, 0), deleteTable(id)}
}

// table is a message about a table. Without flags it says nothing of these: the kernel refuses to change some.
func table(kind netlink.HeaderType, id ID, flags uint32) netlink.Message {
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	ae.String(unix.NFTA_TABLE_NAME, id.Name)
	if flags != 0 {
		ae.Uint32(unix.NFTA_TABLE_FLAGS, flags)
	}
	b, _ := ae.Encode() // neither has an error
	m := netlink.Message{Data: append([]byte{id.Family, unix.NFNETLINK_V0, 0, 0}, b...)}
	if m.Header.Type = kind; kind == newTable {
		m.Header.Flags = netlink.Create
	}
	return m
}

// Encode is what build says by the nftables library, for [Conn.Commit]. The library has no flags of tables, and sends
// by a socket of its own: tables that it makes are as those of [NewTable] here, but for one that is deleted by the next
// message.
func Encode(build func(*nftables.Conn) error) ([]netlink.Message, error) {
	s, err := idleScribe()
	if err != nil {
		return nil, err
	}
	err = errors.Join(build(s.conn), s.conn.Flush())
	said := s.said
	if err != nil || len(said) == 0 {
		return nil, err
	}
	s.said = nil
	scribes.Put(s)
	said = said[1 : len(said)-1] // between the begin and the end of the batch
	for i, m := range said {
		if m.Header.Type != newTable {
			continue
		}
		id := ID{m.Data[0], nameIn(m.Data[header:])}
		if i+1 < len(said) && said[i+1].Header.Type == delTable {
			said[i] = table(newTable, id, 0)
		} else {
			said[i] = NewTable(id)
		}
	}
	return said, nil
}

// scribe is the library with a socket that keeps what is said. To open one costs several kilobytes, and leases are renewed all the time.
type scribe struct {
	conn *nftables.Conn
	said []netlink.Message
}

// scribes are those that nobody uses now. The library keeps an error for good, so a scribe that had one is not used again.
var scribes sync.Pool

func idleScribe() (*scribe, error) {
	if s, ok := scribes.Get().(*scribe); ok {
		return s, nil
	}
	s := &scribe{}
	var err error
	s.conn, err = nftables.New(nftables.AsLasting(), nftables.WithTestDial(func(batch []netlink.Message) ([]netlink.Message, error) {
		s.said = append(s.said, batch...)
		return nil, io.EOF // nobody answers
	}))
	return s, err
}
