package virtualrouter

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/vrrp"
)

// refuse makes the socket refuse what is sent to these from now on, and to nobody else.
func (s *fakeSocket) refuse(to ...netip.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = to
}

// A firewall on the holder that drops what goes to one peer, or a peer without a route, is that peer's trouble alone: the others hear the
// holder and stay Backup, so it has to go on answering.
func TestHubUnicastGoesOnWhileTheKernelRefusesAPeer(t *testing.T) {
	for _, tt := range []struct {
		name   string
		refuse []netip.Addr
		leased bool
	}{
		{"nobody", nil, true},
		{"one of two", []netip.Addr{nodeC}, true},
		{"both", []netip.Addr{nodeB, nodeC}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				s := newFakeSocket()
				s.refuse(tt.refuse...)
				h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
				cfg := wireConfig()
				cfg.Router = vrrp.Config{Version: 3, VRID: 51, Priority: 100, Interval: interval, Source: nodeA, Addresses: []netip.Addr{vip}}
				cfg.Peers = []netip.Addr{nodeA, nodeC, nodeB}
				w, err := h.Join(cfg, quiet)
				require.NoError(t, err)
				err = w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}})
				assert.Equal(t, !tt.leased, errors.Is(err, errRefused), "%v", err)
				e, err := New(cfg, w, quiet)
				require.NoError(t, err)
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- e.Run(ctx, func(election.Decision) error { return nil }) }()
				s.arrive(t, nodeC, func(a *vrrp.Advertisement) { a.Priority = 50 })
				time.Sleep(2 * time.Second)
				assert.Equal(t, tt.leased, time.Now().Before(e.LeaseEnd()))
				c := e.Status().Counters
				assert.Equal(t, tt.leased, c.Sent > 10, "%d sent", c.Sent)
				assert.Equal(t, len(tt.refuse) > 0, c.SendErrors > 10, "%d errors", c.SendErrors)
				for _, m := range e.Status().Members {
					one := m.Address == nodeC && len(tt.refuse) == 1
					assert.Equal(t, one, strings.Contains(m.Note, "refuses to send advertisements to it"), "%s: %q", m.Address, m.Note)
				}
				cancel()
				require.NoError(t, <-ended)
				require.NoError(t, h.Close())
			})
		})
	}
}

func TestHubUnicastSaysWhichPeersTheKernelRefuses(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newFakeSocket()
		h := NewHub(s, vrrp.ConnConfig{Source: nodeA}, nil, quiet)
		cfg := wireConfig()
		cfg.Peers = []netip.Addr{nodeA, nodeB, nodeC}
		w, err := h.Join(cfg, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, err)
		send := func(seconds int) {
			for range seconds * int(time.Second/interval) {
				require.NoError(t, w.Send(vrrp.Advertisement{Version: 3, VRID: 51, Priority: 100, Interval: interval, Addresses: []netip.Addr{vip}}))
				time.Sleep(interval)
			}
		}
		send(1)
		assert.Empty(t, log.String())
		s.refuse(nodeC)
		send(150)
		n, refused := w.Unsent()
		assert.Equal(t, uint64(1500), n)
		assert.Len(t, refused, 1)
		assert.ErrorIs(t, refused[nodeC], errRefused)
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		assert.Len(t, lines, 3, "one a minute")
		assert.Contains(t, lines[0], "level=WARN")
		assert.Contains(t, lines[0], "peers="+nodeC.String())
		assert.Contains(t, lines[1], "left out before")

		log.Reset()
		s.refuse()
		send(60)
		n, refused = w.Unsent()
		assert.Equal(t, uint64(1500), n)
		assert.Empty(t, refused)
		assert.Equal(t, 1, strings.Count(log.String(), "\n"))
		assert.Contains(t, log.String(), "advertisements are sent to all peers again")
		require.NoError(t, h.Close())
	})
}
