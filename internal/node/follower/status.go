package follower

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/door"
	"github.com/keepvip/keepvip/internal/node/reloads"
)

// Status is what `keepvip status -o json` prints on a host that follows; its names are a contract with scripts.
type Status struct {
	Version string          `json:"version"`
	Node    string          `json:"node"`
	Config  *reloads.Status `json:"config,omitempty"`
	Signed  bool            `json:"signed"`  // with the followers' key
	Follows []EntryStatus   `json:"follows"` // never null
	// Lacks is what this host had too little of for the newest look at a member; absent when it had all. Members count as before then.
	Lacks   code.Code `json:"lacks,omitempty"`
	Unasked uint64    `json:"unasked,omitempty"` // looks that could not be made for that
	// Listener is how it stands with the places of follow.listen; absent without it.
	Listener *listenerStatus `json:"listener,omitempty"`
	// Metrics is the listener for metrics and probes; absent without it.
	Metrics *door.Status `json:"metrics,omitempty"`
}

// listenerStatus is the listener for programs of this host.
type listenerStatus struct {
	Address     string `json:"address"`
	Connections int    `json:"connections"`
	Places      int    `json:"places"`         // how many there may be
	Lost        uint64 `json:"lost,omitempty"` // connections that were ended to make room for those of another user
	// Problem is why programs cannot connect there, with its code; absent where they can.
	Problem string    `json:"problem,omitempty"`
	Code    code.Code `json:"code,omitempty"`
}

// EntryStatus is one entry that is followed.
type EntryStatus struct {
	Name      string       `json:"name"`
	Addresses []netip.Addr `json:"addresses"`
	By        []netip.Addr `json:"by"`                // members that say who the members are; empty: none does, and those known last are used as far as they are reached from here
	Problem   string       `json:"problem,omitempty"` // why connections are not sent to the members
	Ports     []PortStatus `json:"ports"`
	// Ended counts connections that were ended because the host of their member had died.
	Ended int `json:"connectionsEnded,omitempty"`
	// Refused are messages that were refused, by reason.
	Refused map[string]uint64 `json:"refused,omitempty"`
}

// PortStatus is one port of the address.
type PortStatus struct {
	config.SpreadPort
	Wire    bool    `json:"wire"` // no member is used: connections go to the virtual address, as on a host that does not follow
	Members []Share `json:"members"`
}

// status is made of all entries.
func (f *follower) status(now time.Time) Status {
	out := Status{Version: f.process.Version, Node: f.process.Node, Signed: f.cfg.Key != nil, Follows: []EntryStatus{}, Lacks: f.probes.lacks, Unasked: f.probes.unasked}
	if f.proxy != nil {
		c := f.proxy.Stats()
		out.Listener = &listenerStatus{Address: f.cfg.Whole.Follow.Listen, Connections: c.Open, Places: c.Places, Lost: c.Lost}
	}
	if f.unheard != "" {
		out.Listener = &listenerStatus{Address: f.cfg.Whole.Follow.Listen, Problem: f.unheard, Code: code.NotListening}
	}
	for _, e := range f.entries {
		out.Follows = append(out.Follows, e.status(now))
	}
	return out
}

func (e *entry) status(now time.Time) EntryStatus {
	out := EntryStatus{Name: e.Name, Addresses: e.Addresses, By: e.machine.By(now), Problem: e.problem, Ended: e.ended, Ports: []PortStatus{}}
	if out.By == nil {
		out.By = []netip.Addr{}
	}
	for reason, n := range e.machine.Refused() {
		if out.Refused == nil {
			out.Refused = map[string]uint64{}
		}
		out.Refused[string(reason)] = n
	}
	for i, p := range e.Ports {
		port := PortStatus{SpreadPort: p, Wire: true, Members: []Share{}}
		if i < len(e.shares) {
			port.Members = append(port.Members, e.shares[i]...)
			port.Wire = !slices.ContainsFunc(port.Members, func(s Share) bool { return s.Used })
		}
		out.Ports = append(out.Ports, port)
	}
	return out
}

// line is "apiserver over 2 of 3 members".
func (s Status) line() string {
	var out []string
	for _, e := range s.Follows {
		if len(e.Ports) == 0 {
			continue
		}
		used := 0
		for _, m := range e.Ports[0].Members {
			if m.Used {
				used++
			}
		}
		text := fmt.Sprintf("%s over %d of %d members", e.Name, used, len(e.Ports[0].Members))
		if used == 0 {
			text = e.Name + " on the wire"
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}
