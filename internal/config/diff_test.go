package config

import (
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func load(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Load(inFile(text))
	require.NoError(t, err)
	return c
}

func names(vips []VIP) string {
	var out []string
	for _, v := range vips {
		out = append(out, v.Name)
	}
	return strings.Join(out, " ")
}

func TestDiffOfOneVIP(t *testing.T) {
	const base = "addresses: [10.77.0.1, 'fd77::1'], vrrp: {id: 7}"
	tests := []struct {
		name     string
		after    string
		keys     string
		recreate bool
	}{
		{"nothing", base, "", false},
		{"defaults written out", base + ", priority: 100, check: {rise: 2}", "", false},
		{"priority", base + ", priority: 5", "vips[].priority", false},
		{"interval", "addresses: [10.77.0.1, 'fd77::1'], vrrp: {id: 7, advertisementInterval: 1s}", "vips[].vrrp.advertisementInterval", false},
		{"check", base + ", check: none", "vips[].check.url", false},
		{"several", base + ", priority: 5, check: {fall: 9, rise: 9}", "vips[].priority vips[].check.rise vips[].check.fall", false},
		{"second address", "addresses: [10.77.0.1, 'fd77::2'], vrrp: {id: 7}", "vips[].addresses", false},
		{"prefix length", "addresses: [10.77.0.1/24, 'fd77::1'], vrrp: {id: 7}", "vips[].addresses", false},
		{"family of the first address", "addresses: ['fd77::1', 10.77.0.1], vrrp: {id: 7}", "vips[].addresses", true},
		{"derived VRID", "addresses: [10.77.0.1, 'fd77::1']", "vips[].vrrp.id", true},
		{"interface", base + ", interface: eth0", "vips[].interface", true},
		{"VRID and priority", "addresses: [10.77.0.1, 'fd77::1'], vrrp: {id: 8}, priority: 5", "vips[].priority vips[].vrrp.id", true},
		{"interface and priority", base + ", priority: 5, interface: eth0", "vips[].interface vips[].priority", true},
		{"peers", "addresses: [10.77.0.1, 'fd77::1'], vrrp: {id: 7, peers: [10.77.0.11]}", "vips[].vrrp.peers", true},
	}
	before := load(t, "vips: [{"+base+"}]\n")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			after := load(t, "vips: [{"+tt.after+"}]\n")
			d := Diff(before, after)
			assert.Equal(t, tt.keys == "", reflect.ValueOf(d).IsZero())
			if tt.keys == "" {
				return
			}
			require.Len(t, d.Changed, 1)
			assert.Equal(t, vipChange{New: after.VIPs[0], Keys: strings.Fields(tt.keys), Recreate: tt.recreate}, d.Changed[0])
			assert.Empty(t, names(d.Added)+names(d.Removed))
		})
	}
}

func TestDiffOfPeersInAnotherOrder(t *testing.T) {
	before := load(t, "vips: [{addresses: [10.77.0.1], vrrp: {peers: [10.77.0.11, 10.77.0.12]}}]\n")
	after := load(t, "vips: [{addresses: [10.77.0.1], vrrp: {peers: [10.77.0.12, 10.77.0.11]}}]\n")
	assert.Empty(t, Diff(before, after))
	assert.Equal(t, "10.77.0.12", after.VIPs[0].VRRP.Peers[0].String(), "as it was written")
}

func TestDiffOfTheSet(t *testing.T) {
	before := load(t, "vips:\n- {name: a, addresses: [10.77.0.1], vrrp: {id: 1}}\n- {name: b, addresses: [10.77.0.2], vrrp: {id: 2}}\nsocket: /old\n")
	after := load(t, "vips:\n- {name: c, addresses: [10.77.0.1], vrrp: {id: 1}}\n- {name: b, addresses: [10.77.0.2], vrrp: {id: 2}}\nsocket: /new\nmetrics: off\n")
	d := Diff(before, after)
	assert.Equal(t, "c", names(d.Added))
	assert.Equal(t, "a", names(d.Removed))
	assert.Empty(t, d.Changed)
	assert.Equal(t, []string{"socket", "metrics.address"}, d.Restart)
	assert.Equal(t, Changes{Restart: []string{"socket"}}, Diff(load(t, "vips: [{addresses: [10.77.0.1]}]\n"), load(t, "vips: [{addresses: [10.77.0.1]}]\nsocket: /x\n")))
}

func TestDiffOfKeysIsLive(t *testing.T) {
	const vips = "vips: [{addresses: [10.77.0.1]}]\n"
	in := inFile(vips + "key: {file: /a}\n")
	in.Elsewhere = true
	before, err := Load(in)
	require.NoError(t, err)
	in = inFile(vips + "key: {file: /b, id: 2, accept: [1=/a], mode: permissive}\n")
	in.Elsewhere = true
	after, err := Load(in)
	require.NoError(t, err)
	assert.Equal(t, Changes{Live: []string{"key.file", "key.id", "key.accept", "key.mode"}}, Diff(before, after))
}

// others are values that are nobody's default.
var others = map[string]string{
	"follow.members": "10.0.0.1", "follow.listen": "127.0.0.1:1", "follow.onMembers": "true", "follow.connections": "7", "follow.keyFile": "/fk", "key.file": "/key", "key.id": "7", "key.accept": "1=/old", "key.mode": "permissive", "key.window": "17s", "port": "9999",
	"raft.peers": "10.0.0.1", "raft.witnesses": "10.0.0.1", "raft.heartbeatTimeout": "717ms", "raft.removeDeadAfter": "7h",
	"raft.certificate": "/cert", "raft.privateKey": "/private", "raft.ca": "/ca", "lifeline": "false", "realtime": "true", "socket": "/socket",
	"stateDir": "/state", "keepalivedFiles": "/files", "checksAsRoot": "any", "metrics.address": "off", "metrics.certificate": "/mc", "metrics.privateKey": "/mk", "metrics.tokenFile": "/mt", "metrics.page": "true", "metrics.keepalivedNames": "true", "health.address": "0.0.0.0:9647", "log.level": "debug", "log.format": "json", "notifyFIFO.path": "/fifo", "notifyFIFO.user": "1",
}

// A value that waits for a new process must be nowhere in the configuration that this one goes on with, however often it is reloaded.
func TestReloadLeavesWhatOnlyANewProcessUses(t *testing.T) {
	for _, o := range Options() {
		if o.perVIP() {
			continue
		}
		for _, election := range []Election{ElectionVRRP, ElectionRaft} {
			t.Run(o.Key+" of "+string(election), func(t *testing.T) {
				before := load(t, "vips: [{addresses: [10.77.0.1]}]\n")
				next := load(t, "vips: [{addresses: [10.77.0.1]}]\n")
				before.VIPs[0].Election = election
				require.NoError(t, o.assign(target{config: next}, []string{others[o.Key]}), "a value for the test")
				waits := o.Reload == restart || o.Reload == member && election == ElectionRaft
				running := Running(before, next)
				for range 2 { // the second reload is of the same file
					d := Diff(before, next)
					assert.Equal(t, waits, slices.Contains(d.Restart, o.Key))
					assert.Equal(t, waits, !o.differs(target{config: before}, target{config: running}))
					assert.Equal(t, waits, o.differs(target{config: next}, target{config: running}))
					if !waits {
						break
					}
					before = running
					before.VIPs[0].Election = election
					running = Running(before, next)
				}
			})
		}
	}
}

func TestRunningSharesNoList(t *testing.T) {
	before, next := load(t, "vips: [{addresses: [10.77.0.1]}]\n"), load(t, "vips: [{addresses: [10.77.0.1]}]\n")
	before.VIPs[0].Election = ElectionRaft
	before.Raft.Witnesses = []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	running := Running(before, next)
	running.Raft.Witnesses[0] = netip.Addr{}
	assert.True(t, before.Raft.Witnesses[0].IsValid())
	assert.Empty(t, next.Raft.Witnesses, "next is the file's")
}

// A service of each interface goes on when only the addresses have other places in the list: each must get its own.
func TestDiffOfAddressesElsewhereInAnotherOrder(t *testing.T) {
	const vip = "vips: [{addresses: [10.77.0.1, %s], interface: eth0, elsewhere: [10.78.0.1=eth1, 10.79.0.1=eth2]}]\n"
	before, after := load(t, fmt.Sprintf(vip, "10.78.0.1, 10.79.0.1")), load(t, fmt.Sprintf(vip, "10.79.0.1, 10.78.0.1"))
	d := Diff(before, after)
	require.Len(t, d.Changed, 1)
	assert.False(t, d.Changed[0].Recreate)
	assert.Equal(t, before.VIPs[0].Links(), after.VIPs[0].Links())
}
