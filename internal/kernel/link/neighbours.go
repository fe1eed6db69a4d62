package link

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Neighbours lists the hosts of a family (IPv6: v6) on the interface whose Ethernet address the kernel knows, because this host has spoken with
// them. They may be gone since. None is no error.
func (h *Handle) Neighbours(index int, v6 bool) ([]netip.Addr, error) {
	var msgs [][]byte
	var err error
	ask := message(make([]byte, unix.SizeofNdMsg))
	ask[0] = family(v6)
	onOwnStack(func() { msgs, err = h.kernel.dump(unix.RTM_GETNEIGH, unix.RTM_NEWNEIGH, ask) })
	if err != nil {
		return nil, fmt.Errorf("link: list neighbours: %w", err)
	}
	var out []netip.Addr
	for _, m := range msgs {
		a, at, err := parseNeighbour(m)
		if err != nil {
			return nil, fmt.Errorf("link: list neighbours: %w", err)
		}
		if a.IsValid() && at == index {
			out = append(out, a)
		}
	}
	return out, nil
}

// parseNeighbour reads the payload of an RTM_NEWNEIGH message: a struct ndmsg and its attributes. The address is not valid for a neighbour that
// is not known, and for one that is not asked.
func parseNeighbour(b []byte) (a netip.Addr, index int, err error) {
	const known = unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE
	if len(b) < unix.SizeofNdMsg {
		return a, 0, fmt.Errorf("neighbour message of %d bytes, want %d or more", len(b), unix.SizeofNdMsg)
	}
	index = int(binary.NativeEndian.Uint32(b[4:]))
	if binary.NativeEndian.Uint16(b[8:])&known == 0 {
		return a, index, nil
	}
	attrs, err := attributes(b[unix.SizeofNdMsg:])
	if err != nil {
		return a, index, err
	}
	a, _ = netip.AddrFromSlice(attrs[unix.NDA_DST])
	if a.IsMulticast() {
		return netip.Addr{}, index, nil
	}
	return a, index, nil
}
