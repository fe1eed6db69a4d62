package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"net/url"
	"time"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/vrrp"
)

// talkBeside makes what tells the other members of an external entry how this node is, and hears how they are: a member that is no candidate,
// and neither sends nor hears an advertisement. nil: the members of the entry do not talk.
func (b *builder) talkBeside(in *instance.Config) (election.Elector, func(), error) {
	v := in.VIP
	if b.memberSockets == nil || b.memberSockets.port == 0 || v.Election != config.ElectionVRRP || len(v.Addresses) == 0 {
		return nil, nil, nil
	}
	p, err := b.host.seen.now().places(v)
	if err != nil {
		return nil, nil, err
	}
	return b.talk(v, p, len(in.Whole.VIPs), 0)
}

// talk makes an elector that holds nothing, by which the members of v, one of so many entries, tell each other at p how they are, and what gives
// it back. pause is the least time between two messages of one that spreads.
func (b *builder) talk(v config.VIP, p instance.Place, many int, pause time.Duration) (*virtualrouter.Elector, func(), error) {
	silent := slog.New(slog.DiscardHandler) // what it says of splits and holders is nothing of the entry's
	cfg := virtualrouter.Config{Router: routerOf(v, p), Bound: len(v.Addresses), Peers: v.VRRP.Peers, NoCandidate: true}
	_, quit, err := b.memberSockets.join(&cfg, v, p, many, pause)
	if err != nil {
		return nil, nil, err
	}
	e, err := virtualrouter.New(cfg, noWire{election.NewRejections("advertisement", nil, silent)}, silent)
	if err != nil {
		quit()
		return nil, nil, err
	}
	return e, quit, nil
}

// noWire carries no advertisement.
type noWire struct{ rejections *election.Rejections }

var errNoWire = errors.New("no advertisement is sent for these addresses")

// Send implements virtualrouter.Wire.
func (noWire) Send(vrrp.Advertisement) error { return errNoWire }

// Unsent implements virtualrouter.Wire.
func (noWire) Unsent() (uint64, map[netip.Addr]error) { return 0, nil }

// Arrived implements virtualrouter.Wire.
func (noWire) Arrived() <-chan struct{} { return nil }

// Drain implements virtualrouter.Wire.
func (noWire) Drain(time.Time) {}

// Take implements virtualrouter.Wire.
func (noWire) Take(dst []virtualrouter.Arrival) []virtualrouter.Arrival { return dst }

// SetAddresses implements virtualrouter.Wire.
func (noWire) SetAddresses([]netip.Addr) {}

// Rejections implements virtualrouter.Wire.
func (w noWire) Rejections() *election.Rejections { return w.rejections }

// Close implements virtualrouter.Wire.
func (noWire) Close() error { return nil }

// served asks by way of the balancer what the first check of an external entry asks this node: an answer comes from a node that serves. nil
// where no check could be asked so.
func served(v config.VIP, near neighbours) func(context.Context) bool {
	for _, h := range v.AllChecks() {
		h, can := byBalancer(v, h)
		if !can {
			continue
		}
		p, err := proberOf(v, h, near)
		if err != nil {
			return nil
		}
		return func(ctx context.Context) bool { return p.Probe(ctx).Outcome == health.Pass }
	}
	return nil
}

// byBalancer is a check as it is asked by way of the balancer, with the name that the node's own certificate has; false where it cannot be.
func byBalancer(v config.VIP, h config.ListedCheck) (config.ListedCheck, bool) {
	at, err := url.Parse(h.URL)
	if h.Kind != config.CheckHTTPS && h.Kind != config.CheckHTTP || err != nil || v.HostPort() == "" {
		return h, false
	}
	if _, err := netip.ParseAddr(at.Hostname()); h.ServerName == "" && err != nil {
		h.ServerName = at.Hostname()
	}
	at.Host = v.HostPort()
	h.URL, h.Watch = at.String(), false
	return h, true
}
