package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// secondary is an IPv4 address that the kernel removes with the first one of its subnet, unless it is told to promote it (promote_secondaries).
type secondary struct {
	prefix netip.Prefix
	asked  message // the request by which it is as it was
}

// removePrimary takes an IPv4 address with the length of a subnet off the interface, and leaves all others of that subnet there, whatever
// promote_secondaries says. Meanwhile each of these is there with a length of 32, too, so it is never gone, and no route that has it as its source.
func (k kernel) removePrimary(index int, p netip.Prefix) error {
	others, err := k.secondariesOf(index, p)
	if err != nil {
		return err
	}
	for i, o := range others {
		if err := k.acknowledged(k.addRequest(bareMessage(index, alone(o.prefix)))); err != nil && !errors.Is(err, unix.EEXIST) {
			return errors.Join(fmt.Errorf("keep %s: %w", o.prefix.Addr(), err), k.withdraw(index, others[:i]))
		}
	}
	err = unlessGone(k.acknowledged(k.request(unix.RTM_DELADDR, unix.NLM_F_ACK, []nl.NetlinkRequestData{bareMessage(index, p)})))
	for _, o := range others {
		if back := k.acknowledged(k.addRequest(o.asked)); back != nil && !errors.Is(back, unix.EEXIST) {
			return errors.Join(err, fmt.Errorf("put %s back: %w", o.prefix, back)) // it stays with a length of 32
		}
	}
	return errors.Join(err, k.withdraw(index, others))
}

// withdraw ends the second lives of addresses.
func (k kernel) withdraw(index int, others []secondary) error {
	var errs []error
	for _, o := range others {
		errs = append(errs, unlessGone(k.acknowledged(k.request(unix.RTM_DELADDR, unix.NLM_F_ACK, []nl.NetlinkRequestData{bareMessage(index, alone(o.prefix))}))))
	}
	return errors.Join(errs...)
}

func (k kernel) addRequest(m message) *nl.NetlinkRequest {
	return k.request(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL|unix.NLM_F_ACK, []nl.NetlinkRequestData{m})
}

func alone(p netip.Prefix) netip.Prefix { return netip.PrefixFrom(p.Addr(), p.Addr().BitLen()) }

// secondariesOf lists what the kernel would remove with p: none where p is not the first of its subnet, or not there.
func (k kernel) secondariesOf(index int, p netip.Prefix) (out []secondary, err error) {
	var msgs [][]byte
	onOwnStack(func() {
		msgs, err = k.dump(unix.RTM_GETADDR, unix.RTM_NEWADDR, message(append([]byte{unix.AF_INET}, make([]byte, unix.SizeofIfAddrmsg-1)...)))
	})
	if err != nil {
		return nil, fmt.Errorf("list addresses: %w", err)
	}
	first := false
	for _, m := range msgs {
		at, a, err := parseAddress(m)
		switch {
		case err != nil:
			return nil, err
		case at != index || m[0] != unix.AF_INET || a.Prefix.Bits() != p.Bits() || a.Prefix.Masked() != p.Masked():
		case a.Prefix == p:
			first = !a.Secondary
		case a.Secondary:
			out = append(out, secondary{a.Prefix, asItIs(m)})
		}
	}
	if !first {
		return nil, nil
	}
	return out, nil
}

// asItIs makes the message that lists an address one that asks for it.
func asItIs(listed []byte) message {
	m := append(message{}, listed...)
	m[2] &^= unix.IFA_F_SECONDARY // ifa_flags of struct ifaddrmsg
	_ = eachAttribute(m[unix.SizeofIfAddrmsg:], func(kind uint16, value []byte) {
		if kind == unix.IFA_FLAGS && len(value) >= 4 {
			binary.NativeEndian.PutUint32(value, binary.NativeEndian.Uint32(value)&^unix.IFA_F_SECONDARY)
		}
	})
	return m
}
