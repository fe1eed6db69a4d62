package trial

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// spreadIdle measures what a handover does to connections on which nobody says anything: spread directly all go on, and by masquerade all clients are told.
func spreadIdle(host *lab.Host, full bool) (out Findings, err error) {
	for _, c := range []struct {
		masquerade bool
		count      int
	}{{false, sized(full, 100_000, 1000)}, {true, sized(full, 30_000, 1000)}} {
		product := WithSpread{Masquerade: c.masquerade}
		name := fmt.Sprintf("%s, %d connections", product.Name(), c.count)
		found, err := spreadIdleOnce(host, product, c.count)
		if err != nil {
			return out, fmt.Errorf("trial: %s: %w", name, err)
		}
		out = append(out, found.of(name)...)
	}
	return out, nil
}

func spreadIdleOnce(host *lab.Host, product WithSpread, count int) (Findings, error) {
	s, err := OpenSpread(host, SpreadConfig{V4: true, Product: product})
	if err != nil {
		return nil, err
	}
	defer s.Close()
	held, err := s.holdIdle(count)
	if err != nil {
		return nil, err
	}
	x, err := s.move(SpreadEvent{Name: "handover"})
	if err != nil {
		return nil, err
	}
	before := s.Daemon(x.Holder).UsedInAll()
	err = sequence(x.verb(x.Holder, "handover"), x.watched, func() error {
		time.Sleep(perConnection * time.Duration(count))
		return nil
	})
	cpu := s.Daemon(x.Holder).UsedInAll() - before
	x.Measurement.Stop()
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, s.Logs())
	}
	var ends lab.IdleReport
	for _, h := range held {
		some, err := h.Stop()
		if err != nil {
			return nil, err
		}
		ends = append(ends, some...)
	}
	if product.Masquerade {
		return Findings{
			none("not told", len(ends)-ends.Told()), took("the last was told after", ends.Last()-x.At, max(time.Second, time.Duration(count)*perConnection)),
			told("processor time of keepvip", cpu),
		}, nil
	}
	return Findings{none("lost", ends.Told()), told("processor time of keepvip", cpu)}, nil
}

// holdIdle has the clients hold so many connections, half of them each, and returns when all are open.
func (s *Spreading) holdIdle(count int) (held []*lab.IdleConns, err error) {
	for _, n := range s.Lab.Nodes {
		if _, err := n.StartIdleServers(downloadTarget, count); err != nil {
			return nil, err
		}
	}
	clients := s.clients()
	for _, from := range clients {
		if err := from.Sysctl("net/ipv4/ip_local_port_range", "1024 65535"); err != nil {
			return nil, err
		}
		h, err := s.Lab.HoldIdle(from, netip.AddrPortFrom(s.Addresses[0], DownloadPort), count/len(clients))
		if err != nil {
			return nil, err
		}
		held = append(held, h)
	}
	return held, nil
}
