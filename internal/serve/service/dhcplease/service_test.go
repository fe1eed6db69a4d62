package dhcplease

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/arp/dhcp"
	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

var (
	vip    = netip.MustParseAddr("10.77.0.100")
	second = netip.MustParseAddr("10.77.0.101")
	server = netip.MustParseAddr("10.77.0.1")
)

// wire is a link with a DHCP server that answers each request by what answer makes of it; nil: it is silent.
type wire struct {
	mu     sync.Mutex // guards what follows
	answer func(dhcp.Message) dhcp.Message
	heard  []dhcp.Outgoing
	open   int    // sockets
	broken error  // of the next Open
	cut    func() // has the newest socket fail
}

func (w *wire) Open(instance.Place) (Socket, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return nil, w.broken
	}
	w.open++
	cut := make(chan struct{})
	w.cut = func() { close(cut) }
	return &socket{wire: w, replies: make(chan dhcp.Reply, 9), closed: make(chan struct{}), cut: cut}, nil
}

func (w *wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *wire) words() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.heard)
}

func (w *wire) sockets() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.open
}

type socket struct {
	*wire
	replies chan dhcp.Reply
	closed  chan struct{}
	cut     chan struct{}
}

func (s *socket) Send(r dhcp.Outgoing) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, r)
	if s.answer != nil {
		m := s.answer(r.Message)
		m.XID, m.Server = r.XID, server
		s.replies <- dhcp.Reply{Message: m}
	}
	return nil
}

func (s *socket) Receive() (dhcp.Reply, error) {
	select {
	case r := <-s.replies:
		return r, nil
	case <-s.closed:
		return dhcp.Reply{}, errors.New("closed")
	case <-s.cut:
		return dhcp.Reply{}, errors.New("the link is gone")
	}
}

func (s *socket) Close() error {
	close(s.closed)
	s.set(func() { s.open-- })
	return nil
}

func grant(m dhcp.Message) dhcp.Message {
	return dhcp.Message{Type: dhcp.ACK, Your: m.Requested, Lease: time.Hour}
}

func refuse(dhcp.Message) dhcp.Message { return dhcp.Message{Type: dhcp.NAK} }

func begin(t *testing.T, w *wire, log *strings.Builder) *Service {
	s := New([]Wanted{{vip, "keepvip-1"}, {second, "keepvip-2"}}, w.Open, slog.New(slog.NewTextHandler(log, nil)))
	s.Begin(instance.Term{Place: instance.Place{Index: 3, Name: "eth0", MAC: "02:00:00:00:00:11"}})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func apply(t *testing.T, s *Service, r election.Role) {
	t.Helper()
	require.NoError(t, s.Apply(t.Context(), election.Decision{Role: r}))
	synctest.Wait()
}

func TestTheHolderAloneKeepsLeases(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, log := &wire{answer: grant}, &strings.Builder{}
		s := begin(t, w, log)
		apply(t, s, election.Standby)
		assert.Zero(t, w.sockets())
		apply(t, s, election.Serve)
		assert.Equal(t, 2, w.words())
		assert.Equal(t, []byte("\x00keepvip-2"), w.heard[1].ClientID)
		all := s.Status().Leases
		require.Len(t, all, 2)
		assert.Equal(t, instance.LeaseStatus{Address: vip, ClientID: "keepvip-1", Server: server, Renewed: time.Now(), Expires: time.Now().Add(time.Hour)}, all[0])
		apply(t, s, election.Serve)
		assert.Equal(t, 2, w.words(), "the same again changes nothing")
		assert.Equal(t, 2, strings.Count(log.String(), "level=INFO"), log)

		apply(t, s, election.Standby)
		assert.Zero(t, w.sockets())
		assert.Equal(t, 2, w.words(), "nothing is released")
		assert.Empty(t, s.Status().Leases)
	})
}

func TestARefusalIsSaidOnceAndChangesNothingElse(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, log := &wire{answer: refuse}, &strings.Builder{}
		s := begin(t, w, log)
		s.Reconfigure([]Wanted{{vip, "keepvip-1"}})
		apply(t, s, election.Serve)
		l := s.Status().Leases[0]
		assert.Equal(t, code.LeaseRefused, l.Code)
		assert.Equal(t, "the DHCP server 10.77.0.1 refuses the lease", l.Problem)
		w.set(func() { w.answer = nil })
		time.Sleep(time.Hour)
		assert.Equal(t, "no DHCP server answers", s.Status().Leases[0].Problem)
		assert.Equal(t, 2, strings.Count(log.String(), "level=WARN"), log)
	})
}

func TestWhatChangesHasLeasesAskedForAnew(t *testing.T) {
	for name, change := range map[string]func(*Service){
		"another MAC": func(s *Service) { s.HostChanged(instance.Place{Index: 3, Name: "eth0", MAC: "02:00:00:00:00:99"}) },
		"a carrier": func(s *Service) {
			s.HostChanged(instance.Place{Index: 3, Name: "eth0", MAC: "02:00:00:00:00:11", Stay: 1})
		},
		"a reload":     func(s *Service) { s.Reconfigure([]Wanted{{vip, "a"}, {second, "b"}}) },
		"another term": func(s *Service) { s.End(); _ = s.Apply(context.Background(), election.Decision{Role: election.Serve}) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := &wire{answer: grant}
				s := begin(t, w, &strings.Builder{})
				apply(t, s, election.Serve)
				change(s)
				synctest.Wait()
				assert.Equal(t, 4, w.words())
				assert.Equal(t, 1, w.sockets())
				s.HostChanged(s.place)
				synctest.Wait()
				assert.Equal(t, 4, w.words(), "nothing has changed")
			})
		})
	}
}

func TestASocketThatCannotBeOpenedIsSaidAndTriedAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &wire{answer: grant, broken: errors.New("no permission")}
		s := begin(t, w, &strings.Builder{})
		apply(t, s, election.Serve)
		assert.Equal(t, "no permission", s.Status().Leases[0].Problem)
		w.set(func() { w.broken = nil })
		time.Sleep(reopenAfter)
		synctest.Wait()
		assert.Empty(t, s.Status().Leases[0].Problem)
		assert.False(t, s.Status().Leases[0].Renewed.IsZero())

		w.cut()
		synctest.Wait()
		assert.Equal(t, "the link is gone", s.Status().Leases[0].Problem)
		time.Sleep(reopenAfter)
		synctest.Wait()
		assert.Empty(t, s.Status().Leases[0].Problem, "the lease goes on")
		assert.Equal(t, 2, w.words())
	})
}
