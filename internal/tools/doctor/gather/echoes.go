package gather

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/keepvip/keepvip/internal/tools/doctor"
	"github.com/keepvip/keepvip/members/pulse"
)

const (
	// lastAnswers is how long the answers to the last echoes are waited for.
	lastAnswers = 200 * time.Millisecond
	// mostEchoed is more than a cluster has control-plane nodes.
	mostEchoed = 16
)

// echoes asks the members that were heard at the places, as `vrrp.detector: fast` would with each beat, and measures how late this host is meanwhile.
func echoes(ctx context.Context, places []place, wires []doctor.Wire, over time.Duration, realtime bool) (list []doctor.Echoes) {
	var wg sync.WaitGroup
	var late *doctor.Lateness
	wg.Go(func() { late = lateness(ctx, over, realtime) })
	list = make([]doctor.Echoes, len(places))
	for i, p := range places {
		wg.Go(func() { list[i] = echoesAt(ctx, p, membersOf(wires[i]), over) })
	}
	wg.Wait()
	for i := range list {
		list[i].Late = late.Worst
	}
	return slices.DeleteFunc(list, func(e doctor.Echoes) bool { return len(e.Members) == 0 })
}

// membersOf are the other hosts of whom messages were heard, each once.
func membersOf(w doctor.Wire) (list []doctor.Echoed) {
	for _, h := range w.Hellos {
		known := slices.ContainsFunc(list, func(e doctor.Echoed) bool { return e.Address == h.Source })
		if !h.Own && !known && len(list) < mostEchoed {
			list = append(list, doctor.Echoed{Address: h.Source, Node: h.Node})
		}
	}
	return list
}

func echoesAt(ctx context.Context, p place, hosts []doctor.Echoed, over time.Duration) doctor.Echoes {
	out := doctor.Echoes{Interface: p.link.Name, IPv4: p.ipv4, Over: over}
	own, _ := p.source()
	if len(hosts) == 0 || !own.IsValid() {
		return out
	}
	s, err := pulse.OpenEchoes(net.Interface{Index: p.link.Index, Name: p.link.Name}, own)
	if err != nil {
		return out
	}
	defer s.Close()
	take := func() {
		s.Answers(func(e pulse.Echoed) {
			if i := slices.IndexFunc(hosts, func(h doctor.Echoed) bool { return h.Address == e.From }); i >= 0 {
				hosts[i].Answered++
				hosts[i].Worst = max(hosts[i].Worst, e.Took)
			}
		})
	}
	beat := time.NewTicker(pulse.Every)
	defer beat.Stop()
	for end := time.Now().Add(over); time.Now().Before(end) && ctx.Err() == nil; <-beat.C {
		take()
		for i := range hosts {
			if s.Send(hosts[i].Address) == nil {
				hosts[i].Sent++
			}
		}
	}
	<-time.After(lastAnswers)
	take()
	out.Members = hosts
	return out
}
