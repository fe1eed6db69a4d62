package link

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func word(v uint32) []byte { return binary.NativeEndian.AppendUint32(nil, v) }

// routeMessage is a route of the main table with a destination of that many bits.
func routeMessage(bits byte, attrs func(message) message) message {
	m := message{unix.AF_INET, bits, 0, 0, unix.RT_TABLE_MAIN, 0, 0, unix.RTN_UNICAST, 0, 0, 0, 0}
	return attrs(m)
}

func via(index, metric uint32, router string) func(message) message {
	return func(m message) message {
		m = attribute(m, unix.RTA_OIF, word(index))
		m = attribute(m, unix.RTA_PRIORITY, word(metric))
		if router != "" {
			m = attribute(m, unix.RTA_GATEWAY, netip.MustParseAddr(router).AsSlice())
		}
		return m
	}
}

func nextHop(index uint32, router string) []byte {
	a := attribute(nil, unix.RTA_GATEWAY, netip.MustParseAddr(router).AsSlice())
	b := binary.NativeEndian.AppendUint16(nil, uint16(8+len(a)))
	b = binary.NativeEndian.AppendUint32(append(b, 0, 0), index)
	return append(b, a...)
}

func TestDefaultRoutersOfTheInterface(t *testing.T) {
	other := routeMessage(0, via(2, 0, "10.0.0.7"))
	other[4] = 100
	blackhole := routeMessage(0, via(2, 0, "10.0.0.8"))
	blackhole[7] = unix.RTN_BLACKHOLE
	msgs := []message{
		routeMessage(0, via(2, 200, "10.0.0.2")),
		routeMessage(0, via(2, 100, "10.0.0.1")),
		routeMessage(0, via(3, 0, "10.1.0.1")),
		routeMessage(8, via(2, 0, "10.0.0.9")),
		routeMessage(0, via(2, 50, "")),
		other, blackhole,
		routeMessage(0, func(m message) message {
			m = attribute(m, unix.RTA_PRIORITY, word(300))
			return attribute(m, unix.RTA_MULTIPATH, append(nextHop(2, "10.0.0.3"), nextHop(3, "10.1.0.3")...))
		}),
		routeMessage(0, func(m message) message {
			six := netip.MustParseAddr("fe80::1").As16()
			m = attribute(via(2, 400, "")(m), unix.RTA_VIA, append([]byte{unix.AF_INET6, 0}, six[:]...))
			return m
		}),
	}
	var routes []route
	for _, m := range msgs {
		r, ok, err := parseDefaultRoute(m, unix.AF_INET)
		require.NoError(t, err)
		if ok {
			routes = append(routes, r)
		}
	}
	var got []string
	for _, a := range routersOf(routes, 2) {
		got = append(got, a.String())
	}
	assert.Equal(t, []string{"10.0.0.1", "10.0.0.2", "10.0.0.3", "fe80::1"}, got)
	assert.Empty(t, routersOf(routes, 4))
}

func TestDefaultRouteThatIsMalformed(t *testing.T) {
	_, _, err := parseDefaultRoute([]byte{unix.AF_INET}, unix.AF_INET)
	assert.EqualError(t, err, "route message of 1 bytes, want 12 or more")
	_, _, err = parseDefaultRoute(routeMessage(0, func(m message) message {
		return attribute(m, unix.RTA_MULTIPATH, []byte{9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}[:8])
	}), unix.AF_INET)
	assert.EqualError(t, err, "next hop of 9 bytes in 8")
}

func FuzzParseDefaultRoute(f *testing.F) {
	f.Add([]byte(routeMessage(0, via(2, 1, "10.0.0.1"))))
	f.Add([]byte(routeMessage(0, func(m message) message { return attribute(m, unix.RTA_MULTIPATH, nextHop(2, "10.0.0.3")) })))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, ok, err := parseDefaultRoute(b, unix.AF_INET)
		if ok && err != nil {
			t.Fatal("both a route and an error")
		}
		routersOf([]route{r}, 2)
	})
}
