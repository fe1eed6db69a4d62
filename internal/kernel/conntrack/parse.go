package conntrack

import (
	"encoding/binary"
	"net/netip"

	"golang.org/x/sys/unix"
)

// parse reads the attributes of one connection. It is false of what has no addresses or no ports.
func parse(body []byte) (e Entry, ok bool) {
	original, reply := attribute(body, attrOriginal), attribute(body, attrReply)
	number := attribute(original, tupleProto, protoNumber)
	if len(number) != 1 {
		return Entry{}, false
	}
	e.Protocol = number[0]
	if state := attribute(body, attrProtoInfo, infoTCP, infoTCPState); len(state) == 1 {
		e.State = state[0]
	}
	for _, zone := range [][]byte{attribute(body, attrZone), attribute(original, tupleZone)} {
		if len(zone) == 2 {
			e.Zone = binary.BigEndian.Uint16(zone)
		}
	}
	e.Source = end(original, ip4Source, ip6Source, protoSource)
	e.Dest = end(original, ip4Dest, ip6Dest, protoDest)
	e.Answers = end(reply, ip4Source, ip6Source, protoSource)
	return e, e.Source.IsValid() && e.Dest.IsValid() && e.Answers.IsValid()
}

// end is one of the two in a tuple; the zero value if there is none.
func end(tuple []byte, four, six, port uint16) netip.AddrPort {
	b := attribute(tuple, tupleIP, four)
	if b == nil {
		b = attribute(tuple, tupleIP, six)
	}
	a, ok := netip.AddrFromSlice(b)
	p := attribute(tuple, tupleProto, port)
	if !ok || len(p) != 2 {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, binary.BigEndian.Uint16(p))
}

// attribute is the data of a netlink attribute in attributes, or of one in that; nil if there is none.
func attribute(in []byte, path ...uint16) []byte {
	const header = 4
	for _, want := range path {
		found := false
		for len(in) >= header && !found {
			length, kind := int(binary.NativeEndian.Uint16(in)), binary.NativeEndian.Uint16(in[2:])&^(unix.NLA_F_NESTED|unix.NLA_F_NET_BYTEORDER)
			if length < header || length > len(in) {
				return nil
			}
			if found = kind == want; found {
				in = in[header:length]
				break
			}
			in = in[min((length+3)&^3, len(in)):]
		}
		if !found {
			return nil
		}
	}
	return in
}
