package nfttables

import (
	"encoding/binary"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// batch is one transaction of nftables: the kernel carries out all of it, or nothing. Its own encoder is here because
// the nftables library has no fwd expression, no room for one of others, and no flags of tables.
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
	b.messages = append(b.messages, removeTable(b.id(family))...)
}

func (b *batch) id(family byte) ID { return ID{Family: family, Name: b.name} }

// replace makes a table anew.
func (b *batch) replace(t Table, lifetime time.Duration) {
	b.remove(t.Family)
	b.messages = append(b.messages, NewTable(b.id(t.Family)))
	for i, s := range t.Sets {
		b.newSet(t.Family, s, uint32(i+1))
	}
	for _, c := range t.Chains {
		b.newChain(t.Family, c)
	}
	for _, s := range t.Sets {
		b.elements(unix.NFT_MSG_NEWSETELEM, t.Family, s, s.Elements, lifetime)
		b.slots(unix.NFT_MSG_NEWSETELEM, t.Family, s, s.BySlot.all())
	}
	for _, c := range t.Chains {
		for _, r := range c.Rules {
			b.newRule(t.Family, c.Name, r)
		}
	}
}

func (b *batch) newSet(family byte, s Set, id uint32) {
	var flags uint32
	if s.Timed {
		flags |= unix.NFT_SET_TIMEOUT
	}
	if s.Dynamic {
		flags |= unix.NFT_SET_EVAL
	}
	if s.Data != noData {
		flags |= unix.NFT_SET_MAP
	}
	b.add(unix.NFT_MSG_NEWSET, netlink.Create, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_SET_TABLE, b.name)
		ae.String(unix.NFTA_SET_NAME, s.Name)
		ae.Uint32(unix.NFTA_SET_FLAGS, flags)
		ae.Uint32(unix.NFTA_SET_KEY_TYPE, s.Key.ID)
		ae.Uint32(unix.NFTA_SET_KEY_LEN, s.Key.Length)
		if s.Data != noData {
			ae.Uint32(unix.NFTA_SET_DATA_TYPE, s.Data.ID)
			ae.Uint32(unix.NFTA_SET_DATA_LEN, s.Data.Length)
		}
		if s.Size > 0 {
			ae.Nested(unix.NFTA_SET_DESC, func(ae *netlink.AttributeEncoder) error {
				ae.Uint32(unix.NFTA_SET_DESC_SIZE, s.Size)
				return nil
			})
		}
		ae.Uint32(unix.NFTA_SET_ID, id)
		if s.Key == TypeMark || s.Key == TypeLink {
			// So that nft lists a key as the number that it is: type NFTNL_UDATA_SET_KEYBYTEORDER, four bytes, 1 for
			// the host's order.
			ae.Bytes(unix.NFTA_SET_USERDATA, binary.NativeEndian.AppendUint32([]byte{0, 4}, 1))
		}
	})
}

func (b *batch) newChain(family byte, c Chain) {
	b.add(unix.NFT_MSG_NEWCHAIN, netlink.Create, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_CHAIN_TABLE, b.name)
		ae.String(unix.NFTA_CHAIN_NAME, c.Name)
		if c.Kind == "" {
			return
		}
		ae.Nested(unix.NFTA_CHAIN_HOOK, func(ae *netlink.AttributeEncoder) error {
			ae.Uint32(unix.NFTA_HOOK_HOOKNUM, c.Hook)
			ae.Uint32(unix.NFTA_HOOK_PRIORITY, uint32(c.Priority))
			if c.Device != "" {
				ae.String(unix.NFTA_HOOK_DEV, c.Device)
			}
			return nil
		})
		ae.String(unix.NFTA_CHAIN_TYPE, c.Kind)
	})
}

func (b *batch) newRule(family byte, chain string, r Match) {
	b.add(unix.NFT_MSG_NEWRULE, netlink.Create|netlink.Append, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_RULE_TABLE, b.name)
		ae.String(unix.NFTA_RULE_CHAIN, chain)
		ae.Nested(unix.NFTA_RULE_EXPRESSIONS, func(ae *netlink.AttributeEncoder) error {
			for _, e := range r {
				ae.Do(unix.NLA_F_NESTED|unix.NFTA_LIST_ELEM, func() ([]byte, error) { return e.Encode(family) })
			}
			return nil
		})
	})
}

// empty takes all elements of a set away.
func (b *batch) empty(family byte, s Set) {
	b.add(unix.NFT_MSG_DELSETELEM, 0, family, func(ae *netlink.AttributeEncoder) {
		ae.String(unix.NFTA_SET_ELEM_LIST_TABLE, b.name)
		ae.String(unix.NFTA_SET_ELEM_LIST_SET, s.Name)
	})
}
