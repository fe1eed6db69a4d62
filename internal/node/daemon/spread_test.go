package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/bubble"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/fence"
	"github.com/keepvip/keepvip/internal/kernel/spreadtables"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/internal/serve/service/spread"
)

// plainService is a service of addresses that does nothing.
type plainService struct {
	held
	drained time.Time
}

func (*plainService) Begin(instance.Term)                            {}
func (*plainService) HostChanged(instance.Place)                     {}
func (*plainService) Apply(context.Context, election.Decision) error { return nil }
func (*plainService) End()                                           {}
func (*plainService) Close() error                                   { return errors.New("something stays") }
func (*plainService) Announce() error                                { return nil }
func (s *plainService) Drain(until time.Time)                        { s.drained = until }
func (*plainService) Draining() (busy bool, reset int)               { return true, 3 }
func (*plainService) Status() instance.ServiceStatus                 { return instance.ServiceStatus{Announcements: 7} }

type plainHost struct{ spread.Host }

func (plainHost) Tracked() (tracked, most int) { return 0, 0 }

func (plainHost) Backends(config.VIP) []*spread.Backend { return nil }
func (plainHost) Followers() spread.Followers           { return nil }
func (plainHost) Keyed() bool                           { return false }
func (plainHost) Stays(string) bool                     { return false }
func (plainHost) Stands(bool)                           {}

// spreadVia is an entry whose load is spread, by one port.
func spreadVia(v config.VIP, p config.Protocol) config.VIP {
	v.Addresses = []netip.Prefix{netip.MustParsePrefix("10.77.0.100/32")}
	v.Spread.Ports = []config.SpreadPort{{Port: 1, Target: 1, Protocol: p}}
	return v
}

func (plainHost) Open(string) (spread.Plane, error)                     { return nil, errors.New("no kernel") }
func (plainHost) Own(instance.Place, []netip.Addr) []netip.Addr         { return nil }
func (plainHost) Ask(context.Context, instance.Place, netip.Addr) error { return nil }

func TestJoinedServiceIsTurnedOnAndOffByReloads(t *testing.T) {
	bubble.Test(t, turnedOnAndOff)
}

func turnedOnAndOff(t *testing.T) {
	plain := &plainService{}
	j := &servedAddresses{addresses: plain, host: plainHost{}, log: slog.New(slog.DiscardHandler)}
	j.configure(config.VIP{}, false)
	j.Begin(instance.Term{Elector: struct{ instance.Elector }{}})
	assert.Equal(t, instance.ServiceStatus{Announcements: 7}, j.Status(), "nothing of it while it is off")
	v := spreadVia(config.VIP{}, config.ProtocolUDP)
	of := j.left(v, nil)
	assert.Equal(t, uint8(17), of.Ports[0].Protocol)
	assert.Zero(t, of.Until())
	j.configure(v, true)
	synctest.Wait()
	status := j.Status()
	require.NotNil(t, status.Spread)
	assert.Equal(t, uint64(7), status.Announcements)
	assert.Contains(t, status.Spread.Problem, "does not tell the members of each other", "the term goes on")
	first := j.spread.Load()
	j.configure(v, true)
	assert.Same(t, first, j.spread.Load(), "it goes on over a reload")
	at := time.Now()
	j.Drain(at)
	busy, reset := j.Draining()
	assert.Equal(t, []any{at, true, 3}, []any{plain.drained, busy, reset})
	require.NoError(t, j.Announce())
	udp := fence.Port{Protocol: 17, Number: 1, Ends: at.Add(spread.EndsWithin)}
	assert.Equal(t, []fence.Port{udp}, j.ending(config.VIP{}, at))
	assert.Empty(t, j.ending(v, at))
	j.configure(config.VIP{}, true)
	synctest.Wait()
	assert.Empty(t, j.ending(config.VIP{}, at))
	assert.Nil(t, j.Status().Spread)
	j.configure(v, true)
	j.End()
	require.EqualError(t, j.Close(), "something stays")
	assert.Nil(t, j.spread.Load())
}

// spreader is an elector that knows nobody.
type spreader struct{ instance.Elector }

func (spreader) SetSpread(*election.Spread)      {}
func (spreader) Members() []election.Member      { return nil }
func (spreader) MembersChanged() <-chan struct{} { return nil }

// busyHost has a kernel that takes its time.
type busyHost struct {
	plainHost
	free chan struct{}
}

func (h busyHost) Open(string) (spread.Plane, error) {
	<-h.free
	return nil, errors.New("no kernel")
}

// endsHost is a host whose kernel translates connections, and counts how often they are ended.
type endsHost struct {
	plainHost
	spread.Plane
	ended *atomic.Int32
}

func (h endsHost) Open(string) (spread.Plane, error)          { return h, nil }
func (endsHost) Toward(instance.Place, netip.Addr) netip.Addr { return netip.Addr{} }
func (endsHost) Forwards(instance.Place, bool) (string, bool) { return "", true }
func (endsHost) Apply(spreadtables.Config) error              { return nil }
func (endsHost) Renew(time.Duration) error                    { return nil }
func (endsHost) Mend() (bool, error)                          { return false, nil }
func (endsHost) Abilities() spreadtables.Abilities            { return spreadtables.Abilities{} }

func (endsHost) Count(int) (spreadtables.Census, error) { return spreadtables.Census{}, nil }
func (endsHost) Forget(...netip.Addr) error             { return nil }
func (endsHost) Close() error                           { return nil }
func (h endsHost) End(...netip.Addr) (int, []spreadtables.Client, error) {
	h.ended.Add(1)
	return 0, nil, nil
}

// holder is an elector whose node holds the address.
type holder struct{ spreader }

func (holder) Members() []election.Member {
	return []election.Member{{Address: netip.MustParseAddr("10.77.0.11"), Self: true, State: election.Active}}
}

// A reload has the holder masquerade. No decision is new, and the address may leave by the next one.
func TestHolderThatMasqueradesSinceAReloadTellsItsClientsWhenTheAddressLeaves(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		host := endsHost{ended: &atomic.Int32{}}
		j := &servedAddresses{addresses: &plainService{}, host: host, log: slog.New(slog.DiscardHandler)}
		j.configure(config.VIP{}, false)
		j.Begin(instance.Term{
			Place: instance.Place{Source: netip.MustParseAddr("10.77.0.11")}, Elector: holder{},
			Ready:   func() instance.Readiness { return instance.Readiness{Fit: true} },
			Healthy: func(string) bool { return true },
		})
		require.NoError(t, j.Apply(t.Context(), election.Decision{Role: election.Serve}))
		v := spreadVia(config.VIP{Spread: config.Spread{Via: config.ViaMasquerade}}, config.ProtocolTCP)
		v.VRRP.AdvertisementInterval = 100 * time.Millisecond
		j.configure(v, true)
		time.Sleep(2 * time.Second)
		require.Empty(t, j.Status().Spread.Problem)
		require.Zero(t, host.ended.Load())
		require.NoError(t, j.Apply(t.Context(), election.Decision{Role: election.Standby}))
		assert.EqualValues(t, 1, host.ended.Load())
		j.End()
		require.Error(t, j.Close())
	})
}

// The probes of a kubelet ask for the status of all instances, and end a process that does not answer in a second.
func TestJoinedServiceTellsItsStatusWhileTheKernelIsBusy(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		host := busyHost{free: make(chan struct{})}
		j := &servedAddresses{addresses: &plainService{}, host: host, log: slog.New(slog.DiscardHandler)}
		v := spreadVia(config.VIP{}, config.ProtocolTCP)
		v.VRRP.AdvertisementInterval = 100 * time.Millisecond
		j.configure(v, false)
		j.Begin(instance.Term{
			Elector: spreader{}, Ready: func() instance.Readiness { return instance.Readiness{Fit: true} },
			Healthy: func(string) bool { return true },
		})
		time.Sleep(time.Second)
		j.HostChanged(instance.Place{})
		ended := make(chan struct{})
		go func() { defer close(ended); j.End() }()
		synctest.Wait()
		assert.NotNil(t, j.Status().Spread)
		close(host.free)
		<-ended
		require.Error(t, j.Close())
	})
}

func TestReloadRefusesMembersWithoutThisNode(t *testing.T) {
	const entry = "vips: [{addresses: [10.77.0.100], check: none, spread: {via: direct, ports: [{port: 1}], members: [10.77.0.12"
	r := newReloading(t, "vips: [{addresses: [10.77.0.100], check: none}]\n")
	r.write(t, entry+"]}}]\n")
	_, err := r.reload(t.Context())
	require.EqualError(t, err, "vips[apiserver].spread.members: none of them is this node's on eth7 (10.77.0.11), want it there, the same list on all nodes")
	r.write(t, entry+", 10.77.0.11]}}]\n")
	done, err := r.reload(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"apiserver"}, done.Changed)
	assert.True(t, spreadHost{build: r.build}.Stays("apiserver"))
}

// sysctl takes a dot in an interface's name for the end of it.
func TestForwardingOfAnInterfaceOfAVLANIsNamedAsSysctlTakesIt(t *testing.T) {
	key, does := spreadHost{}.Forwards(instance.Place{Name: "nothere.100"}, true)
	assert.Equal(t, "net.ipv4.conf.nothere/100.forwarding", key)
	assert.False(t, does)
}
