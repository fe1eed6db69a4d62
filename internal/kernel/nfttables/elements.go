package nfttables

import (
	"encoding/binary"
	"slices"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/members/slots"
)

// elementsPerMessage keeps a message's list of elements within the 64 KiB that the length of a netlink attribute can
// say.
const elementsPerMessage = 400

// bytesOfElement is room for one, with an address of IPv6, or the name of a chain to one of IPv4.
const bytesOfElement = 64

// elements adds elements (NFT_MSG_NEWSETELEM), or takes them away (NFT_MSG_DELSETELEM).
func (b *batch) elements(kind int, family byte, s Set, elements []Element, lifetime time.Duration) {
	for part := range slices.Chunk(elements, elementsPerMessage) {
		b.list(kind, family, s, len(part), func(to []byte, i int) []byte { return part[i].append(to, s, part[i].Key, lifetime) })
	}
}

// slots does the same with the elements of these slots. Of those that it takes away the value does not matter.
func (b *batch) slots(kind int, family byte, s Set, of []uint32) {
	var key [4]byte
	for part := range slices.Chunk(of, elementsPerMessage) {
		b.list(kind, family, s, len(part), func(to []byte, i int) []byte {
			binary.NativeEndian.PutUint32(key[:], part[i])
			if kind == unix.NFT_MSG_DELSETELEM {
				return appendKey(to, key[:])
			}
			e, _ := s.BySlot.Of(int(part[i]))
			return e.append(to, s, string(key[:]), 0)
		})
	}
}

// count is how many slots are in the map.
func (b BySlot) count() (n int) {
	for _, v := range b.Value {
		if v != slots.None {
			n++
		}
	}
	return n
}

// all are the slots that are in the map.
func (b BySlot) all() []uint32 {
	out := make([]uint32, 0, len(b.Value))
	for slot, v := range b.Value {
		if v != slots.None {
			out = append(out, uint32(slot))
		}
	}
	return out
}

// list is a message with so many elements of a set. It is put together without the library's encoder, which makes
// several pieces of each, and copies them all several times.
func (b *batch) list(kind int, family byte, s Set, n int, element func(to []byte, i int) []byte) {
	data := make([]byte, 0, n*bytesOfElement+bytesOfElement)
	data = append(data, family, unix.NFNETLINK_V0, 0, 0)
	data = appendAttribute(data, unix.NFTA_SET_ELEM_LIST_TABLE, []byte(b.name+"\x00"))
	data = appendAttribute(data, unix.NFTA_SET_ELEM_LIST_SET, []byte(s.Name+"\x00"))
	list := len(data)
	data = openAttribute(data, unix.NFTA_SET_ELEM_LIST_ELEMENTS|unix.NLA_F_NESTED)
	for i := range n {
		at := len(data)
		data = element(openAttribute(data, unix.NFTA_LIST_ELEM|unix.NLA_F_NESTED), i)
		closeAttribute(data, at)
	}
	closeAttribute(data, list)
	b.messages = append(b.messages, netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind), Flags: netlink.Request | netlink.Create},
		Data:   data,
	})
}

// append adds the attributes of an element with that key.
func (e Element) append(to []byte, s Set, key string, lifetime time.Duration) []byte {
	to = appendKey(to, []byte(key))
	if s.Data != noData {
		data := len(to)
		to = openAttribute(to, unix.NFTA_SET_ELEM_DATA|unix.NLA_F_NESTED)
		if s.Data == TypeVerdict {
			at := len(to)
			to = openAttribute(to, unix.NFTA_DATA_VERDICT|unix.NLA_F_NESTED)
			to = appendAttribute(to, unix.NFTA_VERDICT_CODE, binary.BigEndian.AppendUint32(nil, uint32(0x100000000+unix.NFT_GOTO)))
			to = appendAttribute(to, unix.NFTA_VERDICT_CHAIN, append([]byte(e.To), 0))
			closeAttribute(to, at)
		} else {
			to = appendAttribute(to, unix.NFTA_DATA_VALUE, []byte(e.Data))
		}
		closeAttribute(to, data)
	}
	if s.Timed {
		to = appendAttribute(to, unix.NFTA_SET_ELEM_TIMEOUT, binary.BigEndian.AppendUint64(nil, uint64(lifetime.Milliseconds())))
	}
	return to
}

func appendKey(to, key []byte) []byte {
	at := len(to)
	to = appendAttribute(openAttribute(to, unix.NFTA_SET_ELEM_KEY|unix.NLA_F_NESTED), unix.NFTA_DATA_VALUE, key)
	closeAttribute(to, at)
	return to
}

func appendAttribute(to []byte, kind uint16, data []byte) []byte {
	at := len(to)
	to = append(openAttribute(to, kind), data...)
	closeAttribute(to, at)
	for len(to)%4 != 0 {
		to = append(to, 0)
	}
	return to
}

// openAttribute begins one whose length closeAttribute says, by where it begins.
func openAttribute(to []byte, kind uint16) []byte {
	return binary.NativeEndian.AppendUint16(append(to, 0, 0), kind)
}

func closeAttribute(in []byte, at int) { binary.NativeEndian.PutUint16(in[at:], uint16(len(in)-at)) }
