package dhcp

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/mdlayher/packet"
	"golang.org/x/sys/unix"
)

// frameLen is the longest frame that is read.
const frameLen = 1514

// Conn speaks with DHCP servers on one interface. It binds no port, so that it is in no DHCP client's way. Receive has one caller, Send another.
type Conn struct {
	sock *packet.Conn
	mac  net.HardwareAddr
	buf  [frameLen]byte
}

// Open makes a socket on ifi, of which Index, Name and HardwareAddr are used. It needs CAP_NET_RAW.
func Open(ifi *net.Interface) (*Conn, error) {
	if len(ifi.HardwareAddr) != len(everybodyMAC) {
		return nil, fmt.Errorf("dhcp: open %s: not an Ethernet link (address %q)", ifi.Name, ifi.HardwareAddr)
	}
	filter, err := answers()
	if err == nil {
		var sock *packet.Conn
		if sock, err = packet.Listen(ifi, packet.Raw, unix.ETH_P_IP, &packet.Config{Filter: filter}); err == nil {
			return &Conn{sock: sock, mac: ifi.HardwareAddr}, nil
		}
	}
	return nil, fmt.Errorf("dhcp: open %s: %w", ifi.Name, err)
}

// Close releases the socket, and ends Receive.
func (c *Conn) Close() error { return c.sock.Close() }

// Send sends one message.
func (c *Conn) Send(r Outgoing) error {
	b := frame(c.mac, r)
	_, err := c.sock.WriteTo(b, &packet.Addr{HardwareAddr: net.HardwareAddr(b[:6])})
	if errors.Is(err, unix.ENETDOWN) { // what the socket has kept of an earlier moment
		_, err = c.sock.WriteTo(b, &packet.Addr{HardwareAddr: net.HardwareAddr(b[:6])})
	}
	if err != nil {
		return fmt.Errorf("dhcp: send: %w", err)
	}
	return nil
}

// Receive waits for the next answer of a server, whoever it is for. What is none is left out.
func (c *Conn) Receive() (Reply, error) {
	for {
		n, _, err := c.sock.ReadFrom(c.buf[:])
		switch {
		case errors.Is(err, unix.ENETDOWN): // it is said once for each time that the link goes down
		case err != nil:
			return Reply{}, fmt.Errorf("dhcp: receive: %w", err)
		default:
			if r, ok := parseFrame(slices.Clone(c.buf[:n])); ok {
				return r, nil
			}
		}
	}
}
