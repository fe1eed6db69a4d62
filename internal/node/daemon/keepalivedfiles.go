package daemon

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/node/report"
	"github.com/keepvip/keepvip/internal/serve/instance"
	"github.com/keepvip/keepvip/vrrp"
)

// Signals of real time, as programs of the C library count.
const (
	SignalJSON       = syscall.Signal(36) // SIGRTMIN+2 has keepalived.json written
	SignalStatsClear = syscall.Signal(63) // SIGRTMAX-1 has keepalived.stats written, and its counters begin at 0 again
)

// keepalivedFile is what keepalived writes on a signal.
type keepalivedFile struct {
	name string
	text func(report.Node) ([]byte, error)
	last bool // of what the counters have come to
}

var keepalivedSignals = []os.Signal{unix.SIGUSR1, unix.SIGUSR2, SignalJSON, SignalStatsClear}

func keepalivedFileFor(s os.Signal) keepalivedFile {
	switch s {
	case unix.SIGUSR1:
		return keepalivedFile{"keepalived.data", func(n report.Node) ([]byte, error) { return report.Data(n), nil }, false}
	case unix.SIGUSR2, SignalStatsClear:
		return keepalivedFile{"keepalived.stats", func(n report.Node) ([]byte, error) { return report.Statistics(n), nil }, s == SignalStatsClear}
	default:
		return keepalivedFile{"keepalived.json", report.JSON, false}
	}
}

// place is a file by its directory and name.
type place struct{ directory, name string }

// keepalivedFiles are the files that keepalived writes at its signals. They belong to one goroutine.
type keepalivedFiles struct {
	log     *slog.Logger
	config  func() *config.Config // in force
	status  func() []instance.Status
	cleared map[string]report.Stats // where the counters have begun anew, by the name of the instance
}

// run writes at each signal what keepalived would, until ctx ends, and takes it away then: a state that is nobody's any more
// misleads. What a run that was killed has left goes at the start.
func (k *keepalivedFiles) run(ctx context.Context) {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, keepalivedSignals...)
	defer signal.Stop(signals)
	k.removeOld()
	written, failed := map[place]bool{}, map[string]string{}
	for {
		select {
		case <-ctx.Done():
			delete(written, place{}) // without the option
			for p := range written {
				if err := report.Remove(p.directory, p.name); err != nil {
					k.log.Warn("a file in keepalived's words stays", "error", err)
				}
			}
			return
		case s := <-signals:
			f := keepalivedFileFor(s)
			p, err := k.write(f)
			switch {
			case err == nil:
				delete(failed, f.name)
				written[p] = true
			case failed[f.name] != err.Error(): // an exporter asks for ever
				failed[f.name] = err.Error()
				k.log.Warn("a file in keepalived's words is not written", "error", err)
			}
		}
	}
}

// removeOld takes away what an earlier run has left.
func (k *keepalivedFiles) removeOld() {
	directory := k.config().KeepalivedFiles
	if directory == "" {
		return
	}
	for _, s := range keepalivedSignals {
		f := keepalivedFileFor(s)
		if f.last {
			continue // it is that of another signal
		}
		if err := report.Remove(directory, f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			k.log.Warn("a file in keepalived's words of an earlier run stays", "error", err)
		}
	}
}

// write does nothing without the option, and returns the zero place.
func (k *keepalivedFiles) write(f keepalivedFile) (place, error) {
	cfg := k.config()
	if cfg.KeepalivedFiles == "" {
		return place{}, nil
	}
	n := keepalivedReport(cfg, k.status())
	now := k.countedSince(&n)
	text, err := f.text(n)
	if err != nil {
		return place{}, err
	}
	if err := report.Write(cfg.KeepalivedFiles, f.name, text); err != nil {
		return place{cfg.KeepalivedFiles, f.name}, err
	}
	if f.last {
		k.cleared = now
	}
	return place{cfg.KeepalivedFiles, f.name}, nil
}

// countedSince has the counters of n begin where they were cleared, and returns what they come to without that, by the name of the instance.
func (k *keepalivedFiles) countedSince(n *report.Node) map[string]report.Stats {
	now := make(map[string]report.Stats, len(n.Instances))
	for i := range n.Instances {
		in := &n.Instances[i]
		now[in.Name] = in.Stats
		in.Stats = in.Stats.Since(k.cleared[in.Name])
	}
	return now
}

// keepalivedReport joins what is configured with how it fares. An entry of which one of both is missing, in the midst of a reload, is
// left out.
func keepalivedReport(cfg *config.Config, all []instance.Status) report.Node {
	var n report.Node
	for _, s := range all {
		if v, ok := cfg.VIP(s.Name); ok {
			n.Instances = append(n.Instances, keepalivedInstance(v, s))
		}
	}
	return n
}

// keepalivedListed is how the addresses of v are listed that are not listed as usual; nil: none.
func keepalivedListed(v config.VIP) map[netip.Addr]report.Listed {
	var out map[netip.Addr]report.Listed
	on, n := map[netip.Addr]string{}, 0
	for _, l := range v.Links() {
		for _, p := range l.Addresses {
			on[p.Addr()] = l.Interface
		}
	}
	for _, p := range v.Addresses {
		l := report.Listed{Interface: on[p.Addr()]}
		if p.Addr().Is4() {
			if v.Scope != config.ScopeGlobal {
				l.Scope = string(v.Scope)
			}
			if n < len(v.Labels) {
				l.Label = v.Labels[n]
			}
			n++
		}
		if l == (report.Listed{}) {
			continue
		}
		if out == nil {
			out = map[netip.Addr]report.Listed{}
		}
		out[p.Addr()] = l
	}
	return out
}

func keepalivedInstance(v config.VIP, s instance.Status) report.Instance {
	i := report.Instance{
		Name: v.Name, Group: v.Group, Version: v.VRRP.Version, State: keepalivedState(s), Since: s.Since, Interface: s.Interface, VRID: s.VRID,
		Priority: v.Priority, Effective: s.Priority, Interval: v.VRRP.AdvertisementInterval,
		Preempt: v.VRRP.Preempt, PreemptDelay: v.VRRP.PreemptDelay, DownTimerAdverts: v.VRRP.DownTimerAdverts, Refresh: v.Announce.Refresh,
		Password: v.VRRP.Version == 2 && v.VRRP.Password != "", Unicast: len(v.VRRP.Peers) > 0,
		MinTTL: v.VRRP.MinTTL, Multicast: v.VRRP.MulticastGroup, Listed: keepalivedListed(v), Stats: keepalivedStats(s),
	}
	if m := s.Virtual; m != nil {
		i.VMAC, i.TransmitBase = m.Name, v.VRRP.AdvertiseFromInterface
	}
	advertised := v.Advertised(v.First().Is4())
	for _, a := range v.Addresses {
		if slices.Contains(advertised, a.Addr()) {
			i.Addresses = append(i.Addresses, a)
		} else {
			i.Excluded = append(i.Excluded, a)
		}
	}
	if v.KeepalivedName != "" {
		i.Name = v.KeepalivedName
	}
	if v.VRRP.Owner {
		i.Priority = ownerPriority
	}
	i.Bound = i.State == report.Master
	for _, m := range s.Members {
		switch {
		case m.Self:
			i.Source = m.Address
		case m.Address.String() == s.Holder:
			i.Master, i.MasterPriority = m.Address, m.Priority
		}
	}
	if !i.Bound && !i.Master.IsValid() {
		i.Master, _ = netip.ParseAddr(s.Holder)
	}
	for _, p := range v.VRRP.Peers {
		if p != i.Source {
			i.Peers = append(i.Peers, p)
		}
	}
	i.Scripts = keepalivedScripts(v, s)
	return i
}

// ownerPriority is an address owner's (RFC 9568 section 5.2.4).
const ownerPriority = 255

func keepalivedState(s instance.Status) report.State {
	switch s.State {
	case election.Active.String():
		return report.Master
	case election.Backup.String():
		return report.Backup
	default: // it takes no part: out, held, or without its interface
		return report.Fault
	}
}

func keepalivedScripts(v config.VIP, s instance.Status) []report.Script {
	var out []report.Script
	for _, c := range v.AllChecks() {
		at := slices.IndexFunc(s.Checks, func(o instance.CheckStatus) bool { return o.Name == c.Name })
		if at < 0 || c.Name == "" {
			continue
		}
		state := s.Checks[at].State
		out = append(out, report.Script{
			Name: c.Name, Weight: c.Weight, Reverse: c.Reverse, Interval: c.Interval, Rise: c.Rise, Fall: c.Fall,
			Good: state == health.Healthy, Unknown: state == health.Unknown,
		})
	}
	return out
}

// keepalivedStats are the counters of the present term. Of the reasons why keepvip rejects an advertisement, these are keepalived's.
func keepalivedStats(s instance.Status) report.Stats {
	c := s.Counters
	sum := func(reasons ...string) (n uint64) {
		for _, r := range reasons {
			n += c.Rejected[r]
		}
		return n
	}
	out := report.Stats{
		Received: c.Received, Sent: c.Sent, BecameMaster: c.Takeovers, ReleasedMaster: c.Takeovers, ZeroReceived: c.Resignations, ZeroSent: c.Resigned,
		Length: sum(vrrp.RejectLength), TTL: sum(vrrp.RejectTTL), InvalidType: sum(vrrp.RejectType), AdvertInterval: sum(vrrp.RejectInterval), AddressList: sum(vrrp.RejectAddresses),
		AuthMismatch: sum(vrrp.RejectAuth, vrrp.RejectUnsigned, vrrp.RejectSigned), AuthFailure: sum(vrrp.RejectKey, vrrp.RejectMAC, vrrp.RejectStale, vrrp.RejectReplay),
	}
	if keepalivedState(s) == report.Master && out.ReleasedMaster > 0 {
		out.ReleasedMaster-- // it has not been released since
	}
	return out
}
