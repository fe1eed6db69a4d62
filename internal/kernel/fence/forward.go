package fence

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
)

// Forwarding forwards to the node that had addresses before what clients still say on the connections to it: TCP
// packets that begin no connection and belong to none that is known here. The other node answers the clients by itself.
//
// What is known here is found out by looking for the socket, as the kernel would; of a server that listens on the
// address itself, instead of on all addresses, nothing is forwarded, and neither is what comes from the port of a
// connection that has ended here within the last minute (TIME_WAIT): link.ForgetEnded ends that. A Forwarding that is
// not kept up by Keep ends by itself. Its fields are set before Begin.
type Forwarding struct {
	Index     int          // of the link
	Heard     int          // of the one that has the addresses, where that is another one, on that link; 0: it is not
	Addresses []netip.Addr // bound here; Begin leaves out those of the other family than To's
	To        netip.Addr   // own address of a node on the link that drains their older connections
	Except    []uint16     // TCP ports whose packets stay here: translation, which comes later, knows where they belong

	table  *nftables.Table
	socket sockets
}

const (
	forwardPrefix = "keepvip-forward-"
	setForwarded  = "forwarded"
	// forwardPriority is before connection tracking, which has nothing to know of them.
	forwardPriority = -310
)

// Begin begins to forward, for the time given. It needs CAP_NET_ADMIN.
func (f *Forwarding) Begin(first time.Duration) error {
	f.Addresses = slices.DeleteFunc(slices.Clone(f.Addresses), func(a netip.Addr) bool { return a.Is4() != f.To.Is4() })
	f.table = &nftables.Table{Family: nftables.TableFamilyIPv6}
	if f.To.Is4() {
		f.table.Family = nftables.TableFamilyIPv4
	}
	if len(f.Addresses) == 0 {
		return fmt.Errorf("fence: forward to %s: no address of its family", f.To)
	}
	// An address is held by one instance of one process, so it tells the tables apart.
	f.table.Name = fmt.Sprintf("%s%x", forwardPrefix, f.Addresses[0].AsSlice())
	if err := f.socket.transact(func(c *nftables.Conn) error { return f.build(c, first) }); err != nil {
		f.socket.close()
		return fmt.Errorf("fence: forward %s to %s: %w", f.Addresses[0], f.To, err)
	}
	return nil
}

// Keep goes on for that time from now.
func (f *Forwarding) Keep(d time.Duration) error {
	err := f.socket.transact(func(c *nftables.Conn) error {
		c.FlushSet(f.set())
		return c.SetAddElements(f.set(), f.elements(d))
	})
	if err != nil {
		return fmt.Errorf("fence: forward %s to %s: %w", f.Addresses[0], f.To, err)
	}
	return nil
}

// Close ends it.
func (f *Forwarding) Close() error {
	err := f.socket.transact(func(c *nftables.Conn) error { c.DelTable(f.table); return nil })
	f.socket.close()
	if err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("fence: stop forwarding %s: %w", f.Addresses[0], err)
	}
	return nil
}

// build replaces what an earlier run has left.
func (f *Forwarding) build(c *nftables.Conn, first time.Duration) error {
	c.AddTable(f.table)
	c.DelTable(f.table)
	c.AddTable(f.table)
	if err := c.AddSet(f.set(), f.elements(first)); err != nil {
		return err
	}
	chain := c.AddChain(&nftables.Chain{
		Name: "prerouting", Table: f.table, Type: nftables.ChainTypeFilter,
		Hooknum: nftables.ChainHookPrerouting, Priority: nftables.ChainPriorityRef(forwardPriority),
	})
	c.AddRule(&nftables.Rule{Table: f.table, Chain: chain, Exprs: f.rule()})
	return nil
}

func (f *Forwarding) set() *nftables.Set {
	kind := nftables.TypeIP6Addr
	if f.To.Is4() {
		kind = nftables.TypeIPAddr
	}
	return &nftables.Set{Table: f.table, Name: setForwarded, KeyType: kind, HasTimeout: true}
}

func (f *Forwarding) elements(d time.Duration) []nftables.SetElement {
	out := make([]nftables.SetElement, len(f.Addresses))
	for i, a := range f.Addresses {
		out[i] = nftables.SetElement{Key: a.AsSlice(), Timeout: d}
	}
	return out
}

// The registers of 16 bytes.
const (
	registerNode = 1
	registerLink = 2
)

// rule matches a packet for which only a listening socket is found: of one that is being connected, or is waiting out its end, the kernel
// does not say how it was bound.
func (f *Forwarding) rule() match {
	destination, index := field{expr.PayloadBaseNetworkHeader, 24, 16}, binary.NativeEndian.AppendUint32(nil, uint32(f.Index))
	heard := binary.NativeEndian.AppendUint32(nil, uint32(cmp.Or(f.Heard, f.Index)))
	if f.To.Is4() {
		destination = field{expr.PayloadBaseNetworkHeader, 16, 4}
	}
	const syn = 0x02
	return and(
		match{
			&expr.Meta{Key: expr.MetaKeyIIF, Register: register},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: heard},
		},
		destination.load(),
		match{&expr.Lookup{SourceRegister: register, SetName: setForwarded}},
		l4proto(unix.IPPROTO_TCP),
		f.others(),
		tcpFlags.load(),
		match{
			&expr.Bitwise{SourceRegister: register, DestRegister: register, Len: 1, Mask: []byte{syn}, Xor: []byte{0}},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{0}},
			&expr.Socket{Key: expr.SocketKeyWildcard, Register: register},
			&expr.Cmp{Op: expr.CmpOpEq, Register: register, Data: []byte{1}},
			&expr.Immediate{Register: registerNode, Data: f.To.AsSlice()},
			&expr.Immediate{Register: registerLink, Data: index},
			&expr.Dup{RegAddr: registerNode, RegDev: registerLink, IsRegDevSet: true},
			&expr.Verdict{Kind: expr.VerdictDrop},
		},
	)
}

// others matches what goes to no port that is excepted.
func (f *Forwarding) others() match {
	if len(f.Except) == 0 {
		return nil
	}
	m := field{expr.PayloadBaseTransportHeader, 2, 2}.load()
	for _, p := range f.Except {
		m = append(m, &expr.Cmp{Op: expr.CmpOpNeq, Register: register, Data: binary.BigEndian.AppendUint16(nil, p)})
	}
	return m
}

func ourForwarding(name string) bool { return strings.HasPrefix(name, forwardPrefix) }
