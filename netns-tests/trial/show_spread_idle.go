package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// spreadIdle measures what a handover does to connections on which nobody says anything: all go on.
func spreadIdle(host *lab.Host, full bool) (Findings, error) {
	return spreadIdleOnce(host, WithSpread{}, sized(full, 100_000, 1000))
}

// masqueradeIdle is the same by masquerade: all clients are told.
func masqueradeIdle(host *lab.Host, full bool) (Findings, error) {
	return spreadIdleOnce(host, WithSpread{Masquerade: true}, sized(full, 30_000, 4000))
}

// toldWait is for how long is waited at least until clients are told, by a machine that has them all.
const toldWait = 5 * time.Second

func spreadIdleOnce(host *lab.Host, product WithSpread, count int) (_ Findings, err error) {
	defer try.Catch(&err)
	s := try.Get(OpenSpread(host, SpreadConfig{V4: true, Product: product}))
	defer s.end(&err)
	held := try.Get(s.holdIdle(count))
	name := fmt.Sprintf("%d connections", count)
	x := try.Get(s.move(SpreadEvent{Name: "handover"}))
	before := s.Daemon(x.Holder).UsedInAll()
	err = x.passesOn()
	time.Sleep(max(toldWait, 10*perConnection*time.Duration(count)))
	cpu := s.Daemon(x.Holder).UsedInAll() - before
	x.Measurement.Stop()
	try.Do(err)
	var ends lab.IdleReport
	for _, h := range held {
		ends = append(ends, try.Get(h.Stop())...)
	}
	if product.Masquerade {
		return Findings{
			none(name+": not told", len(ends)-ends.Told()), took("the last was told after", ends.Last()-x.At, max(time.Second, time.Duration(count)*perConnection)),
			told("processor time of keepvip", cpu),
		}, nil
	}
	return Findings{none(name+": lost", ends.Told()), told("processor time of keepvip", cpu)}, nil
}

// holdIdle has the clients hold so many connections, half of them each, and returns when all are open.
func (s *Spreading) holdIdle(count int) (held []*lab.IdleConns, err error) {
	defer try.Catch(&err)
	for _, n := range s.Lab.Nodes {
		try.Get(n.StartIdleServers(downloadTarget, count))
	}
	clients := s.clients()
	for _, from := range clients {
		try.Do(from.Sysctl("net/ipv4/ip_local_port_range", "1024 65535"))
		held = append(held, try.Get(s.Lab.HoldIdle(from, netip.AddrPortFrom(s.Addresses[0], DownloadPort), count/len(clients), 0)))
	}
	return held, nil
}
