package arp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/mdlayher/arp"
	"github.com/mdlayher/ethernet"
	"github.com/mdlayher/ndp"
	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// ErrSilent: the neighbour has not answered.
var ErrSilent = errors.New("no answer")

// Asker asks one neighbour, from an address of this node's, whether it is there: by an ARP request (RFC 826), or a neighbour
// solicitation (RFC 4861 4.3). Unlike a probe the question names its sender, so that only an answer to it counts. It belongs to
// one goroutine.
type Asker struct {
	conn     *Conn
	from, to netip.Addr
	mac      net.HardwareAddr // of the neighbour, once it has answered
}

// OpenAsker makes an Asker on ifi, of which Index and Name are used; from is an own address there. It needs CAP_NET_RAW.
func OpenAsker(ifi *net.Interface, from, to netip.Addr) (*Asker, error) {
	if from.Is4() != to.Is4() || from.Is4In6() || to.Is4In6() {
		return nil, fmt.Errorf("arp: ask for %s from %s, want two addresses of one family", to, from)
	}
	c, err := openAsking(ifi, to)
	if err != nil {
		return nil, fmt.Errorf("arp: ask on %s: %w", ifi.Name, err)
	}
	return &Asker{conn: c, from: from, to: to}, nil
}

// openAsking makes a socket that sends, and hears the words of one neighbour.
func openAsking(ifi *net.Interface, to netip.Addr) (*Conn, error) {
	f := familyOf(to)
	filter, err := f.filter([]netip.Addr{to})
	if err != nil {
		return nil, err
	}
	return openConn(ifi, int(f), &packet.Config{Filter: filter}, func(*Conn) error { return nil })
}

// Close releases the socket.
func (a *Asker) Close() error { return a.conn.Close() }

// Ask asks once, and waits for the answer until ctx ends. It returns the neighbour's MAC, or an error that wraps ErrSilent, or
// ErrGone when the interface was deleted. A neighbour that has answered before is asked by itself, any other by all (RFC 1122
// 2.3.2.1): what is asked several times a second for years must not wake every host of the link.
func (a *Asker) Ask(ctx context.Context) (net.HardwareAddr, error) {
	mac, err := a.ask(ctx)
	a.mac = mac
	if err != nil {
		return nil, fmt.Errorf("arp: ask for %s on %s: %w", a.to, a.conn.ifi.Name, err)
	}
	return mac, nil
}

func (a *Asker) ask(ctx context.Context) (net.HardwareAddr, error) {
	own, err := a.conn.mac()
	if err != nil {
		return nil, err
	}
	frame, err := question(own, a.mac, a.from, a.to)
	if err != nil {
		return nil, err
	}
	if err := a.conn.sock.SetReadDeadline(time.Time{}); err != nil { // that of the question before
		return nil, err
	}
	if err := a.forget(); err != nil {
		return nil, err
	}
	if err := a.conn.send([][]byte{frame}); err != nil {
		return nil, err
	}
	return a.listen(ctx)
}

// forget throws away what came too late for the question before: it says nothing about now.
func (a *Asker) forget() error {
	b := make([]byte, 1)
	return a.conn.raw.Read(func(fd uintptr) bool {
		for {
			if _, _, err := unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT); errors.Is(err, unix.EAGAIN) {
				return true
			} else if err != nil && !errors.Is(err, unix.EINTR) {
				return true // a link that went down; it is seen by what follows
			}
		}
	})
}

func (a *Asker) listen(ctx context.Context) (net.HardwareAddr, error) {
	defer context.AfterFunc(ctx, func() { _ = a.conn.sock.SetReadDeadline(time.Unix(1, 0)) })()
	buf := make([]byte, frameLen)
	for {
		n, _, err := a.conn.sock.ReadFrom(buf)
		switch {
		case ctx.Err() != nil, errors.Is(err, os.ErrDeadlineExceeded):
			return nil, ErrSilent
		case errors.Is(err, unix.ENETDOWN):
			if gone(a.conn.sock) {
				return nil, ErrGone
			}
			return nil, err
		case err != nil:
			return nil, err
		}
		if mac, ok := parseAnswer(buf[:n], a.from, a.to); ok {
			return mac, nil
		}
	}
}

// question is the frame that asks for to, sent to mac, or to all when that is nil.
func question(own, mac net.HardwareAddr, from, to netip.Addr) ([]byte, error) {
	if to.Is4() {
		if mac == nil {
			mac = ethernet.Broadcast
		}
		return arpFrame(mac, arp.OperationRequest, own, from, make(net.HardwareAddr, 6), to)
	}
	at := to
	if mac == nil {
		at = solicitedNode(to)
		mac = groupMAC(at)
	}
	ns := &ndp.NeighborSolicitation{
		TargetAddress: to,
		Options:       []ndp.Option{&ndp.LinkLayerAddress{Direction: ndp.Source, Addr: own}},
	}
	return ndpFrame(mac, own, from, at, ns)
}

// parseAnswer reads the MAC that answers for to out of a frame that answers from, and nobody else.
func parseAnswer(frame []byte, from, to netip.Addr) (net.HardwareAddr, bool) {
	c, ok := parseClaim(frame)
	if !ok || c.Addr != to {
		return nil, false
	}
	payload := frame[ethernetLen:]
	if to.Is4() {
		var p arp.Packet
		return c.MAC, p.UnmarshalBinary(payload) == nil && p.Operation == arp.OperationReply && p.TargetIP == from
	}
	const advertisement, solicited = 136, 0x40
	icmp := payload[ipv6Len:]
	return c.MAC, netip.AddrFrom16([16]byte(payload[24:40])) == from && icmp[0] == advertisement && icmp[4]&solicited != 0
}
