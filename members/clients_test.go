package members

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/members/envelope"
)

// someClients are so many of IPv4.
func someClients(n int) (list []Client) {
	for i := range n {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i) | 1}), uint16(40000+i))
		list = append(list, Client{At: at, Port: 6443})
	}
	return list
}

func TestMachineSaysAllClientsByTurns(t *testing.T) {
	six := netip.MustParseAddrPort("[2001:db8::7]:40000")
	for name, tt := range map[string]struct {
		list   []Client
		hellos int
	}{
		"none":                {nil, 1},
		"few":                 {someClients(28), 1},
		"more than fit":       {someClients(100), 4},
		"of IPv6, too":        {append(someClients(30), Client{At: six, Port: 6443}), 3},
		"and what nobody can": {append(someClients(5), Client{Port: 6443}, Client{At: six}), 1},
	} {
		t.Run(name, func(t *testing.T) {
			m, now := spreading(t, Config{}, 100*ms)
			s := spread()
			s.Clients = tt.list
			m.Step(now, with(m, s))
			heard := map[Client]int{}
			for range 2 * tt.hellos {
				at, _ := m.Deadline()
				list := said(m.Step(at, Expired{}))
				require.Len(t, list, 1)
				b, err := Message{Type: Hello, Peer: list[0]}.Append(nil, 1)
				require.NoError(t, err)
				got, _, err := Parse(b)
				require.NoError(t, err)
				for _, c := range got.Peer.Clients {
					heard[c]++
				}
			}
			for _, c := range tt.list {
				if c.valid() {
					assert.Equal(t, 2, heard[c], "%v", c)
				}
			}
		})
	}
}

// A HELLO that says much else has room for fewer clients. Those that it leaves out are due in the next one, and not always the same ones left out.
func TestMachineSaysAllClientsByTurnsInLongHellos(t *testing.T) {
	six := netip.MustParseAddr("2001:db8::7")
	for name, list := range map[string][]Client{
		"of IPv4": someClients(100),
		"of both": append(someClients(30), Client{At: netip.AddrPortFrom(six, 40000), Port: 6443}, Client{At: netip.AddrPortFrom(six, 40001), Port: 6443}),
	} {
		t.Run(name, func(t *testing.T) {
			m, now := spreading(t, Config{Node: strings.Repeat("n", maxNode), Software: strings.Repeat("s", maxSoftware)}, 100*ms)
			s := spread()
			s.Ports, s.Left, s.Clients = mostPorts(), mostLeft(), list
			self := with(m, s)
			self.Self.Reason, self.Self.For = strings.Repeat("r", maxReason), six
			m.Step(now, self)
			heard := map[Client]bool{}
			for round := range 100 {
				for i := range maxHears {
					msg := claimant()
					msg.Session = uint64(i + 1)
					m.Step(now, Received{Source: invented(i), Message: msg})
				}
				now, _ = m.Deadline()
				for _, peer := range said(m.Step(now, Expired{})) {
					b, err := Message{Type: Hello, Peer: peer}.Append(nil, 1)
					require.NoError(t, err)
					assert.LessOrEqual(t, len(b)+auth.TrailerLen, envelope.MaxMessage)
					got, _, err := Parse(b)
					require.NoError(t, err)
					require.Equal(t, peer.Clients, got.Peer.Clients, "all that are due")
					if round > 0 {
						assert.Len(t, got.Peer.Hears, maxHears)
					}
					for _, c := range got.Peer.Clients {
						heard[c] = true
					}
				}
			}
			assert.Len(t, heard, len(list))
		})
	}
}

func TestMachineSaysClientsInHelloAlone(t *testing.T) {
	m, now := spreading(t, Config{}, 100*ms)
	s := spread()
	s.Clients = someClients(3)
	m.Step(now, with(m, s))
	assert.Empty(t, m.known.message(Request, Transfer{}).Peer.Clients)
	assert.Empty(t, m.known.own.clientsDue(now.Add(-time.Hour), m.known.message(Hello, Transfer{}))[3:])
}

func TestParseRefusesClientsThatAreNone(t *testing.T) {
	for name, value := range map[string]string{
		"cut off":              "04c0000207",
		"no address":           "009c401921",
		"an odd address":       "03c000029c401921",
		"of many":              "04e00000059c401921",
		"of this host":         "047f0000019c401921",
		"no port":              "04c000020700001921",
		"no port of the other": "04c00002079c400000",
	} {
		_, ok := parseClients(unhex(t, value))
		assert.False(t, ok, name)
	}
	got, ok := parseClients(unhex(t, "04c00002079c40192b"))
	assert.True(t, ok)
	assert.Equal(t, []Client{{At: netip.MustParseAddrPort("192.0.2.7:40000"), Port: 6443}}, got)
}
