package spreadtables

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"github.com/mdlayher/netlink"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// tracked is a message of connection tracking: what was asked for, who answers, and a state of TCP.
func tracked(t testing.TB, to, answers string, proto byte, port uint16, state byte) []byte {
	t.Helper()
	ae := netlink.NewAttributeEncoder()
	tuple := func(kind, four, six uint16, text string) {
		ae.Nested(kind, func(ae *netlink.AttributeEncoder) error {
			ae.Nested(tupleIP, func(ae *netlink.AttributeEncoder) error {
				a := netip.MustParseAddr(text)
				if a.Is4() {
					ae.Bytes(four, a.AsSlice())
				} else {
					ae.Bytes(six, a.AsSlice())
				}
				return nil
			})
			ae.Nested(tupleProto, func(ae *netlink.AttributeEncoder) error {
				ae.Uint8(protoNum, proto)
				ae.Bytes(protoDst, binary.BigEndian.AppendUint16(nil, port))
				return nil
			})
			return nil
		})
	}
	tuple(ctOriginal, ip4Dst, ip6Dst, to)
	tuple(ctReply, ip4Src, ip6Src, answers)
	if proto == unix.IPPROTO_TCP {
		ae.Nested(ctProtoInfo, func(ae *netlink.AttributeEncoder) error {
			ae.Nested(infoTCP, func(ae *netlink.AttributeEncoder) error {
				ae.Uint8(tcpState, state)
				return nil
			})
			return nil
		})
	}
	b, err := ae.Encode()
	require.NoError(t, err)
	return append([]byte{unix.AF_INET, 0, 0, 0}, b...)
}

func TestConnectionThatIsServedHere(t *testing.T) {
	const established, timeWait = 3, 7
	for name, tt := range map[string]struct {
		to, answers string
		proto       byte
		port        uint16
		state       byte
		want        bool
	}{
		"open":                   {"10.1.0.100", "10.1.0.5", unix.IPPROTO_TCP, 9443, established, true},
		"IPv6":                   {"fd01::100", "fd01::5", unix.IPPROTO_TCP, 9443, established, true},
		"UDP":                    {"10.1.0.100", "10.1.0.5", unix.IPPROTO_UDP, 53, 0, true},
		"begins":                 {"10.1.0.100", "10.1.0.5", unix.IPPROTO_TCP, 9443, 1, false},
		"has ended":              {"10.1.0.100", "10.1.0.5", unix.IPPROTO_TCP, 9443, timeWait, false},
		"served by another":      {"10.1.0.100", "10.1.0.6", unix.IPPROTO_TCP, 9443, established, false},
		"another port":           {"10.1.0.100", "10.1.0.5", unix.IPPROTO_TCP, 9444, established, false},
		"the port, of another":   {"10.1.0.100", "10.1.0.5", unix.IPPROTO_UDP, 9443, 0, false},
		"another address":        {"10.1.0.101", "10.1.0.5", unix.IPPROTO_TCP, 9443, established, false},
		"to this node by itself": {"10.1.0.5", "10.1.0.5", unix.IPPROTO_TCP, 9443, established, false},
	} {
		c := three(2)
		message := tracked(t, tt.to, tt.answers, tt.proto, tt.port, tt.state)
		assert.Equal(t, tt.want, slices.ContainsFunc(c.Ports, func(p Port) bool { return c.serves(message, p) }), name)
	}
}

func FuzzConnection(f *testing.F) {
	f.Add(tracked(f, "10.1.0.100", "10.1.0.5", unix.IPPROTO_TCP, 9443, 3))
	f.Add(tracked(f, "fd01::100", "fd01::5", unix.IPPROTO_UDP, 53, 0))
	f.Add([]byte{2, 0, 0, 0, 3, 0, 1, 0})
	f.Fuzz(func(_ *testing.T, b []byte) {
		c := three(2)
		c.serves(b, c.Ports[0])
	})
}
