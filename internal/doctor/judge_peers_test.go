package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/code"
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
