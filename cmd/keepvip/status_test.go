package main

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/hook"
	"github.com/keepvip/keepvip/internal/node/reloads"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestStatusSaysSplitAndSilent(t *testing.T) {
	now := time.Now()
	heard := now.Add(-3 * time.Minute)
	a := netip.MustParseAddr("10.0.0.12")
	d := daemon.Status{VIPs: []instance.Status{{
		Name:    "apiserver",
		Splits:  []election.Split{{Address: a, Node: "cp-2", Since: now.Add(-5 * time.Second), Both: true, Cause: "VRID 5 there, 6 here", Remedy: "set vrrp.id"}},
		Members: []election.Member{{Address: a, Node: "cp-2", State: election.Silent, Was: "active", Priority: 100, LastHeard: heard}},
	}}}
	text := statusText(d, now)
	assert.Contains(t, text, "SPLIT     cp-2 10.0.0.12 holds the address, and none of its advertisements has arrived here for 5s; this node holds it, too: VRID 5 there, 6 here; set vrrp.id [KV302]\n")
	assert.Contains(t, text, "cp-2 10.0.0.12 silent [KV306] for 3m0s, was active, priority 100")
	assert.NotContains(t, text, "ago")
}

func TestStatusSaysWhenACertificateExpires(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		left time.Duration
		want string
	}{
		"15 days":       {15 * 24 * time.Hour, ""},
		"8 days":        {8*24*time.Hour + time.Hour, "  EXPIRES   the certificate of the checked service (api) expires on 2026-11-29, in 8 days [KV241]\n"},
		"over, an hour": {-time.Hour, "  EXPIRES   the certificate of the checked service (api) has expired on 2026-11-21 [KV242]\n"},
	} {
		api := instance.CheckStatus{Name: "api", Verdict: health.Verdict{Expires: now.Add(tt.left)}}
		text := statusText(daemon.Status{VIPs: []instance.Status{{Checks: []instance.CheckStatus{api, {Name: "db"}}}}}, now)
		assert.Equal(t, tt.want != "", strings.Contains(text, "EXPIRES"), name)
		assert.Contains(t, text, tt.want, name)
	}
}

func TestStatusOfAHolderThatIsSilent(t *testing.T) {
	doc := sampleStatus(time.Now())
	doc.VIPs[0].Holder, doc.VIPs[0].Silent = "", true
	assert.Contains(t, statusText(doc, time.Now()), "  holder    this node, and its kernel keeps it from answering\n")
}

// A script that asks whether all is well must not hear yes beside a line that says the opposite.
func TestStatusEndsWithItsWorstFinding(t *testing.T) {
	split := func(v *instance.Status) {
		v.Splits = []election.Split{{Address: netip.MustParseAddr("10.0.0.12"), Cause: "VRID 5 there, 6 here"}}
	}
	conflict := func(v *instance.Status) {
		v.Conflicts = []instance.Conflict{{Address: netip.MustParseAddr("10.0.0.100"), MAC: "02:00:00:00:00:66"}}
	}
	silent := func(v *instance.Status) {
		v.Observed, v.Silent, v.Why = instance.ObservedFault, true, &instance.Why{Code: "KV406", Reason: "SILENT: the lease has been over for 5s"}
	}
	unfit := func(v *instance.Status) {
		v.Observed, v.Eligible, v.Unfit = instance.ObservedIneligible, false, "the check fails"
	}
	for name, tt := range map[string]struct {
		changes []func(*instance.Status)
		code    int
		say     []string
	}{
		"nothing": {code: exitOK},
		"a node that is not fit, which others replace": {[]func(*instance.Status){unfit}, exitOK, nil},
		"split":              {[]func(*instance.Status){split}, exitSplit, []string{"SPLIT: apiserver: 10.0.0.12 holds the address"}},
		"conflict":           {[]func(*instance.Status){conflict}, exitConflict, []string{"CONFLICT: apiserver: 10.0.0.100 is claimed by 02:00:00:00:00:66"}},
		"silent":             {[]func(*instance.Status){silent}, exitFault, []string{"FAULT: apiserver: SILENT: the lease has been over for 5s [KV406]"}},
		"silent and a split": {[]func(*instance.Status){silent, split}, exitSplit, []string{"SPLIT: ", "FAULT: "}},
	} {
		t.Run(name, func(t *testing.T) {
			doc := sampleStatus(time.Now())
			for _, change := range tt.changes {
				change(&doc.VIPs[0])
			}
			code, out, errs := keepvip(t, "status", "-o", "json", "--socket", answering(t, doc))
			assert.Equal(t, tt.code, code, errs)
			printsObject(t, kindStatus, out)
			for _, say := range tt.say {
				assert.Contains(t, errs, say)
			}
			assert.Equal(t, len(tt.say) == 0, errs == "", errs)
		})
	}
}

// A finding is one line, also where the status has two for it, and where it is the same of hundreds of addresses.
func TestStatusFindingsAreALineEach(t *testing.T) {
	now := time.Now()
	doc := sampleStatus(now)
	doc.VIPs[0].Conflicts = []instance.Conflict{{Address: netip.MustParseAddr("10.0.0.100"), MAC: "02:00:00:00:00:66", LastSeen: now, VRRP: &instance.Router{VRID: 52}}}
	for n := range 8 {
		doc.VIPs = append(doc.VIPs, instance.Status{
			Name: fmt.Sprintf("v%d", n), Observed: instance.ObservedFault, Why: &instance.Why{Code: "KV501", Reason: "NO QUORUM: 1 of 3 voters heard"},
		})
	}
	lines := strings.Split(finding(doc, now).Error(), "\n")
	require.Len(t, lines, 2)
	assert.Regexp(t, `^CONFLICT: apiserver: .* takes no part in the election \(last heard .* ago\); \S`, lines[0])
	assert.Equal(t, "FAULT: v0, v1, v2, v3, v4 and 3 more: NO QUORUM: 1 of 3 voters heard [KV501]", lines[1])
}

func TestStatusSaysWhatAForeignHostAdvertises(t *testing.T) {
	now := time.Now()
	c := instance.Conflict{Address: netip.MustParseAddr("10.0.0.100"), MAC: "02:00:00:00:00:66", LastSeen: now.Add(-1200 * time.Millisecond)}
	line := "  CONFLICT  10.0.0.100 is claimed by 02:00:00:00:00:66, which takes no part in the election (last heard 1.2s ago)"
	text := func() string {
		return statusText(daemon.Status{VIPs: []instance.Status{{Conflicts: []instance.Conflict{c}}}}, now)
	}
	assert.Contains(t, text(), line+" [KV301]\n")
	c.VRRP = &instance.Router{Source: netip.MustParseAddr("10.0.0.13"), Version: 2, VRID: 52, Priority: 101}
	line += ";\n            that host sends VRRP from 10.0.0.13 with version 2, VRID 52, priority 101 (keepalived?) [KV301]\n"
	assert.Contains(t, text(), line)
	assert.Contains(t, pages(t)["fence.md"], line, "as docs/fence.md shows it")
}

func TestStatusSaysWhyTheFileIsNotInForce(t *testing.T) {
	now := time.Now()
	d := daemon.Status{Node: "n1", Version: "v1", Config: &reloads.Status{Path: "k.conf", Loaded: now.Add(-time.Hour)}}
	assert.Equal(t, "n1, keepvip v1\n", statusText(d, now))
	d.Config.Refused = &reloads.Refused{At: now.Add(-time.Minute), Reasons: []string{"k.conf:4: error unsupported: use_ipvlan"}}
	assert.Equal(t, "n1, keepvip v1\nCONFIG refused 1m0s ago, that of 1h0m0s ago is in force: k.conf:4: error unsupported: use_ipvlan\n", statusText(d, now))
	d.Config.Refused.Reasons = append(d.Config.Refused.Reasons, "k.conf:5: error", "k.conf:6: error")
	assert.Contains(t, statusText(d, now), "use_ipvlan (and 2 more)\n")
}

func TestStatusSaysWhetherAMemberListens(t *testing.T) {
	d := daemon.Status{VIPs: []instance.Status{}}
	assert.NotContains(t, statusText(d, time.Now()), "listen")
	d.Listener = &daemon.ListenerStatus{
		Address: "127.0.0.1:9443", To: []netip.AddrPort{netip.MustParseAddrPort("10.0.0.100:443"), netip.MustParseAddrPort("[fd77::1]:443")}, Connections: 3,
	}
	assert.Contains(t, statusText(d, time.Now()), "\nlistens at 127.0.0.1:9443 for 10.0.0.100:443 [fd77::1]:443, 3 connections\n")
	d.Listener.Problem, d.Listener.Code = "listen tcp 127.0.0.1:9443: bind: address already in use", code.NotListening
	assert.Contains(t, statusText(d, time.Now()), "\nNO LISTENER listen tcp 127.0.0.1:9443: bind: address already in use [KV489]\n")
	d.Listeners = []door.Status{{Option: "socket"}, {Option: "metrics.address", Address: "127.0.0.1:9645", Problem: "address already in use", Code: code.MetricsUnheard}}
	assert.Contains(t, statusText(d, time.Now()), "\nNO LISTENER metrics.address 127.0.0.1:9645: address already in use [KV380]\n")
	assert.NotContains(t, statusText(d, time.Now()), "socket")
}

func TestStatusSaysWhichHookFailed(t *testing.T) {
	now := time.Now()
	d := daemon.Status{
		VIPs: []instance.Status{{Name: "a"}, {Name: "b"}},
		Hooks: &hook.Status{
			Programs: []hook.ProgramStatus{
				{VIP: "a", Command: []string{"/etc/n.sh", "x"}, Runs: 3, Failed: 2, State: config.HookMaster, Result: hook.TimedOut, Reason: "killed after 10s", Output: "no route", At: now.Add(-time.Minute)},
				{VIP: "a", Command: []string{"/etc/ok.sh"}, Runs: 3, Failed: 2, State: config.HookMaster, Result: hook.OK, Reason: "exit status 0", At: now},
			},
			FIFO: &hook.FIFOStatus{Path: "/run/f", Written: 5, Dropped: 2},
		},
	}
	text := statusText(d, now)
	assert.Contains(t, text, "notify FIFO /run/f: 2 lines dropped, because nobody read it\n")
	assert.Contains(t, text, "  HOOK      /etc/n.sh x failed for MASTER, 1m0s ago: killed after 10s; no route (2 of 3 runs failed)\n")
	assert.Equal(t, 1, strings.Count(text, "HOOK"))
	d.Hooks.FIFO = &hook.FIFOStatus{Path: "/run/f", Dropped: 2, Error: "open it: is a directory", Code: code.FIFOUnwritten}
	assert.Contains(t, statusText(d, now), "notify FIFO /run/f cannot be written: open it: is a directory [KV490]\n")
	d.Hooks = nil
	assert.NotContains(t, statusText(d, now), "FIFO")
}

// Addresses are many, and names are what people call nodes.
func TestStatusNamesTheHolderBesideItsAddress(t *testing.T) {
	doc := standbyStatus(time.Now())
	v := &doc.VIPs[0]
	v.Holder = "10.0.0.12"
	assert.Contains(t, statusText(doc, time.Now()), "  holder    n2 (10.0.0.12)\n")
	v.Holder = "10.0.0.99"
	assert.Contains(t, statusText(doc, time.Now()), "  holder    10.0.0.99\n", "a router that is no member has no name")
}
