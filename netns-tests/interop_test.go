//go:build netns

package netnstests

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// matrix is every way to speak VRRP that a peer knows, each as a virtual router
// of its own, so that one course shows all of them.
func matrix(l *lab.Lab, all bool) []trial.Router {
	var routers []trial.Router
	add := func(name string, interval time.Duration, f trial.Flavor, vip func(id int) string) {
		for _, peers := range []bool{false, true} {
			if peers && !all {
				continue
			}
			for _, nopreempt := range []bool{false, true} {
				id := len(routers) + 1
				r := trial.Router{Flavor: f, Settings: trial.Settings{VRID: id, Interval: interval, Addresses: []netip.Addr{netip.MustParseAddr(vip(id))}}}
				r.NoPreempt = nopreempt
				way, preempt := "multicast", "preempt"
				if peers {
					way, r.Peers = "unicast", trial.NodeAddresses(l, r.Addresses[0])
				}
				if nopreempt {
					preempt = "nopreempt"
				}
				r.Name = fmt.Sprintf("%s-%s-%s", name, way, preempt)
				routers = append(routers, r)
			}
		}
	}
	v4 := func(id int) string { return fmt.Sprintf("10.77.0.%d", 100+id) }
	v6 := func(id int) string { return fmt.Sprintf("fd77::%d", 100+id) }
	add("v2", time.Second, trial.Flavor{Version: 2}, v4)
	if all {
		add("v2-pass", time.Second, trial.Flavor{Version: 2, Password: "42"}, v4)
	}
	add("v3-ipv4", 500*time.Millisecond, trial.Flavor{Version: 3}, v4)
	add("v3-ipv6", 500*time.Millisecond, trial.Flavor{Version: 3}, v6)
	return routers
}

func TestInterop(t *testing.T) {
	type row struct {
		low, high trial.Runner
		keepvip   int  // node
		all       bool // the peer knows passwords and unicast
	}
	each(t, map[string]row{
		// Here from the same keepalived.conf, as it is, which says the whole matrix in keepalived's words.
		"keepvip above keepalived": {trial.RunKeepalived, trial.RunKeepalivedConf, 2, true},
		"keepalived above keepvip": {trial.RunKeepvip, trial.RunKeepalived, 1, true},
		"keepvip above FRR":        {trial.RunFRR, trial.RunKeepvip, 2, false},
		"FRR above keepvip":        {trial.RunKeepvip, trial.RunFRR, 1, false},
	}, func(t *testing.T, c row) {
		l := must(host.Open(lab.Config{Nodes: 2}))(t)
		t.Cleanup(l.Close)
		routers := matrix(l, c.all)
		exchange(t, l, trial.Exchange{Low: c.low, High: c.high, Routers: routers}, c.keepvip)
	})
}

func exchange(t *testing.T, l *lab.Lab, e trial.Exchange, keepvip int) {
	t.Helper()
	recording := must(l.Record())(t)
	var targets []netip.Addr
	for _, r := range e.Routers {
		targets = append(targets, r.Addresses...)
	}
	steps, report, err := e.Run(l, lab.MeasureConfig{Targets: targets, Interval: 20 * time.Millisecond, NoDirect: true})
	frames := recording.Stop()
	require.NoError(t, err)
	for _, r := range e.Routers {
		t.Run(r.Name, func(t *testing.T) {
			for _, s := range steps {
				o := r.OutcomeOf(report, s)
				if !(s.Both && o.Silent) {
					assert.Equal(t, s.Holder(r), o.Holder, "%s: who advertises", s.Name)
				}
				if o.Takeover == 0 || s.Within == nil {
					continue
				}
				t.Logf("%-26s n%d after %s ms, protocol %s ms", s.Name, o.Holder, lab.Milliseconds(o.Takeover), lab.Milliseconds(s.Within(r)))
				stream := report.Stream("c1", r.Addresses[0])
				require.NotNil(t, stream)
				_, node, ok := stream.FirstAnswer(s.At+o.Takeover, 3-o.Holder)
				if assert.True(t, ok, "%s: nobody answers the client", s.Name) {
					assert.Equal(t, o.Holder, node)
				}
			}
		})
	}
	t.Run("tshark reads keepvip's packets without a warning", func(t *testing.T) {
		readable(t, ofNode(frames, keepvip))
	})
	if t.Failed() {
		for _, n := range l.Nodes {
			logs, _ := filepath.Glob(n.Path("*.std*"))
			for _, path := range logs {
				text, _ := os.ReadFile(path)
				t.Logf("--- %s %s\n%s", n.Label, filepath.Base(path), text)
			}
		}
	}
}

func ofNode(frames []lab.RecordedFrame, node int) []lab.RecordedFrame {
	var found []lab.RecordedFrame
	for _, f := range frames {
		if f.Node == node {
			found = append(found, f)
		}
	}
	return found
}

// readable lets tshark judge the frames: every one is VRRP with a checksum that
// it found to be right, and none has a note of its own ("expert information").
func readable(t *testing.T, frames []lab.RecordedFrame) {
	t.Helper()
	require.NotEmpty(t, frames)
	path := filepath.Join(t.TempDir(), "vrrp.pcap")
	require.NoError(t, lab.WritePCAP(path, frames))
	fields := []string{"frame.number", "vrrp.version", "vrrp.checksum.status", "_ws.expert.message", "_ws.malformed"}
	args := []string{"-r", path, "-o", "ip.check_checksum:TRUE", "-o", "vrrp.v3_checksum_as_in_v2:FALSE", "-T", "fields", "-E", "separator=|"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	cmd := exec.Command("tshark", args...)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	read := strings.Split(strings.TrimSpace(string(out)), "\n")
	assert.Len(t, read, len(frames))
	bad := map[string]int{}
	for _, line := range read {
		cells := strings.Split(line, "|")
		require.Len(t, cells, len(fields), line)
		const good = "1"
		if (cells[1] != "2" && cells[1] != "3") || cells[2] != good || cells[3] != "" || cells[4] != "" {
			bad[strings.Join(cells[1:], "|")]++
		}
	}
	assert.Empty(t, bad, "of %d frames: version, checksum status, notes", len(frames))
	t.Logf("%d frames read", len(frames))
}
