package spreadtables

import (
	"encoding/binary"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/nfttables"
)

// batch is one transaction of nftables: the kernel carries out all of it, or nothing. Its own encoder is here because the nftables library has
// no fwd expression and no room for one of others.
type batch struct {
	name     string // of the tables
	messages []netlink.Message
	err      error // the first that went wrong while encoding
}

// add appends a message about a table of ours.
func (b *batch) add(kind int, flags netlink.HeaderFlags, family byte, encode func(*netlink.AttributeEncoder)) {
	ae := netlink.NewAttributeEncoder()
	ae.ByteOrder = binary.BigEndian
	encode(ae)
	data, err := ae.Encode()
	if b.err == nil {
		b.err = err
	}
	b.messages = append(b.messages, netlink.Message{
		Header: netlink.Header{Type: netlink.HeaderType(unix.NFNL_SUBSYS_NFTABLES<<8 | kind), Flags: netlink.Request | flags},
		Data:   append([]byte{family, unix.NFNETLINK_V0, 0, 0}, data...),
	})
}

// remove takes a table away, whether it is there or not.
func (b *batch) remove(family byte) {
	b.messages = append(b.messages, nfttables.RemoveTable(b.id(family))...)
}

func (b *batch) id(family byte) nfttables.ID { return nfttables.ID{Family: family, Name: b.name} }

// replace makes a table anew.
func (b *batch) replace(t table, lifetime time.Duration) {
	b.remove(t.family)
	b.messages = append(b.messages, nfttables.NewTable(b.id(t.family)))
	for i, s := range t.sets {
		b.newSet(t.family, s, uint32(i+1))
	}
	for _, c := range t.chains {
		b.newChain(t.family, c)
	}
	for _, s := range t.sets {
		b.elements(unix.NFT_MSG_NEWSETELEM, t.family, s, s.elements, lifetime)
		b.slots(unix.NFT_MSG_NEWSETELEM, t.family, s, s.bySlot.all())
	}
	for _, c := range t.chains {
		for _, r := range c.rules {
			b.newRule(t.family, c.name, r)
		}
	}
}

func (b *batch) newSet(family byte, s set, id uint32) {
	var flags uint32
	if s.timed {
		flags |= unix.NFT_SET_TIMEOUT
	}
	if s.data != none {
		flags |= unix.NFT_SET_MAP
	}
	b.add(unix.NFT_MSG_NEWSET, netlink.Create, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_SET_TABLE, b.name)
		ae.String(unix.NFTA_SET_NAME, s.name)
		ae.Uint32(unix.NFTA_SET_FLAGS, flags)
		ae.Uint32(unix.NFTA_SET_KEY_TYPE, s.key.id)
		ae.Uint32(unix.NFTA_SET_KEY_LEN, s.key.length)
		if s.data != none {
			ae.Uint32(unix.NFTA_SET_DATA_TYPE, s.data.id)
			ae.Uint32(unix.NFTA_SET_DATA_LEN, s.data.length)
		}
		if s.size > 0 {
			ae.Nested(unix.NFTA_SET_DESC, func(ae *netlink.AttributeEncoder) error {
				ae.Uint32(unix.NFTA_SET_DESC_SIZE, s.size)
				return nil
			})
		}
		ae.Uint32(unix.NFTA_SET_ID, id)
		if s.key == typeMark || s.key == typeLink {
			// So that nft lists a key as the number that it is: type NFTNL_UDATA_SET_KEYBYTEORDER, four bytes, 1 for the host's order.
			ae.Bytes(unix.NFTA_SET_USERDATA, binary.NativeEndian.AppendUint32([]byte{0, 4}, 1))
		}
	})
}

func (b *batch) newChain(family byte, c chain) {
	b.add(unix.NFT_MSG_NEWCHAIN, netlink.Create, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_CHAIN_TABLE, b.name)
		ae.String(unix.NFTA_CHAIN_NAME, c.name)
		if c.kind == "" {
			return
		}
		ae.Nested(unix.NFTA_CHAIN_HOOK, func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(unix.NFTA_HOOK_HOOKNUM, c.hook)
			ae.Uint32(unix.NFTA_HOOK_PRIORITY, uint32(c.priority))
			if c.device != "" {
				ae.String(unix.NFTA_HOOK_DEV, c.device)
			}
			return nil
		})
		ae.String(unix.NFTA_CHAIN_TYPE, c.kind)
	})
}

func (b *batch) newRule(family byte, chain string, r match) {
	b.add(unix.NFT_MSG_NEWRULE, netlink.Create|netlink.Append, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_RULE_TABLE, b.name)
		ae.String(unix.NFTA_RULE_CHAIN, chain)
		ae.Nested(unix.NFTA_RULE_EXPRESSIONS, func(ae *netlink.AttributeEncoder) error {
			for _, e := range r {
				ae.Do(unix.NLA_F_NESTED|unix.NFTA_LIST_ELEM, func() ([]byte, error) { return e.encode(family) })
			}
			return nil
		})
	})
}

// empty takes all elements of a set away.
func (b *batch) empty(family byte, s set) {
	b.add(unix.NFT_MSG_DELSETELEM, 0, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_SET_ELEM_LIST_TABLE, b.name)
		ae.String(unix.NFTA_SET_ELEM_LIST_SET, s.name)
	})
}
