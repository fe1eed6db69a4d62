package members

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"time"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/roundrobin"
	"github.com/keepvip/keepvip/members/envelope"
)

// Client is at one end of a connection of TCP to an address that is spread.
type Client struct {
	At   netip.AddrPort `json:"at"`
	Port uint16         `json:"port"` // of the address
}

// clientLen is that of one on the wire, beside its address.
const clientLen = 5

// clientsAtOnce is how many of all fit into so many bytes, whichever.
func clientsAtOnce(all []Client, room int) int {
	if slices.ContainsFunc(all, func(c Client) bool { return c.At.Addr().Is6() }) {
		return room / (clientLen + 16)
	}
	return room / (clientLen + 4)
}

// roomForClients is how many bytes of clients a message has room for that is so long without them. Of IPv6 these are two clients at least.
func roomForClients(length int) int {
	return min(maxClients, envelope.MaxMessage-auth.TrailerLen-length-2)
}

func (c Client) valid() bool { return envelope.Host(c.At.Addr()) && c.At.Port() != 0 && c.Port != 0 }

// clientsDue are those whose turn it is at now, in a HELLO that says this beside them. One that says a change again has the same ones. No more are due
// than it has room for: of those that it left out some would be so each time.
func (o *own) clientsDue(now time.Time, hello Message) []Client {
	if o.self.Spread == nil || len(o.self.Spread.Clients) == 0 {
		return nil
	}
	b, err := hello.Append(nil, 0)
	if err != nil {
		return nil // it is not said
	}
	all := o.self.Spread.Clients
	due := roundrobin.Window(all, clientsAtOnce(all, roomForClients(len(b))), now.UnixNano()/int64(o.every()))
	return slices.DeleteFunc(slices.Clone(due), func(c Client) bool { return !c.valid() })
}

// appendClients is the value of fieldClients, with as many as fit into room bytes.
func appendClients(b []byte, list []Client, room int) []byte {
	for _, c := range list {
		address := c.At.Addr().AsSlice()
		if room -= clientLen + len(address); room < 0 {
			break
		}
		b = append(append(b, uint8(len(address))), address...)
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, c.At.Port()), c.Port)
	}
	return b
}

func parseClients(b []byte) (list []Client, ok bool) {
	for len(b) > 0 {
		n := int(b[0])
		if len(b) < clientLen+n {
			return nil, false
		}
		address, _ := netip.AddrFromSlice(b[1 : 1+n])
		c := Client{netip.AddrPortFrom(address, binary.BigEndian.Uint16(b[1+n:])), binary.BigEndian.Uint16(b[3+n:])}
		if !c.valid() {
			return nil, false
		}
		list = append(list, c)
		b = b[clientLen+n:]
	}
	return list, true
}
