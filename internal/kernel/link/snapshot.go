package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// dumpTries is how often a listing is begun again because the kernel's tables changed under it.
const dumpTries = 5

// skipStats is RTEXT_FILTER_SKIP_STATS: traffic counters are most of a listing, and cost locks on some drivers.
const skipStats = 1 << 3

// Links lists every interface with every address, by index. The two tables are read one after the other, so an event between them may show
// in one only; Watch reports that event, and the next snapshot is right.
func (h *Handle) Links() ([]Link, error) {
	given := h.given.Load()
	links, err := h.kernel.links()
	if err != nil {
		return nil, fmt.Errorf("link: list interfaces: %w", err)
	}
	if err := h.kernel.addresses(links); err != nil {
		return nil, fmt.Errorf("link: list addresses: %w", err)
	}
	h.remember(links, given)
	return links, nil
}

func (k kernel) links() ([]Link, error) {
	ask := message(make([]byte, unix.SizeofIfInfomsg))
	ask = attribute(ask, unix.IFLA_EXT_MASK, binary.NativeEndian.AppendUint32(nil, skipStats))
	msgs, err := k.dump(unix.RTM_GETLINK, unix.RTM_NEWLINK, ask)
	if err != nil {
		return nil, err
	}
	links := make([]Link, 0, len(msgs))
	for _, m := range msgs {
		l, err := parseLink(m)
		if err != nil {
			return nil, err
		}
		links = append(links, l)
	}
	slices.SortFunc(links, func(a, b Link) int { return a.Index - b.Index })
	return links, nil
}

func (k kernel) addresses(links []Link) error {
	msgs, err := k.dump(unix.RTM_GETADDR, unix.RTM_NEWADDR, message(make([]byte, unix.SizeofIfAddrmsg)))
	if err != nil {
		return err
	}
	for _, m := range msgs {
		index, a, err := parseAddress(m)
		if err != nil {
			return err
		}
		i, ok := slices.BinarySearchFunc(links, index, func(l Link, index int) int { return l.Index - index })
		if ok {
			links[i].Addresses = append(links[i].Addresses, a)
		}
	}
	return nil
}

func (k kernel) dump(ask int, answer uint16, data nl.NetlinkRequestData) ([][]byte, error) {
	for try := 1; ; try++ {
		msgs, err := k.request(ask, unix.NLM_F_DUMP, []nl.NetlinkRequestData{data}).Execute(unix.NETLINK_ROUTE, answer)
		if !errors.Is(err, nl.ErrDumpInterrupted) || try == dumpTries {
			return msgs, err
		}
	}
}

// parseLink reads the payload of an RTM_NEWLINK message.
func parseLink(b []byte) (Link, error) {
	if len(b) < unix.SizeofIfInfomsg {
		return Link{}, fmt.Errorf("link message of %d bytes, want %d or more", len(b), unix.SizeofIfInfomsg)
	}
	flags := binary.NativeEndian.Uint32(b[8:])
	attrs, err := attributes(b[unix.SizeofIfInfomsg:])
	if err != nil {
		return Link{}, err
	}
	l := Link{
		Index:    int(binary.NativeEndian.Uint32(b[4:])),
		Name:     unix.ByteSliceToString(attrs[unix.IFLA_IFNAME]),
		MAC:      slices.Clone(attrs[unix.IFLA_ADDRESS]),
		Up:       flags&unix.IFF_UP != 0 && flags&unix.IFF_RUNNING != 0,
		set:      flags&unix.IFF_UP != 0,
		Loopback: flags&unix.IFF_LOOPBACK != 0,
	}
	if v := attrs[unix.IFLA_CARRIER_CHANGES]; len(v) == 4 {
		l.Carriers = binary.NativeEndian.Uint32(v)
	}
	if v := attrs[unix.IFLA_MASTER]; len(v) == 4 {
		l.Master = int(binary.NativeEndian.Uint32(v))
	}
	if err := l.parseKind(attrs); err != nil {
		return Link{}, err
	}
	l.AltNames, err = altNames(attrs[unix.IFLA_PROP_LIST])
	return l, err
}

// parseKind reads what is said of a link that the kernel has made: its kind, what it is on, and the alias. The peer of a veth is no link below it.
func (l *Link) parseKind(attrs map[uint16][]byte) error {
	info, err := attributes(attrs[unix.IFLA_LINKINFO])
	if err != nil {
		return err
	}
	l.Kind = unix.ByteSliceToString(info[unix.IFLA_INFO_KIND])
	l.Alias = unix.ByteSliceToString(attrs[unix.IFLA_IFALIAS])
	if v := attrs[unix.IFLA_LINK]; len(v) == 4 && l.Kind != "veth" && attrs[unix.IFLA_LINK_NETNSID] == nil {
		l.Below = int(binary.NativeEndian.Uint32(v))
	}
	return nil
}

// altNames reads a list of properties, each of which is a further name.
func altNames(b []byte) (names []string, err error) {
	err = eachAttribute(b, func(kind uint16, value []byte) {
		if kind == unix.IFLA_ALT_IFNAME {
			names = append(names, unix.ByteSliceToString(value))
		}
	})
	return names, err
}
