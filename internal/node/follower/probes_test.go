package follower

import (
	"fmt"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/lack"
)

// What this host lacks says nothing of a member.
func TestProbesJudgeMembersAlone(t *testing.T) {
	to := netip.MustParseAddrPort("10.77.0.12:6443")
	for name, tt := range map[string]struct {
		err  error
		want verdict
	}{
		"a refusal":                        {syscall.ECONNREFUSED, failed},
		"no answer":                        {syscall.ETIMEDOUT, failed},
		"no route":                         {syscall.ENETUNREACH, failed},
		"no file descriptor here":          {syscall.EMFILE, reached},
		"no file descriptor on this host":  {syscall.ENFILE, reached},
		"no room for packets on this host": {syscall.ENOBUFS, reached},
		"no memory on this host":           {syscall.ENOMEM, reached},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProbes()
			p.want([]netip.AddrPort{to})
			now := time.Now()
			assert.True(t, p.note(now, result{to: to}))
			for range 3 * lostProbes {
				now = now.Add(probeFailed)
				p.note(now, result{to, fmt.Errorf("dial: %w", tt.err), lack.Of(tt.err)})
				assert.Equal(t, now.Add(probeFailed), p.deadline(), "it is asked again")
			}
			assert.Equal(t, tt.want, p.verdict(to))
		})
	}
}
