package link

import (
	"encoding/binary"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// mostTold bounds what is remembered of a host with very many addresses. Beyond it everything is forgotten, which costs a listing for each.
const mostTold = 1 << 12

// told is what the last event said of each address. The event of a renewal says the same again, and needs no listing: a holder renews the lifetime of
// its addresses about once a second.
type told map[toldOf]Address

type toldOf struct {
	index  int
	prefix netip.Prefix
	peer   netip.Addr
}

// news tells whether a listing may show anything else after this event than before it, but for what is left of a lifetime. m is a whole message of
// rtnetlink.
func (t told) news(m []byte) bool {
	if len(m) < unix.SizeofNlMsghdr || len(m) != int(binary.NativeEndian.Uint32(m)) {
		return true // longer than what was read of it: none of an address
	}
	kind := binary.NativeEndian.Uint16(m[4:])
	if kind != unix.RTM_NEWADDR && kind != unix.RTM_DELADDR {
		return true
	}
	index, a, err := parseAddress(m[unix.SizeofNlMsghdr:])
	if err != nil {
		return true
	}
	of := toldOf{index, a.Prefix, a.Peer}
	a.Valid = min(a.Valid, time.Second)
	if last, ok := t[of]; kind == unix.RTM_NEWADDR && ok && last == a {
		return false
	}
	delete(t, of)
	if kind == unix.RTM_NEWADDR {
		if len(t) == mostTold {
			clear(t)
		}
		t[of] = a
	}
	return true
}
