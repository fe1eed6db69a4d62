package daemon

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/base/alarm"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/pulse"
)

// hubPulse is the pulse of all entries that share a hub.
type hubPulse struct {
	*pulse.Pulse
	hub     *memberHub
	gateway *gatewayWatch
}

// Close implements io.Closer.
func (h hubPulse) Close() error {
	h.gateway.end()
	h.hub.Feel(nil)
	return h.Pulse.Close()
}

// gatewayWatch follows which host the gateway of a place is, once an entry there wants to know.
type gatewayWatch struct {
	begun sync.Once
	stop  chan struct{}
	done  sync.WaitGroup
}

// follow tells what look finds, and that again whenever it may have changed.
func (g *gatewayWatch) follow(look func() netip.Addr, tell func(netip.Addr)) {
	g.begun.Do(func() {
		g.done.Go(func() {
			again := time.NewTicker(routeAge)
			defer again.Stop()
			for {
				tell(look())
				select {
				case <-again.C:
				case <-g.stop:
					return
				}
			}
		})
	})
}

// end is called once, after the last follow.
func (g *gatewayWatch) end() {
	close(g.stop)
	g.done.Wait()
}

// gatewayAt is the gateway of a place: the next hop of the best default route there, of its own family. The zero Addr is for none, and where the routes
// cannot be listed: it is asked again soon.
func (s *memberSockets) gatewayAt(p instance.Place) netip.Addr {
	routers, _ := s.routers(p.Index, p.Source.Is6())
	if i := slices.IndexFunc(routers, func(a netip.Addr) bool { return a.Is4() == p.Source.Is4() }); i >= 0 {
		return routers[i]
	}
	return netip.Addr{}
}

// feel has an entry go by beats and echoes, if it is to. The returned function gives that back. Where that cannot be, it goes by advertisements.
func (s *memberSockets) feel(cfg *virtualrouter.Config, v config.VIP, key socketKey, p instance.Place, hub *memberHub) func() {
	if v.VRRP.Detector != config.DetectorFast {
		return func() {}
	}
	felt, release, err := s.pulses.get(key, func() (hubPulse, error) { return s.openPulse(p, hub) })
	if err != nil {
		s.log.Warn("vrrp.detector fast does not work on this node: missing advertisements alone tell that the holder is dead", "vip", v.Name, "error", err,
			"code", string(code.DetectorPlain))
		return func() {}
	}
	user := felt.Join(pulse.Witness(v.VRRP.DetectorWitness))
	if v.VRRP.DetectorWitness.Gateway {
		felt.gateway.follow(func() netip.Addr { return s.gatewayAt(p) }, felt.SetGateway)
	}
	cfg.Pulse, cfg.AsMember.Fast = user, true
	return func() { user.Close(); release() }
}

func (s *memberSockets) openPulse(p instance.Place, hub *memberHub) (hubPulse, error) {
	echoes, err := pulse.OpenEchoes(net.Interface{Index: p.Index, Name: p.Name}, p.Source)
	if err != nil {
		return hubPulse{}, err
	}
	due, err := alarm.Open()
	if err != nil {
		return hubPulse{}, errors.Join(err, echoes.Close())
	}
	felt := pulse.Open(pulse.Config{
		Source: p.Source, Session: newSession(), Send: hub.SendPulse, Behind: hub.Behind, Gone: hub.Gone, Alarm: due, Log: s.log.With("interface", p.Name),
	}, echoes)
	hub.Feel(felt)
	return hubPulse{felt, hub, &gatewayWatch{stop: make(chan struct{})}}, nil
}

var _ virtualrouter.Pulse = (*pulse.User)(nil)
