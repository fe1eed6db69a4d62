package address

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
)

// Without a lease the fence drops what announces the address, and the kernel says that it has no buffer space.
func TestAnnouncementThatTheFenceDropsIsNoFault(t *testing.T) {
	for name, lapses := range map[string]bool{"a lease": false, "the lease is over by then": true} {
		t.Run(name, func(t *testing.T) {
			run(t, nil, nil, func(t *testing.T, b *bench) {
				e := <-b.electors
				b.host.set(func(h *fakeHost) {
					h.announcing = func() error { e.setLapsed(lapses); return unix.ENOBUFS }
				})
				require.NoError(t, e.decide(election.Serve, nodeA))
				if lapses {
					assert.Contains(t, b.log.String(), "level=INFO msg=\"announcement not sent: the lease was over by then\"")
					assert.NotContains(t, b.log.String(), "level=WARN")
					return
				}
				assert.Contains(t, b.log.String(), "level=WARN msg=\"announcement not sent\"")
			})
		})
	}
}
