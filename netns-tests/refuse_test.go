//go:build netns

package netnstests

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

const fileHead = "apiVersion: keepvip/v1\nkind: Config\n"

func TestBadConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	openKey := must(n.WriteFile("open.key", strings.Repeat("ab", 32)+"\n", 0o644))(t)
	own := n.Address.String()
	before := must(n.State())(t)
	vip := func(lines string) string { return fileHead + "vips:\n- addresses: [10.77.0.100]\n" + lines }
	for _, c := range []struct {
		name string
		file string   // content, "" for none
		args []string // instead of a file
		want []string // in the one line of the error
	}{
		{name: "unknown key", file: vip("  priorty: 100\n"), want: []string{"keepvip.yaml", "priorty"}},
		{name: "duplicate key", file: vip("  priority: 100\n  priority: 101\n"), want: []string{"keepvip.yaml", "priority"}},
		{name: "address in no local subnet", args: []string{"--vip", "192.0.2.10", "--check", "none"}, want: []string{"192.0.2.10", "interface"}},
		{name: "the network's address", args: []string{"--vip", "10.77.0.0", "--check", "none"}, want: []string{"10.77.0.0 is the network address of 10.77.0.0/24 on "}},
		{name: "the network's broadcast address", args: []string{"--vip", "10.77.0.255", "--check", "none"}, want: []string{"10.77.0.255 is the broadcast address of 10.77.0.0/24 on "}},
		{name: "the node's own address", args: []string{"--vip", own, "--check", "none"}, want: []string{own + " is this node's own address on eth0: choose one that no host has"}},
		{name: "the subnet-router anycast address", args: []string{"--vip", "fd77::", "--check", "none"}, want: []string{"fd77:: is the subnet-router anycast address"}},
		{name: "VRID 0", file: vip("  vrrp: {id: 0}\n"), want: []string{"keepvip.yaml", "id"}},
		{name: "VRID 256", file: vip("  vrrp: {id: 256}\n"), want: []string{"keepvip.yaml", "256"}},
		{name: "VRID 256 as a flag", args: []string{"--vip", "10.77.0.100", "--vrid", "256"}, want: []string{"vrid", "256"}},
		{
			name: "one VRID twice on a link that one entry names",
			file: fileHead + "vips:\n- {name: a, addresses: [10.77.0.100], vrrp: {id: 7}}\n- {name: b, addresses: [10.77.0.101], interface: eth0, vrrp: {id: 7}}\n",
			want: []string{"keepvip.yaml:5: vips[1].vrrp.id: VRID 7 is also that of vips[0] on eth0, want another"},
		},
		{name: "unreadable key file", args: []string{"--vip", "10.77.0.100", "--key-file", "/nonexistent/key"}, want: []string{"/nonexistent/key"}},
		{name: "world-readable key file", args: []string{"--vip", "10.77.0.100", "--key-file", openKey}, want: []string{openKey}},
		{name: "interval 0", file: vip("  vrrp: {advertisementInterval: 0s}\n"), want: []string{"keepvip.yaml", "advertisementInterval"}},
		{name: "interval 0 as a flag", args: []string{"--vip", "10.77.0.100", "--advertisement-interval", "0s"}, want: []string{"advertisement-interval"}},
		{name: "no address", args: []string{}, want: []string{"vip"}},
		{name: "no such file", args: []string{"--config", "/nonexistent/keepvip.yaml"}, want: []string{"/nonexistent/keepvip.yaml"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := c.args
			if c.file != "" {
				path := must(n.WriteFile("keepvip.yaml", c.file, 0o644))(t)
				args = []string{"--config", path}
			}
			p := must(trial.Keepvip{}.Run(n, args...))(t)
			code, err := p.Wait(5 * time.Second)
			require.NoError(t, err, p.Log())
			after := must(n.State())(t)

			assert.Equal(t, 2, code, "exit status")
			assert.Empty(t, p.Stdout())
			message := strings.TrimSuffix(p.Stderr(), "\n")
			assert.NotEmpty(t, message)
			assert.NotContains(t, message, "\n", "more than one line")
			for _, want := range c.want {
				assert.Contains(t, message, want)
			}
			assert.Equal(t, before, after, "the host was changed")
		})
	}
}

func TestConfigValidateJudgesAddressesByTheNetworksOfThisHost(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	for address, want := range map[string]int{
		"10.77.0.100": 0, n.Address.String(): 2, "10.77.0.255": 2, "10.77.0.0": 2, "fd77::": 2, n.Addr6.String(): 2,
		"192.0.2.10": 0, // another node's, as far as this one can know
	} {
		p, code := mustTwo(trial.Keepvip{}.Command(n, "config", "validate", "--vip", address))(t)
		assert.Equal(t, want, code, "%s: %s", address, p.Stderr())
	}
}

func TestManifestWithAnErrorWritesNothing(t *testing.T) {
	t.Parallel()
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	p, code := mustTwo(trial.Keepvip{}.Command(n, "manifest", "pod", "--vip", "not-an-address"))(t)
	assert.Equal(t, 2, code)
	assert.Empty(t, p.Stdout())
	assert.NotEmpty(t, p.Stderr())

	p, code = mustTwo(trial.Keepvip{}.Command(n, "manifest", "pod", "--vip", "10.77.0.100"))(t)
	assert.Zero(t, code, p.Stderr())
	assert.Contains(t, p.Stdout(), "kind: Pod")
	assert.NotContains(t, p.Stdout(), "note:", "what a person is told is not in the manifest")
}
