package fence

import (
	"slices"
	"testing"
	"time"

	"github.com/google/nftables/expr"
	"github.com/stretchr/testify/assert"
)

// testMark is that of the run in the tests.
const testMark = markOurs | 5

// TestMarkOfEachRunIsItsOwn: the FIN of a dead run is retransmitted for ten seconds.
func TestMarkOfEachRunIsItsOwn(t *testing.T) {
	seen := map[Mark]time.Duration{}
	for up := time.Hour; up < time.Hour+30*time.Second; up += markTick {
		m := markFor(up)
		before, known := seen[m]
		assert.False(t, known, "the run at %s has the mark of that at %s", up, before)
		assert.Equal(t, m, m&markMask, "nothing but what the rule looks at")
		assert.Equal(t, markOurs, m&markOurs)
		seen[m] = up
	}
	for name, others := range map[string]Mark{"kube-proxy": 0xc000, "Cilium": 0xffff0f00, "Calico": 0xffff0000, "AWS": 0x80, "Tailscale": 0xff0000} {
		assert.Zero(t, markMask&others, name)
	}
	assert.NotZero(t, NewMark())
}

func TestRulesWithoutAMarkEndNothing(t *testing.T) {
	table := tablesFor(5, "eth0", 0).link
	assert.False(t, table.ends())
	for _, r := range table.egressRules(map[uint32]Group{4: {ID: 4}}) {
		assert.False(t, slices.ContainsFunc(r, func(e expr.Any) bool { v, ok := e.(*expr.Verdict); return ok && v.Chain == chainEnded }))
	}
	table.mark, table.egress = testMark, false
	assert.False(t, table.ends(), "without an egress hook nothing is seen on its way out")
}
