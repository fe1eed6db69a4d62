package spreadtables

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/kernel/conntrack"
)

// tracked is a connection of TCP that a client has made, and the address that answers it.
func tracked(to, answers string, state uint8) conntrack.Entry {
	return conntrack.Entry{
		Protocol: unix.IPPROTO_TCP, Source: netip.MustParseAddrPort("192.0.2.7:40000"), State: state,
		Dest: netip.AddrPortFrom(netip.MustParseAddr(to), 9443), Answers: netip.AddrPortFrom(netip.MustParseAddr(answers), 6443),
	}
}

func TestConnectionThatIsServedHere(t *testing.T) {
	for name, tt := range map[string]struct {
		to, answers  string
		direct, masq bool
	}{
		"here":                   {"10.1.0.100", "10.1.0.5", true, true},
		"IPv6":                   {"fd01::100", "fd01::5", true, true},
		"served by another":      {"10.1.0.100", "10.1.0.6", false, true},
		"another address":        {"10.1.0.101", "10.1.0.5", false, false},
		"to this node by itself": {"10.1.0.5", "10.1.0.5", false, false},
		"of this node's own":     {"10.1.0.100", "10.1.0.100", false, false}, // the holder is another one
	} {
		c := three(2).connections()
		assert.Equal(t, tt.direct, c.serves(tracked(tt.to, tt.answers, conntrack.Established)), name)
		c.masquerade = true
		assert.Equal(t, tt.masq, c.serves(tracked(tt.to, tt.answers, conntrack.Established)), name)
	}
}

// TestConnectionThatEndsWithItsMember: also one that the member has not answered yet, all of whose SYNs would go to it.
func TestConnectionThatEndsWithItsMember(t *testing.T) {
	dead := []netip.Addr{netip.MustParseAddr("10.1.0.6")}
	for state, want := range map[uint8]bool{conntrack.SynSent: true, conntrack.SynRecv: true, conntrack.Established: true, conntrack.TimeWait: false} {
		assert.Equal(t, want, ends(tracked("10.1.0.100", "10.1.0.6", state), dead), state)
		assert.Equal(t, want, ends(tracked("10.1.0.100", "10.1.0.6", state), nil), state)
		assert.False(t, ends(tracked("10.1.0.100", "10.1.0.7", state), dead), state)
	}
}
