package routing

import (
	"bufio"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var vip = netip.MustParseAddr("10.99.0.100")

// stub answers at a socket: before is what it says first, and each command, which ends with the byte end, has its answer.
func stub(t *testing.T, path, before string, end byte, answers map[string]string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				_, _ = c.Write([]byte(before))
				for r := bufio.NewReader(c); ; {
					command, err := r.ReadString(end)
					if err != nil {
						return
					}
					_, _ = c.Write([]byte(answers[strings.TrimSuffix(command, string(end))]))
				}
			}()
		}
	}()
}

const protocols = "2002-Name       Proto      Table      State  Since         Info\n1002-device1    Device     ---        up     06:07:37.428  \n" +
	" keepvip4   Kernel     master4    up     06:07:37.428  \n uplink     BGP        ---        up     06:07:37.428  Established   \n" +
	" second     BGP        ---        start  06:07:37.428  Active        Socket: Connection refused\n0000 \n"

func bird(t *testing.T, route, exported string) string {
	t.Helper()
	root := t.TempDir()
	stub(t, filepath.Join(root, "run/bird/bird.ctl"), "0001 BIRD 2.0.12 ready.\n", '\n', map[string]string{
		"restrict": "0016 Access restricted\n", "show protocols": protocols,
		"show route 10.99.0.100/32 all": route, "show route 10.99.0.100/32 export uplink": exported,
	})
	return root
}

const birdRoute = "1007-Table master4:\n 10.99.0.100/32       unicast [keepvip4 06:07:37.503] * (10)\n \tdev keepvip0\n1008-\tType: inherit univ\n1012-\tKernel.source: 248\n \tKernel.metric: 0\n0000 \n"

func TestBIRDTakesTheRouteAndTellsOfIt(t *testing.T) {
	found := Find(t.Context(), bird(t, birdRoute, "1007-Table master4:\n 10.99.0.100/32       unicast [keepvip4 06:07:37.503] * (10)\n \tdev keepvip0\n0000 \n"), []netip.Addr{vip})
	require.Len(t, found, 1)
	require.NoError(t, found[0].Err)
	assert.Equal(t, map[netip.Addr]Route{vip: {Taken: true, Leaves: []string{"uplink"}}}, found[0].Routes)
	assert.Equal(t, []string{"second: BGP start Active Socket: Connection refused"}, found[0].Down)
}

func TestBIRDWithoutTheRoute(t *testing.T) {
	found := Find(t.Context(), bird(t, "8001 Network not found\n", "8001 Network not found\n"), []netip.Addr{vip})
	require.Len(t, found, 1)
	require.NoError(t, found[0].Err)
	assert.Equal(t, map[netip.Addr]Route{vip: {}}, found[0].Routes)
}

func frr(t *testing.T, zebra, bgpd, summary string) string {
	t.Helper()
	root := t.TempDir()
	const end = "\x00\x00\x00\x00"
	stub(t, filepath.Join(root, "run/frr/zebra.vty"), "", 0, map[string]string{"enable": end, "show ip route 10.99.0.100/32 json": zebra + end})
	if summary != "" {
		stub(t, filepath.Join(root, "run/frr/bgpd.vty"), "", 0, map[string]string{
			"enable": end, "show bgp summary json": summary + end, "show bgp ipv4 unicast 10.99.0.100/32 json": bgpd + end,
		})
	}
	return root
}

const zebraRoute = `{"10.99.0.100/32":[{"prefix":"10.99.0.100/32","protocol":"kernel","selected":true}]}`

func TestFRRTakesTheRouteAndTellsOfIt(t *testing.T) {
	found := Find(t.Context(), frr(t, zebraRoute, `{"prefix":"10.99.0.100/32","advertisedTo":{"10.77.0.254":{"hostname":"r1"}}}`,
		`{"ipv4Unicast":{"peers":{"10.77.0.254":{"state":"Established"},"10.77.0.253":{"state":"Active"}}}}`), []netip.Addr{vip})
	require.Len(t, found, 1)
	require.NoError(t, found[0].Err)
	assert.Equal(t, map[netip.Addr]Route{vip: {Taken: true, Leaves: []string{"10.77.0.254"}}}, found[0].Routes)
	assert.Equal(t, []string{"10.77.0.253: Active"}, found[0].Down)
}

func TestFRRWithoutTheRouteAndWithoutBGP(t *testing.T) {
	found := Find(t.Context(), frr(t, "{\n}\n", "", ""), []netip.Addr{vip})
	require.Len(t, found, 1)
	require.NoError(t, found[0].Err)
	assert.Equal(t, map[netip.Addr]Route{vip: {}}, found[0].Routes)
	assert.Equal(t, []string{"bgpd: it does not run"}, found[0].Down)
}

func TestNoDaemon(t *testing.T) { assert.Empty(t, Find(t.Context(), t.TempDir(), []netip.Addr{vip})) }

// TestDaemonThatSaysNothing, or too much, is not waited for.
func TestDaemonThatSaysNothing(t *testing.T) {
	for _, before := range []string{"", strings.Repeat("1006-a line that goes on\n", mostReply/20)} {
		root := t.TempDir()
		stub(t, filepath.Join(root, "run/bird.ctl"), before, '\n', nil)
		found := Find(t.Context(), root, []netip.Addr{vip})
		require.Len(t, found, 1)
		assert.Error(t, found[0].Err)
	}
}

// FuzzReplies: whatever a daemon says, a reply lies within it, and is read.
func FuzzReplies(f *testing.F) {
	f.Add([]byte(protocols))
	f.Add([]byte(birdRoute))
	f.Add([]byte(zebraRoute + "\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if n := birdReply(b); n > len(b) {
			t.Errorf("%d of %d", n, len(b))
		} else {
			up, down := birdSpeakers(birdText(b[:n]))
			assert.LessOrEqual(t, len(up)+len(down), mostSpeakers)
			for _, name := range up {
				assert.NotContains(t, name, "\n")
			}
		}
		if n := frrReply(b); n > len(b) {
			t.Errorf("%d of %d", n, len(b))
		}
		_, _, _ = frrTakes(b, "10.99.0.100/32"), frrTells(b), frrDown(b)
	})
}
