package trial

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// KeptWatches is what an event did to watches.
type KeptWatches struct {
	Count    int // all watches
	ByNode   map[string]int
	Restarts []lab.WatchEnd // of watches that had to begin again
	Again    int            // connections that clients had to open again
	Missed   int            // events that a watch was not told of
	Silence  time.Duration
	// Strangers are requests whose client is another one to the server than it is to itself.
	Strangers int
}

// KeepWatches has an event happen while clients on the link and behind the router watch, over as many connections of each in each family, with
// so many watches on each.
func (s *Spreading) KeepWatches(e SpreadEvent, connections, each int) (_ KeptWatches, err error) {
	defer try.Catch(&err)
	try.Do(s.Ready())
	var servers []*lab.WatchServer
	defer func() {
		for _, server := range servers {
			server.Close()
		}
	}()
	for _, n := range s.Lab.Nodes {
		servers = append(servers, try.Get(n.StartWatchServer(downloadTarget)))
	}
	x := try.Get(s.move(e))
	all, err := s.watchAll(connections, each)
	if err == nil {
		_, err = e.Do(x)
	}
	var reports []lab.WatchesReport
	for _, w := range all {
		reports = append(reports, w.Stop())
	}
	x.Measurement.Stop()
	if err != nil {
		return KeptWatches{}, fmt.Errorf("trial: %s: %w", e.Name, err)
	}
	got := watchedOf(reports, connections, servers)
	if e.Undo != nil {
		err = e.Undo(x)
	}
	return got, err
}

func (s *Spreading) watchAll(connections, each int) (all []*lab.Watches, err error) {
	for _, from := range s.clients() {
		for _, a := range s.Addresses {
			w, failed := s.Lab.Watch(from, lab.WatchesConfig{Target: netip.AddrPortFrom(a, DownloadPort), Clients: connections, Each: each, Path: "/watch"})
			if failed != nil {
				return all, errors.Join(err, failed)
			}
			all = append(all, w)
		}
	}
	return all, nil
}

func watchedOf(reports []lab.WatchesReport, connections int, servers []*lab.WatchServer) KeptWatches {
	got := KeptWatches{ByNode: map[string]int{}}
	own := map[netip.AddrPort]bool{}
	for _, r := range reports {
		got.Count += r.Count
		got.Again += len(r.Own) - connections
		got.Missed += r.Missed
		got.Silence = max(got.Silence, r.Silence)
		got.Restarts = append(got.Restarts, r.Restarts...)
		for node, n := range r.ByNode {
			got.ByNode[node] += n
		}
		for _, a := range r.Own {
			own[a] = true
		}
	}
	for _, server := range servers {
		for _, client := range server.Audit() {
			got.Strangers += count(!own[client])
		}
	}
	return got
}

// Findings compares with what is promised.
func (w KeptWatches) Findings() Findings {
	what := "restarts"
	if len(w.Restarts) > 0 {
		what += " ("
		for _, r := range w.Restarts[:min(len(w.Restarts), 3)] {
			what += strings.ReplaceAll(r.How, "\n", " ") + "; "
		}
		what = strings.TrimSuffix(what, "; ") + ")"
	}
	shares := ""
	for _, node := range slices.Sorted(maps.Keys(w.ByNode)) {
		shares += fmt.Sprintf(" %s %d", node, w.ByNode[node])
	}
	return Findings{
		{What: "watches:" + shares + ", in all", Got: float64(w.Count), Limit: -1},
		none(what, len(w.Restarts)), none("connections opened again", w.Again), none("events missed", w.Missed), none("another client in the audit log", w.Strangers),
		told("longest silence, of events each 50 ms", w.Silence),
	}
}

// keepsWatches are the events that no watch may be lost by.
func keepsWatches() []Case {
	var list []Case
	for _, e := range SpreadEvents() {
		if e.Stall > 0 || e.Running > 0 { // a node dies with its watches
			continue
		}
		list = append(list, Case{Name: e.Name, Run: inside(OpenSpread, SpreadConfig{}, func(s *Spreading, _ int) Findings {
			return try.Get(s.KeepWatches(e, 10, 3)).Findings()
		})})
	}
	return list
}
