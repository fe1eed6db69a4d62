package virtualrouter

import (
	"net/netip"
	"time"
)

// holderGap bounds how often the host has to follow what is only heard: a forger can name another holder with each packet.
const holderGap = 100 * time.Millisecond

// knownHolder is who is known as the Active, and when the next change of that alone may be followed.
type knownHolder struct {
	address netip.Addr
	changed time.Time // when the last change of the holder alone was decided
	due     time.Time // when the next one is; zero for none
}

// set takes over who is the Active after a change of this node's state.
func (h *knownHolder) set(address netip.Addr) { h.address = address }

// keep stays with it until the next note.
func (h *knownHolder) keep() { h.due = time.Time{} }

// note takes over who is heard as the Active, unless it is too early for that, and tells whether it is another one than before. An Active
// names itself at once.
func (h *knownHolder) note(now time.Time, address netip.Addr, active bool) (before netip.Addr, another bool) {
	h.keep()
	before = h.address
	if address == before {
		return before, false
	}
	if at := h.changed.Add(holderGap); now.Before(at) && !active {
		h.due = at
		return before, false
	}
	h.changed, h.address = now, address
	return before, true
}
