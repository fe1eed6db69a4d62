//go:build linux

package vrrp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/arrival"
)

// maxDrain bounds one Drain in packets, so that a sender faster than we are cannot hold it for ever.
const maxDrain = 1 << 13

// Datagram is one packet that passed the socket filter. With peers, some of what the filter refuses for its source or its TTL is among them.
type Datagram struct {
	Source, Destination netip.Addr // without a zone
	TTL                 int        // or hop limit
	Payload             []byte     // the VRRP message; valid until fn returns

	// LeastTTL is set where the packet is to be refused, because its TTL is less than that: it came through a router. Nothing of it is to be believed.
	LeastTTL int

	// Age is how long the packet has waited in the queue: not negative, and never longer ago than the queue was last
	// seen empty. The kernel's receive time is wall-clock time, so a clock that was stepped may falsify it within
	// these bounds.
	Age time.Duration
}

// Drain calls fn for every packet that waits now, oldest first, and never blocks. Under a flood it stops after some
// thousand packets, and Wait then returns at once. fn must not call Drain. The error is net.ErrClosed after Close; any
// other is what the kernel says about the interface, and the Conn may go on to work after it.
func (c *Conn) Drain(fn func(Datagram)) error {
	err := c.control(c.recvRaw, func(fd int) error {
		for range maxDrain / batchSize {
			n, err := c.batch.receive(fd)
			if err != nil {
				return err
			}
			now := time.Now()
			for i := range n {
				c.deliver(c.batch.message(i), now, fn)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, unix.EAGAIN):
		c.emptied = time.Now()
		return nil
	case err != nil:
		return fmt.Errorf("vrrp: receive: %w", err)
	}
	return nil
}

// deliver hands one packet to fn, unless it is malformed or is one that the filter should have refused.
func (c *Conn) deliver(m message, now time.Time, fn func(Datagram)) {
	meta := parseControl(m.oob)
	d, ok := Datagram{Source: netip.AddrFrom16(m.source), Destination: meta.destination, TTL: meta.hopLimit, Payload: m.packet}, true
	if c.filter.source.Is4() {
		d, ok = datagram4(m.packet)
	}
	if least := int(c.filter.minTTL); d.TTL < least {
		d.LeastTTL, ok = least, ok && c.filter.odd
	}
	if !ok || m.cut {
		return
	}
	d.Age = arrival.Age(meta.received, now, c.emptied)
	fn(d)
}

// datagram4 takes an IPv4 packet's header off. An IPv6 socket delivers the payload alone.
func datagram4(b []byte) (Datagram, bool) {
	if len(b) < 20 {
		return Datagram{}, false
	}
	header, total := int(b[0]&0x0f)*4, int(binary.BigEndian.Uint16(b[2:]))
	if b[0]>>4 != 4 || header < 20 || header > total || total > len(b) {
		return Datagram{}, false
	}
	return Datagram{
		Source:      netip.AddrFrom4([4]byte(b[12:16])),
		Destination: netip.AddrFrom4([4]byte(b[16:20])),
		TTL:         int(b[8]),
		Payload:     b[header:total],
	}, true
}

// ancillary is what comes with a packet in control messages.
type ancillary struct {
	received    time.Time
	hopLimit    int
	destination netip.Addr
}

func parseControl(oob []byte) (a ancillary) {
	for len(oob) > 0 {
		header, data, rest, err := unix.ParseOneSocketControlMessage(oob)
		if err != nil {
			return a
		}
		oob = rest
		a.add(int(header.Level), int(header.Type), data)
	}
	return a
}

// add takes one message, and ignores one that is too short to be what it says.
func (a *ancillary) add(level, typ int, data []byte) {
	if at, ok := arrival.Timestamp(level, typ, data); ok {
		a.received = at
	}
	switch {
	case level == unix.IPPROTO_IPV6 && typ == unix.IPV6_HOPLIMIT && len(data) >= 4:
		a.hopLimit = int(int32(binary.NativeEndian.Uint32(data)))
	case level == unix.IPPROTO_IPV6 && typ == unix.IPV6_PKTINFO && len(data) >= 16:
		a.destination = netip.AddrFrom16([16]byte(data))
	}
}
