package follower

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keepvip/keepvip/internal/node/metrics"
	"github.com/keepvip/keepvip/internal/node/reloads"
)

// collector turns the status of a process into metrics when it is scraped.
type collector struct{ status func() (Status, error) }

var _ prometheus.Collector = collector{}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"vip"}, labels...), nil)
}

// The label port is the one that clients connect to, such as 6443/tcp, and member an address of its own.
var (
	descWorking = desc("keepvip_follower_working", "1 while this host's connections are sent where they should go.")
	descToldBy  = desc("keepvip_follower_told_by", "Members that tell this host who the members are. At 0 those known last are used, as far as they are reached.")
	descWire    = desc("keepvip_follower_on_the_wire", "1 while no member is used, and connections of this host go to the virtual address.", "port")
	descUsed    = desc("keepvip_follower_member_used", "1 for a member that gets new connections of this host.", "port", "member")
	descEnded   = desc("keepvip_follower_connections_ended_total", "Connections of this host that were ended because the host of their member had died.")
	descUnasked = prometheus.NewDesc("keepvip_follower_unasked_total", "Looks at members that this host lacked descriptors, memory or ports for; they change nothing.", nil, nil)
	descNotRead = desc("keepvip_follower_messages_rejected_total", "Messages of members not taken into account.", "reason")
)

// Describe implements prometheus.Collector.
func (collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descWorking, descToldBy, descWire, descUsed, descEnded, descNotRead, descUnasked} {
		ch <- d
	}
}

// Collect implements prometheus.Collector. Without a status there is nothing to tell.
func (c collector) Collect(ch chan<- prometheus.Metric) {
	s, err := c.status()
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(descUnasked, prometheus.CounterValue, float64(s.Unasked))
	for _, e := range s.Follows {
		e.collect(ch)
	}
}

func (e EntryStatus) collect(ch chan<- prometheus.Metric) {
	tell := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, append([]string{e.Name}, labels...)...)
	}
	tell(descWorking, prometheus.GaugeValue, truth(e.Problem == ""))
	tell(descToldBy, prometheus.GaugeValue, float64(len(e.By)))
	tell(descEnded, prometheus.CounterValue, float64(e.Ended))
	for reason, n := range e.Refused {
		tell(descNotRead, prometheus.CounterValue, float64(n), reason)
	}
	for _, p := range e.Ports {
		port := p.Label()
		tell(descWire, prometheus.GaugeValue, truth(p.Wire), port)
		for _, m := range p.Members {
			tell(descUsed, prometheus.GaugeValue, truth(m.Used), port, m.Address.String())
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// told is what Prometheus and the kubelet are told of a process.
func (p Process) told(s *shown) metrics.Process {
	return metrics.Process{
		Version: p.Version, Live: s.live, Ready: s.ready, Status: s.answer, Log: p.Log,
		Collectors: []prometheus.Collector{collector{s.status}, metrics.Listeners(s.listeners), reloads.Collector{Record: &s.reloads}},
	}
}
