package gather

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/auth"
	"github.com/keepvip/keepvip/internal/base/sockaddr"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members"
)

const (
	// sayEvery is between two probes to a peer, of each protocol one.
	sayEvery = 200 * time.Millisecond
	// tellsAfter is how many probes of a peer say what it hears: fewer may have left before one of this host could arrive there.
	tellsAfter = 3
)

// meeting is what the doctors of several hosts tell each other: each sends each other one probes by protocol 112 and by UDP to the members' port, which
// say what it has heard of the other. No keepvip takes part, and nothing is sent but to the peers that an operator has listed.
type meeting struct {
	own    netip.Addr
	port   uint16
	keys   []auth.Key // the first one signs; none: nothing is signed
	window time.Duration

	mu    sync.Mutex // guards what follows
	peers map[netip.Addr]*doctor.Peer
	began time.Time
}

// meet listens at p until ctx ends, for each of those that [peersOf] has for it.
func meet(ctx context.Context, p place, o Options, peers []netip.Addr) []doctor.Peer {
	own, _ := p.source()
	m := &meeting{own: own, port: o.Config.Port, window: o.Config.Key.Window, keys: keysOf(o.Config), peers: map[netip.Addr]*doctor.Peer{}, began: time.Now()}
	if len(peers) == 0 || !own.IsValid() {
		return nil
	}
	for _, a := range peers {
		m.peers[a] = &doctor.Peer{Address: a}
	}
	ctx, cancel := context.WithTimeout(ctx, o.Listen)
	defer cancel()
	ifi := net.Interface{Index: p.link.Index, Name: p.link.Name}
	var wg sync.WaitGroup
	for _, vrrp := range m.protocols() {
		if fd, err := openProbes(ifi.Name, p.ipv4, vrrp, m.port); err == nil {
			wg.Go(func() {
				receive(ctx, fd, func(from netip.Addr, b []byte) {
					if !vrrp {
						b = b[min(udpLen, len(b)):]
					}
					if isProbe(b, vrrp) {
						m.heard(from, b, vrrp, time.Now())
					}
				})
			})
		}
		wg.Go(func() { m.say(ctx, peers, vrrp) })
	}
	wg.Wait()
	out := make([]doctor.Peer, len(peers))
	for i, a := range peers {
		out[i] = *m.peers[a]
	}
	return out
}

// protocols are those of the probes: protocol 112, and UDP where there is a port for members' messages.
func (m *meeting) protocols() []bool {
	if m.port == 0 {
		return []bool{true}
	}
	return []bool{true, false}
}

func keysOf(cfg *config.Config) (out []auth.Key) {
	secrets, err := cfg.Key.Load()
	if err != nil {
		return nil
	}
	for _, s := range secrets {
		if k, err := members.NewKey(config.DeriveKey(s.Bytes, "doctor")); err == nil {
			out = append(out, k)
		}
	}
	return out
}

// say sends probes by one protocol to all peers, again and again.
func (m *meeting) say(ctx context.Context, to []netip.Addr, vrrp bool) {
	fd, err := openSpeaker(m.own, vrrp)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	for tick := time.NewTicker(sayEvery); ; {
		for _, a := range to {
			var port uint16
			if !vrrp {
				port = m.port
			}
			_ = unix.Sendto(fd, m.probe(a, vrrp, time.Now()), 0, sockaddr.Of(a, port, 0)) // what does not leave is not heard there, which is told
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
	}
}

// heard takes a probe into account that has passed the firewall of this host.
func (m *meeting) heard(from netip.Addr, b []byte, vrrp bool, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.peers[from.WithZone("")]
	if p == nil {
		return
	}
	says, ok := m.open(b, from.WithZone(""), vrrp, now)
	if !ok {
		p.Refused = true
		return
	}
	if vrrp {
		p.HeardVRRP = true
	} else {
		p.HeardMembers = true
	}
	p.Probes++
	if p.Probes >= tellsAfter && now.Sub(m.began) >= tellsAfter*sayEvery {
		p.Tells = true
	}
	p.VRRPHeardThere, p.MembersHeardThere = p.VRRPHeardThere || says&saysVRRP != 0, p.MembersHeardThere || says&saysMembers != 0
}
