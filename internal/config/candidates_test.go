package config

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLoadRefusesCandidatesThatCannotBe(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"a virtual address", "vips: [{addresses: [10.77.0.1], candidates: [10.77.0.1]}]\n", "vips[0].candidates: 10.77.0.1 is a virtual address, want a node's own"},
		{
			"Raft", "key: {file: /k}\nraft: {peers: [10.77.0.11]}\nvips: [{addresses: [10.77.0.1], election: raft, candidates: [10.77.0.11]}]\n",
			"vips[0].candidates: set with election raft, want election vrrp; by Raft nodes that never hold the addresses are raft.witnesses, which serve nothing",
		},
		{
			"others of a group", "vips: [{name: a, addresses: [10.77.0.1], group: g, candidates: [10.77.0.11, 10.77.0.12]}, {name: b, addresses: [10.77.0.2], group: g, candidates: [10.77.0.12]}]\n",
			"vips[1].group: g has vips[0] in it, with other candidates; want the same, as they move together",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(inFile(tt.text))
			require.Error(t, err)
			assert.Contains(t, strings.Split(err.Error(), "\n")[0], tt.want)
		})
	}
	load(t, "vips: [{name: a, addresses: [10.77.0.1], group: g, candidates: [10.77.0.11, 10.77.0.12]}, {name: b, addresses: [10.77.0.2], group: g, candidates: [10.77.0.12, 10.77.0.11]}]\n")
}

func TestDiffOfCandidatesIsLive(t *testing.T) {
	before := load(t, "vips: [{addresses: [10.77.0.1], candidates: [10.77.0.11, 10.77.0.12]}]\n")
	assert.Empty(t, Diff(before, load(t, "vips: [{addresses: [10.77.0.1], candidates: [10.77.0.12, 10.77.0.11]}]\n")).Changed, "the order means nothing")
	after := load(t, "vips: [{addresses: [10.77.0.1]}]\n")
	d := Diff(before, after)
	require.Len(t, d.Changed, 1)
	assert.Equal(t, vipChange{New: after.VIPs[0], Keys: []string{"vips[].candidates"}}, d.Changed[0])
}
