package daemon

import (
	"net"

	"github.com/keepvip/keepvip/election/virtualrouter"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/members/pulse"
)

// hubPulse is the pulse of all entries that share a hub.
type hubPulse struct {
	*pulse.Pulse
	hub *memberHub
}

// Close implements io.Closer.
func (h hubPulse) Close() error {
	h.hub.Feel(nil)
	return h.Pulse.Close()
}

// feel has an entry go by beats and echoes, if it is to. The returned function gives that back. Where that cannot be, it goes by advertisements.
func (s *memberSockets) feel(known *virtualrouter.MembersConfig, v config.VIP, key socketKey, p instance.Place, hub *memberHub) func() {
	if v.VRRP.Detector != config.DetectorFast {
		return func() {}
	}
	felt, release, err := s.pulses.get(key, func() (hubPulse, error) { return s.openPulse(p, hub) })
	if err != nil {
		s.log.Warn("vrrp.detector fast does not work on this node: missing advertisements alone tell that the holder is dead", "vip", v.Name, "error", err,
			"code", string(code.DetectorPlain))
		return func() {}
	}
	user := felt.Join(v.VRRP.DetectorWitness)
	known.Pulse, known.Machine.Fast = user, true
	return func() { user.Close(); release() }
}

func (s *memberSockets) openPulse(p instance.Place, hub *memberHub) (hubPulse, error) {
	echoes, err := pulse.OpenEchoes(net.Interface{Index: p.Index, Name: p.Name}, p.Source)
	if err != nil {
		return hubPulse{}, err
	}
	felt := pulse.Open(pulse.Config{
		Source: p.Source, Session: newSession(), Send: hub.SendPulse, Behind: hub.Behind, Gone: hub.Gone, Log: s.log.With("interface", p.Name),
	}, echoes)
	hub.Feel(felt)
	return hubPulse{felt, hub}, nil
}

var _ virtualrouter.Pulse = (*pulse.User)(nil)
