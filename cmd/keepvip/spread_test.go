package main

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/subscription"
)

// spreadExample is an address over three members, one of which is drained.
func spreadExample() *instance.SpreadStatus {
	at := func(n byte) netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, n}) }
	return &instance.SpreadStatus{
		Via: "direct", SecondChance: true, Ingress: true,
		Members: []instance.SpreadMember{
			{Address: at(11), Node: "n1", Self: true, Weight: 1, Connections: 204},
			{Address: at(12), Node: "n2", Holder: true, Weight: 1, Connections: 197},
			{Address: at(13), Node: "n3", Weight: 1, Connections: 12},
		},
		Tables: []instance.SpreadTable{{
			Ports: []config.SpreadPort{{Protocol: "tcp", Port: 9443, Target: 6443}}, Fit: 2, Slots: 120,
			Shares: []instance.SpreadShare{
				{Address: at(11), Condition: "fit", Slots: 60, Share: 0.5},
				{Address: at(12), Condition: "fit", Slots: 60, Share: 0.5},
				{Address: at(13), Condition: "keeps", Why: "drained by an operator"},
			},
		}},
	}
}

func TestSpreadText(t *testing.T) {
	s := spreadExample()
	d := daemon.Status{Node: "n1", VIPs: []instance.Status{{Name: "apiserver", Addresses: []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}, Spread: s}}}
	want := `apiserver: 10.77.0.100/32, direct; 413 connections; second chance on

port 9443 to 6443: 2 of 3 members are fit
MEMBER           ADDRESS     SLOTS  SHARE  WEIGHT  CONNECTIONS  CONDITION
n1 (this node)   10.77.0.11  60     50.0%  1       204          fit
n2 (the holder)  10.77.0.12  60     50.0%  1       197          fit
n3               10.77.0.13  0      0.0%   1       12           keeps: drained by an operator
`
	assert.Equal(t, want, spreadText(spreadOf(d)))
	assert.Contains(t, pages(t)["spread.md"], want, "as docs/spread.md shows it")
	assert.Contains(t, statusText(d, time.Now()),
		"  spread    over 2 of 3: n1 60, n2 60, n3 0 slots (n3 keeps: drained by an operator); 413 connections; second chance on\n")
	s.Problem, s.SecondChance, s.WithoutIt = "no nftables", false, "loose is 0"
	s.Tables = append(s.Tables, instance.SpreadTable{Check: "dns", Ports: []config.SpreadPort{{Protocol: "udp", Port: 53, Target: 53}, {Protocol: "tcp", Port: 53, Target: 53}}, Slots: 120, Nobody: 120})
	text := statusText(d, time.Now())
	assert.Contains(t, text, "  SPREAD    no nftables [KV485]\n")
	assert.Contains(t, text, "  spread    ports 53 of udp, 53 (check dns) over 0 of 0:  slots; 413 connections; second chance off: loose is 0\n")
	assert.Contains(t, spreadText(spreadOf(d)), "120 of 120 slots have no owner: the receiver of their packets serves them\n")
	assert.Contains(t, spreadText(spreadOf(d)), "PROBLEM no nftables [KV485]\n")
	s.Newcomers = []instance.SpreadNewcomer{{Address: netip.MustParseAddr("10.77.0.66"), Node: "n9", Since: time.Now().Add(-time.Minute)}}
	assert.Contains(t, statusText(d, time.Now()), "  CONFLICT  n9 10.77.0.66 is a new member, heard first 1m0s ago, and neither a key nor spread.members says that it is one [KV252]\n")
	assert.Equal(t, "CONFLICT", wrongText(instance.Status{Spread: s, Eligible: true}))
	s.LeftOut = []instance.SpreadMember{{Address: netip.MustParseAddr("10.77.0.18"), Node: "n8"}, {Address: netip.MustParseAddr("10.77.0.19")}}
	text = statusText(d, time.Now())
	assert.Contains(t, text, "  SPREAD    n8, 10.77.0.19: no connections, as there is room for 3 members [KV486]\n")
	assert.Contains(t, spreadText(spreadOf(d)), "PROBLEM n8, 10.77.0.19: no connections, as there is room for 3 members [KV486]\n")
	s.TrackingFull = "the kernel tracks 9 connections, of 10 at most"
	assert.Contains(t, statusText(d, time.Now()), "  SPREAD    the kernel tracks 9 connections, of 10 at most [KV484]\n")
	assert.Contains(t, spreadText(spreadOf(d)), "PROBLEM the kernel tracks 9 connections, of 10 at most [KV484]\n")
	s.Via, s.Members = instance.SpreadOff, s.Members[2:]
	s.Members[0].Connections, s.Tables = 1, s.Tables[:1]
	s.Tables[0].Ends = time.Date(2026, 11, 23, 14, 5, 10, 0, time.Local)
	assert.Contains(t, statusText(d, time.Now()), "  spread    port 9443 to 6443: not spread any more, connections go on until 14:05:10 at most; 1 connection\n")
	assert.Contains(t, spreadText(spreadOf(d)), "apiserver: 10.77.0.100/32, not spread any more; 1 connection; second chance off: loose is 0\n")
	d.VIPs[0].Spread = spreadExample()
	d.VIPs[0].Spread.Via, d.VIPs[0].Spread.SecondChance = "masquerade", false
	assert.Contains(t, statusText(d, time.Now()), "(n3 keeps: drained by an operator); 413 connections; by way of the holder\n")
	assert.Contains(t, spreadText(spreadOf(d)), "apiserver: 10.77.0.100/32, masquerade; 413 connections; by way of the holder\n")
	d.VIPs[0].Spread.Followers = []subscription.Subscriber{{Address: netip.MustParseAddr("10.77.0.50"), Node: "w-1"}}
	assert.Contains(t, statusText(d, time.Now()), "; 413 connections; 1 follower; by way of the holder\n")
	d.VIPs[0].Spread.Followers = append(d.VIPs[0].Spread.Followers, subscription.Subscriber{Address: netip.MustParseAddr("10.77.0.51")})
	assert.Contains(t, spreadText(spreadOf(d)), ", masquerade; 413 connections; 2 followers; by way of the holder\n")
	d.VIPs[0].Spread.Followers[0].Connections = &[]uint32{7}[0]
	assert.Contains(t, spreadText(spreadOf(d)), "; 413 connections; 2 followers with 7 connections of their own here; by way of the holder\n")
	d.VIPs[0].Spread.FollowerPlaces, d.VIPs[0].Spread.FollowersFull = 8192, true
	assert.Contains(t, statusText(d, time.Now()), "; 2 followers with 7 connections of their own here, all 8192 places taken [KV385]; by way of the holder\n")
	d.VIPs[0].Spread = nil
	assert.Equal(t, "apiserver: 10.77.0.100/32, not spread: the holder serves everything (spread: direct turns it on)\n", spreadText(spreadOf(d)))
	assert.NotContains(t, statusText(d, time.Now()), "spread")
}
