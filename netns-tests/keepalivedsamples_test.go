//go:build netns

package netnstests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

const debianSamples = "/usr/share/doc/keepalived/samples/keepalived.conf."

// refusedSamples are those of Debian's samples with a vrrp_instance that keepvip does not run, and why. The others without an instance
// balance load alone.
var refusedSamples = map[string][]string{
	"SSL_GET":               {"auth_type AH"},
	"track_interface":       {"static_routes", "virtual_routes"},
	"vrrp.routes":           {"static_routes", "virtual_routes"},
	"vrrp.rules":            {"static_rules", "virtual_rules"},
	"vrrp.static_ipaddress": {"static_ipaddress", "virtual_routes"},
}

// ownSamples are ours, on interfaces that the nodes have.
var ownSamples = []string{"elsewhere.conf", "group-elsewhere.conf", "vmac-elsewhere.conf"}

// runnable sorts the samples out.
func runnable(t *testing.T) []string {
	t.Helper()
	debian := must(filepath.Glob(debianSamples + "*"))(t)
	var out []string
	for _, path := range debian {
		doc := must(syntax.Read(path, trial.KeepalivedID, syntax.Disk{}))(t)
		r, why := convert.Convert(doc, convert.Options{}), ""
		for _, f := range r.Findings {
			if f.Severity == keepalived.Fault {
				why += f.Text + "\n"
			}
		}
		name := strings.TrimPrefix(path, debianSamples)
		reasons, refused := refusedSamples[name]
		switch {
		case refused:
			for _, reason := range reasons {
				assert.Contains(t, why, reason, name)
			}
		case len(keepalived.Model(doc).Instances) > 0:
			assert.Empty(t, why, name)
			out = append(out, path)
		default:
			assert.Contains(t, why, "no vrrp_instance", name)
		}
	}
	if len(debian) > 0 { // the package brought its documentation
		assert.Len(t, out, 7)
	}
	root := must(trial.Root())(t)
	for _, name := range ownSamples {
		out = append(out, filepath.Join(root, "internal/tools/keepalived/convert/testdata", name))
	}
	return out
}

// Files that keepvip accepts run unchanged: what keepalived binds on one node, keepvip binds on another with the same interfaces, and both
// leave the addresses as they were.
func TestKeepalivedSamplesRunAsUnderKeepalived(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	samples := runnable(t)
	l := must(host.Open(lab.Config{Nodes: 2 * len(samples), NICs: [][]string{{"eth0", "eth1", "eth2", "eth3"}}}))(t)
	t.Cleanup(l.Close)
	for _, n := range l.Nodes { // each is alone
		must(n.CutPort())(t)
	}
	for i, path := range samples {
		theirs, ours := l.Nodes[2*i], l.Nodes[2*i+1]
		t.Run(strings.TrimPrefix(filepath.Base(path), "keepalived.conf."), func(t *testing.T) {
			t.Parallel()
			runBeside(t, path, theirs, ours)
		})
	}
}

func runBeside(t *testing.T, path string, theirs, ours *lab.Node) {
	t.Helper()
	nodes := []*lab.Node{theirs, ours}
	var before, own [2]string
	for i, n := range nodes {
		own[i] = strings.Join(listed(t, n), "\n")
		before[i] = must(n.State())(t).Addresses
	}
	path = withScripts(t, theirs, path)
	keepalivedd := must(trial.RunKeepalivedFile(theirs, path))(t)
	keepvip := must(trial.KeepvipWith(ours, path))(t)
	bound := func(i int) []string {
		return slices.DeleteFunc(listed(t, nodes[i]), func(line string) bool { return strings.Contains(own[i], line) })
	}
	addresses := configured(t, path)
	// With lvs_sync_daemon_interface keepalived needs IPVS, also with --vrrp, and ends where the kernel has none. keepvip runs.
	ended := func() bool { return strings.Contains(keepalivedd.Log(), "Can't initialize ipvs") }
	eventually(t, 15*time.Second, "both have elected", func() bool { return (ended() || len(bound(0)) >= addresses) && len(bound(1)) >= addresses })
	if ended() {
		assert.Len(t, bound(1), addresses)
	} else {
		assert.Equal(t, asBound(bound(0)), bound(1), "%s\n%s", keepalivedd.Log(), keepvip.Log())
	}
	for i, p := range []*lab.Process{keepalivedd, keepvip} {
		if i == 0 && ended() {
			continue
		}
		assert.Zero(t, must(p.Terminate(10*time.Second))(t), p.Log())
		assert.Equal(t, before[i], must(nodes[i].State())(t).Addresses)
	}
}

// asBound are listed addresses with those of IPv4 bound as keepvip binds them: as /32, whatever is written.
func asBound(lines []string) (out []string) {
	for _, l := range lines {
		out = append(out, lengthOfIPv4.ReplaceAllString(l, "$1/32"))
	}
	return out
}

var lengthOfIPv4 = regexp.MustCompile(`( [0-9.]+)/[0-9]+`)

// withScripts is the file with a program that is there in the place of its notify scripts: keepvip does not start without them.
func withScripts(t *testing.T, n *lab.Node, path string) string {
	t.Helper()
	text := must(os.ReadFile(path))(t)
	there := regexp.MustCompile(`/usr/local/bin/vrrp\.\w+`).ReplaceAll(text, []byte("/usr/bin/true"))
	if bytes.Equal(text, there) {
		return path
	}
	path = must(n.WriteFile("keepalived.conf", string(there), 0o644))(t)
	return path
}

// configured is how many addresses the instances of a file have.
func configured(t *testing.T, path string) int {
	t.Helper()
	cfg := must(keepalived.Read(path, trial.KeepalivedID, syntax.Disk{}))(t)
	all := map[string]bool{}
	for _, i := range cfg.Instances {
		for _, a := range slices.Concat(i.Addresses, i.Excluded) {
			all[a.Interface+a.Prefix.String()] = true
		}
	}
	return len(all)
}

// listed are a node's addresses as ip(8) lists them: interface, address, prefix length, scope and label.
func listed(t *testing.T, n *lab.Node) []string {
	t.Helper()
	out := must(n.Run("ip", "-j", "addr", "show"))(t)
	var links []struct {
		Name      string `json:"ifname"`
		Addresses []struct {
			Local, Scope, Label string
			Length              int `json:"prefixlen"`
		} `json:"addr_info"`
	}
	require.NoError(t, json.Unmarshal([]byte(out), &links))
	var lines []string
	for _, l := range links {
		for _, a := range l.Addresses {
			lines = append(lines, fmt.Sprintf("%s %s/%d scope %s label %s", l.Name, a.Local, a.Length, a.Scope, a.Label))
		}
	}
	slices.Sort(lines)
	return lines
}
