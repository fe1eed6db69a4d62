package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// VirtualMAC is an interface of its own for the virtual MAC of a Virtual Router (RFC 9568 section 7.3): a macvlan on the interface that the
// election runs on.
//
// It is of mode vepa. In private mode the kernel would give a frame whose source is the virtual MAC, as another node's, to the macvlan alone, and
// who listens on the interface below would not hear that node.
type VirtualMAC struct {
	Name string           // of the macvlan
	On   int              // index of the interface below
	MAC  net.HardwareAddr // of the macvlan, 00:00:5e:00:01:VRID or 00:00:5e:00:02:VRID
}

// RouterMAC is the virtual MAC of a Virtual Router, by the family that carries its election (RFC 9568 section 7.3).
func RouterMAC(ipv4 bool, vrid uint8) net.HardwareAddr {
	if ipv4 {
		return net.HardwareAddr{0x00, 0x00, 0x5e, 0x00, 0x01, vrid}
	}
	return net.HardwareAddr{0x00, 0x00, 0x5e, 0x00, 0x02, vrid}
}

const (
	macvlan = "macvlan"
	// virtualAlias begins the alias of a macvlan of ours. What follows is what arp_announce of the interface below is to be again.
	virtualAlias = "keepvip arp_announce="
	// virtualEnds ends the alias of one that is about to be deleted: arp_announce is what it was, or is about to be.
	virtualEnds = " ends"

	// Indexes of struct ipv4_devconf (linux/ip.h), which are set with netlink: in a container /proc/sys cannot be written.
	devconfRPFilter    = 8
	devconfARPAnnounce = 18
	devconfARPIgnore   = 19
)

// OursVirtual reports whether keepvip has made the link for a virtual MAC, in this run or an earlier one.
func (l Link) OursVirtual() bool {
	return l.Kind == macvlan && strings.HasPrefix(l.Alias, virtualAlias)
}

// before is what arp_announce of the interface below a macvlan of ours was.
func (l Link) before() string {
	return strings.TrimSuffix(strings.TrimPrefix(l.Alias, virtualAlias), virtualEnds)
}

// ends reports whether a macvlan of ours is about to be deleted.
func (l Link) ends() bool { return strings.HasSuffix(l.Alias, virtualEnds) }

// half reports whether l is what a run has made that ended before it could mark it: nobody else leaves such a link down and empty.
func (v VirtualMAC) half(l Link) bool {
	return l.Kind == macvlan && l.Alias == "" && !l.Up && !l.set && len(l.Addresses) == 0 && l.Below == v.On && slices.Equal(l.MAC, v.MAC)
}

// Is reports whether the link is what v describes, and is to stay.
func (v VirtualMAC) Is(l Link) bool {
	return l.OursVirtual() && !l.ends() && l.Name == v.Name && l.Below == v.On && slices.Equal(l.MAC, v.MAC)
}

// Carried returns an error if no macvlan can be on the link: the kernel would put it on what is below that, where no fence is.
func (v VirtualMAC) Carried(on Link) error {
	if on.Kind == macvlan || on.Kind == "ipvlan" {
		return fmt.Errorf("%s is a %s itself, which carries no %s: name the interface below it", on.Name, on.Kind, v.Name)
	}
	return nil
}

// errTaken: the name of a macvlan belongs to somebody else's link.
var errTaken = errors.New("keepvip has not made")

// Refuse returns an error if l, which has the name of v, is not a link that keepvip may take for it, or replace.
func (v VirtualMAC) Refuse(l Link) error {
	if l.OursVirtual() || v.half(l) {
		return nil
	}
	what := "an interface"
	if l.Kind != "" {
		what = "a " + l.Kind
	}
	return fmt.Errorf("%s is %s that %w: if no program uses it any more, as after a kill of keepalived, ip link delete %s; or give vrrp.virtualMAC another name", v.Name, what, errTaken, v.Name)
}

// MakeVirtual makes the macvlan, which is down, and returns it. links are those of this host as last seen. It needs CAP_NET_ADMIN.
//
// The macvlan alone answers ARP for what is bound to it, for nothing else. The interface below asks for hosts by an address of its own only: it would
// else ask in the name of the virtual address, with its own MAC, and whoever hears that believes it.
func (h *Handle) MakeVirtual(v VirtualMAC, links []Link) (Link, error) {
	l, err := h.makeVirtual(v, links)
	if err != nil {
		return Link{}, fmt.Errorf("link: make %s for the virtual MAC %s: %w", v.Name, v.MAC, err)
	}
	return l, nil
}

func (h *Handle) makeVirtual(v VirtualMAC, links []Link) (Link, error) {
	i := slices.IndexFunc(links, func(l Link) bool { return l.Index == v.On })
	if i < 0 {
		return Link{}, errGone
	}
	below := links[i]
	if err := v.Carried(below); err != nil {
		return Link{}, err
	}
	was, err := h.arpAnnounceOf(below, links)
	if err != nil {
		return Link{}, err
	}
	mode := binary.NativeEndian.AppendUint32(nil, nl.MACVLAN_MODE_VEPA)
	info := nested(nil, unix.IFLA_LINKINFO, attribute(attribute(nil, unix.IFLA_INFO_KIND, []byte(macvlan)), unix.IFLA_INFO_DATA, attribute(nil, nl.IFLA_MACVLAN_MODE, mode)))
	m := linkMessage(0)
	m = attribute(m, unix.IFLA_LINK, binary.NativeEndian.AppendUint32(nil, uint32(v.On)))
	m = attribute(m, unix.IFLA_IFNAME, append([]byte(v.Name), 0))
	m = attribute(m, unix.IFLA_ADDRESS, v.MAC)
	m = append(m, info...)
	err = h.kernel.acknowledged(h.kernel.request(unix.RTM_NEWLINK, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, []nl.NetlinkRequestData{m}))
	switch {
	case errors.Is(err, unix.EOPNOTSUPP):
		return Link{}, fmt.Errorf("%w: this kernel has no macvlan (CONFIG_MACVLAN; modprobe macvlan)", err)
	case err != nil:
		return Link{}, err
	}
	made, err := net.InterfaceByName(v.Name)
	if err != nil {
		return Link{}, err
	}
	index, alias := made.Index, virtualAlias+was
	// The alias first: a macvlan without it would not be known as ours if this process ended now.
	err = h.kernel.setLink(attribute(linkMessage(index), unix.IFLA_IFALIAS, []byte(alias)))
	if err == nil {
		err = errors.Join(h.kernel.setDevconf(index, devconfARPIgnore, 1), h.kernel.setDevconf(index, devconfRPFilter, 2), h.kernel.withoutAutoconf(index))
	}
	if err == nil && was != "2" {
		err = h.kernel.setDevconf(v.On, devconfARPAnnounce, 2)
	}
	if err != nil {
		return Link{}, errors.Join(err, h.kernel.deleteLink(index))
	}
	refuseRouterAdvertisements(v.Name, h.log)
	all := []Link{{Index: index, Name: v.Name, MAC: v.MAC, Kind: macvlan, Below: v.On, Alias: alias}}
	h.remember(all, h.given.Load())
	return all[0], nil
}

// remember keeps what the aliases say of the interfaces below. given is what h.given was before the links were listed: a
// listing from before something was given back tells of what is over, and so does a macvlan that is about to be deleted.
// To believe either is to take an operator's setting for our own later.
func (h *Handle) remember(links []Link, given uint64) {
	for _, l := range links {
		if l.OursVirtual() && !l.ends() && h.given.Load() == given {
			h.before.Store(l.Below, l.before())
		}
	}
}

// arpAnnounceOf is what arp_announce of an interface was before keepvip changed it.
func (h *Handle) arpAnnounceOf(below Link, links []Link) (string, error) {
	now, err := readConf(4, below.Name, "arp_announce")
	before := now
	if was, changed := h.before.Load(below.Index); changed && now == "2" { // somebody has deleted the macvlan
		before = was.(string)
	}
	for _, l := range links {
		switch {
		case !l.OursVirtual() || l.Below != below.Index:
		case !l.ends():
			return l.before(), nil
		case now == "2": // it was not given back yet
			before = l.before()
		}
	}
	return before, err
}

// confPath is where a setting of an interface is read. A dot in the interface's name is no separator there.
func confPath(family int, name, setting string) string {
	return filepath.Join("/proc/sys/net/ipv"+strconv.Itoa(family)+"/conf", name, setting)
}

func readConf(family int, name, setting string) (string, error) {
	text, err := os.ReadFile(confPath(family, name, setting))
	return strings.TrimSpace(string(text)), err
}

// withoutAutoconf keeps IPv6 from giving the macvlan a link-local address, which the kernel would make known with the virtual MAC on every node.
func (k kernel) withoutAutoconf(index int) error {
	if _, err := os.Stat("/proc/sys/net/ipv6"); err != nil {
		return nil // the kernel has no IPv6
	}
	const addrGenMode, none = 8, 1 // IFLA_INET6_ADDR_GEN_MODE, IN6_ADDR_GEN_MODE_NONE
	err := k.setLink(nested(linkMessage(index), unix.IFLA_AF_SPEC, nested(nil, unix.AF_INET6, attribute(nil, addrGenMode, []byte{none}))))
	if errors.Is(err, unix.EAFNOSUPPORT) {
		return nil // it is off
	}
	return err
}

// refuseRouterAdvertisements keeps a router's advertisement from giving the macvlan an address and routes. That cannot be said with netlink. Where
// this process may not write the setting, and it is not so by default, the log says so.
func refuseRouterAdvertisements(name string, log *slog.Logger) {
	now, err := readConf(6, name, "accept_ra")
	if err != nil || now == "0" {
		return
	}
	if err := os.WriteFile(confPath(6, name, "accept_ra"), []byte("0"), 0o644); err != nil {
		if forwards, _ := readConf(6, name, "forwarding"); forwards == "1" && now == "1" {
			return // who forwards believes none
		}
		log.Warn("an IPv6 router's advertisement may give the interface of the virtual MAC an address of its own", "interface", name, "error", err,
			"remedy", "sysctl -w net.ipv6.conf.default.accept_ra=0 on the host, before keepvip starts")
	}
}

// SetUp sets a link up, or down. One that is gone is no error when it is to be down. It needs CAP_NET_ADMIN.
func (h *Handle) SetUp(index int, up bool) error {
	m, word := linkMessage(index), "down"
	binary.NativeEndian.PutUint32(m[12:], unix.IFF_UP) // what changes
	if up {
		binary.NativeEndian.PutUint32(m[8:], unix.IFF_UP)
		word = "up"
	}
	err := h.kernel.setLink(m)
	if errors.Is(err, unix.ENODEV) && !up {
		return nil
	}
	if err != nil {
		return fmt.Errorf("link: set interface %d %s: %w", index, word, err)
	}
	return nil
}

// DeleteVirtual takes a macvlan of ours, or one that was half made, away, with what is bound to it. With the last one
// the interface below has its own arp_announce again. Where the kernel refuses that the macvlan goes all the same, as its
// entry could not serve as long as it is there. links are those of this host as last seen. A macvlan that is gone is no
// error. It needs CAP_NET_ADMIN.
func (h *Handle) DeleteVirtual(l Link, links []Link) (gone bool, err error) {
	if err = h.giveBack(l, links); err != nil {
		err = fmt.Errorf("link: set arp_announce of interface %d to %s again: %w", l.Below, l.before(), err)
	}
	if stays := h.kernel.deleteLink(l.Index); stays != nil && !errors.Is(stays, unix.ENODEV) {
		return false, errors.Join(err, fmt.Errorf("link: delete %s: %w", l.Name, stays))
	}
	return true, err
}

// giveBack gives the interface below the last macvlan its own arp_announce again, while the alias says what that was:
// this process may end in between. The next one then takes the macvlan away, as it would be there without the setting.
// Where the kernel refuses it, the next macvlan on that interface gives it back.
func (h *Handle) giveBack(l Link, links []Link) error {
	others := slices.ContainsFunc(links, func(o Link) bool { return o.Index != l.Index && o.OursVirtual() && !o.ends() && o.Below == l.Below })
	before, err := strconv.ParseUint(l.before(), 10, 32)
	if others || err != nil || before == 2 {
		return nil
	}
	err = h.kernel.setLink(attribute(linkMessage(l.Index), unix.IFLA_IFALIAS, []byte(virtualAlias+l.before()+virtualEnds)))
	if err == nil || errors.Is(err, unix.ENODEV) {
		err = h.kernel.setDevconf(l.Below, devconfARPAnnounce, uint32(before))
	}
	if err != nil && !errors.Is(err, unix.ENODEV) {
		h.before.Store(l.Below, l.before())
		return err
	}
	h.given.Add(1)
	h.before.Delete(l.Below)
	return nil
}

// linkMessage is the payload of a message about a link: a struct ifinfomsg, for attributes to follow.
func linkMessage(index int) message {
	m := make(message, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(m[4:], uint32(index))
	return m
}

// nested appends an attribute that has attributes in it.
func nested(m message, kind uint16, inside message) message {
	return attribute(m, kind|unix.NLA_F_NESTED, inside)
}

func (k kernel) setLink(m message) error {
	return k.acknowledged(k.request(unix.RTM_NEWLINK, unix.NLM_F_ACK, []nl.NetlinkRequestData{m}))
}

func (k kernel) deleteLink(index int) error {
	return k.acknowledged(k.request(unix.RTM_DELLINK, unix.NLM_F_ACK, []nl.NetlinkRequestData{linkMessage(index)}))
}

// setDevconf sets one IPv4 setting of an interface.
func (k kernel) setDevconf(index int, setting uint16, value uint32) error {
	const inetConf = 1 // IFLA_INET_CONF
	conf := attribute(nil, setting, binary.NativeEndian.AppendUint32(nil, value))
	return k.setLink(nested(linkMessage(index), unix.IFLA_AF_SPEC, nested(nil, unix.AF_INET, nested(nil, inetConf, conf))))
}
