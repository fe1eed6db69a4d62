package doctor

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
)

func TestDoctorMissesCandidates(t *testing.T) {
	for name, tt := range map[string]struct {
		candidates []netip.Addr
		missed     bool
	}{
		"no list":             {nil, false},
		"this host":           {[]netip.Addr{other, own}, false},
		"a member is heard":   {[]netip.Addr{other, peer}, false},
		"none of them is":     {[]netip.Addr{other}, true},
		"the virtual address": {[]netip.Addr{vip}, true},
	} {
		f := good(t)
		f.VIPs[0].Candidates = tt.candidates
		found := Judge(f)
		if !tt.missed {
			assert.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		assert.Equal(t, code.NoCandidates, found[0].Code)
		assert.Equal(t, Error, found[0].Severity)
	}
}
