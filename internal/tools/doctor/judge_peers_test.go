package doctor

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
)

func TestJudgeTellsProtocolsAndWaysOfAPeerApart(t *testing.T) {
	all := Peer{Address: peer, HeardVRRP: true, HeardMembers: true, Probes: 9, Tells: true, VRRPHeardThere: true, MembersHeardThere: true}
	tests := map[string]struct {
		change func(*Peer)
		onLink []Probe
		want   []code.Code
	}{
		"everything passes":           {func(*Peer) {}, nil, nil},
		"112 lost on the way here":    {func(p *Peer) { p.HeardVRRP = false }, nil, []code.Code{code.VRRPNotHeard}},
		"112 dropped here":            {func(p *Peer) { p.HeardVRRP = false }, []Probe{{peer, true}}, []code.Code{code.VRRPInDropped}},
		"9646 lost on the way here":   {func(p *Peer) { p.HeardMembers = false }, nil, []code.Code{code.MembersNotHeard}},
		"9646 dropped here":           {func(p *Peer) { p.HeardMembers = false }, []Probe{{peer, false}}, []code.Code{code.MembersInDropped}},
		"112 lost on the way there":   {func(p *Peer) { p.VRRPHeardThere = false }, nil, []code.Code{code.VRRPNotHeardThere}},
		"9646 lost on the way there":  {func(p *Peer) { p.MembersHeardThere = false }, nil, []code.Code{code.MembersNotHeardThere}},
		"it has just begun to listen": {func(p *Peer) { p.VRRPHeardThere, p.MembersHeardThere, p.Tells = false, false, false }, nil, nil},
		"another key":                 {func(p *Peer) { *p = Peer{Address: peer, Refused: true} }, nil, []code.Code{code.WrongKey}},
		"no doctor":                   {func(p *Peer) { *p = Peer{Address: peer} }, nil, []code.Code{code.NoDoctor}},
		"both dropped here":           {func(p *Peer) { *p = Peer{Address: peer} }, []Probe{{peer, true}, {peer, false}}, []code.Code{code.VRRPInDropped, code.MembersInDropped}},
	}
	for name, tt := range tests {
		f := good(t)
		p := all
		tt.change(&p)
		f.Peers, f.Wires[0].Probes = []Peer{p}, tt.onLink
		var codes []code.Code
		for _, n := range Judge(f) {
			codes = append(codes, n.Code)
		}
		assert.ElementsMatch(t, tt.want, codes, name)
	}
}

// With port 0 no node says more than its advertisements: what is not heard of that, a Backup among it, is no fault.
func TestJudgeMissesNoMessagesOfMembersThatAreOff(t *testing.T) {
	f := good(t)
	f.Wires[0].Hellos, f.Wires[0].HeardMembers = nil, false
	f.VIPs[0].VRRP.Peers, f.VIPs[0].VRRP.MinTTL = []netip.Addr{own, peer, other}, 255
	f.Peers = []Peer{{Address: peer, HeardVRRP: true, Probes: 9, Tells: true, VRRPHeardThere: true}}
	var codes []code.Code
	for _, n := range Judge(f) {
		codes = append(codes, n.Code)
	}
	assert.ElementsMatch(t, []code.Code{code.MembersNotHeard, code.MembersNotHeard, code.MembersNotHeardThere, code.PeerSilent}, codes, "they are on")
	f.MembersOff = true
	assert.Empty(t, Judge(f))
	f.Wires[0].Adverts, f.Wires[0].Claims, f.VIPs[0].VRRP.Peers = nil, nil, nil
	assert.Empty(t, Judge(f), "the holder hears no Backup")

	f.Peers[0].VRRPHeardThere = false
	if all := Judge(f); assert.Len(t, all, 1) {
		assert.Equal(t, code.VRRPNotHeardThere, all[0].Code, "protocol 112 is judged as ever")
	}
	f.Peers = []Peer{{Address: peer}}
	if all := Judge(f); assert.Len(t, all, 1) {
		assert.Equal(t, code.NoDoctor, all[0].Code)
		assert.Contains(t, all[0].What, "port is 0")
	}
}

// Without a doctor there, a keepvip there is a witness of its own: what it cannot say is said plainly.
func TestJudgeAsksTheKeepvipOfAHostWithoutADoctor(t *testing.T) {
	hello := func(f *Facts, i int) *Hello { return &f.Wires[0].Hellos[i] }
	for name, tt := range map[string]struct {
		change   func(*Facts)
		severity Severity
		want     string
	}{
		"nothing runs there": {func(f *Facts) {
			f.Wires[0].Hellos, f.Wires[0].Adverts, f.Daemon = nil, nil, nil
		}, Warning, "nothing is heard of a doctor on 10.77.0.12, neither by protocol 112 nor by UDP"},
		"the other one is the holder": {func(*Facts) {}, Note, "no doctor is heard on 10.77.0.12, but its keepvip is; what that says is in the other findings, " +
			"and it cannot be known whether protocol 112 of this host arrives there: this host advertises nothing"},
		"this one is the holder": {func(f *Facts) {
			f.Wires[0].Adverts, hello(f, 1).Claims, hello(f, 0).Claims = nil, false, true
		}, Note, "no doctor is heard on 10.77.0.12, but its keepvip is; what that says is in the other findings, " +
			"and it cannot be known whether its protocol 112 arrives here: it advertises nothing"},
		"no keepvip here": {func(f *Facts) {
			f.Daemon, f.Wires[0].Hellos = nil, f.Wires[0].Hellos[1:]
		}, Note, "; whether UDP of this host arrives there: no keepvip runs here"},
		"both advertise, as two addresses may": {func(f *Facts) { hello(f, 0).Claims = true }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := good(t)
			f.Peers = []Peer{{Address: peer}}
			tt.change(&f)
			var of []Finding
			for _, n := range Judge(f) {
				if n.Code == code.NoDoctor {
					of = append(of, n)
				}
			}
			if tt.want == "" {
				assert.Empty(t, of)
				return
			}
			require.Len(t, of, 1)
			assert.Equal(t, tt.severity, of[0].Severity)
			assert.Contains(t, of[0].What, tt.want)
		})
	}
}
