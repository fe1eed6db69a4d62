package daemon

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keepvip/keepvip/internal/node/report"
)

// keepalivedCollector tells what keepvip counts as keepalived does under the names of keepalived's exporters. What keepvip has nothing of is
// not told: a count that never moves would look like a good sign.
type keepalivedCollector struct{ node func() report.Node }

var _ prometheus.Collector = keepalivedCollector{}

// Describe implements prometheus.Collector.
func (c keepalivedCollector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(c, ch)
}

// Collect implements prometheus.Collector.
func (c keepalivedCollector) Collect(ch chan<- prometheus.Metric) {
	tell := func(name, help string, kind prometheus.ValueType, v float64, labels, values []string) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, labels, nil), kind, v, values...)
	}
	tell("keepalived_up", "1: keepvip answers itself.", prometheus.GaugeValue, 1, nil, nil)
	all := c.node().Instances
	for _, i := range all {
		labels, values := []string{"iname", "intf", "vrid"}, []string{i.Name, i.Interface, strconv.Itoa(int(i.VRID))}
		counter := func(name, help string, n uint64) {
			tell(name, help, prometheus.CounterValue, float64(n), labels, values)
		}
		s := i.Stats
		counter("keepalived_advertisements_received_total", "Advertisements received.", s.Received)
		counter("keepalived_advertisements_sent_total", "Advertisements sent.", s.Sent)
		counter("keepalived_become_master_total", "Times the instance became master.", s.BecameMaster)
		counter("keepalived_release_master_total", "Times the instance released master.", s.ReleasedMaster)
		counter("keepalived_packet_length_errors_total", "Advertisements with a wrong length.", s.Length)
		counter("keepalived_advertisements_interval_errors_total", "Advertisements with another interval.", s.AdvertInterval)
		counter("keepalived_ip_ttl_errors_total", "Advertisements with a wrong TTL.", s.TTL)
		counter("keepalived_invalid_type_received_total", "Packets of another type.", s.InvalidType)
		counter("keepalived_address_list_errors_total", "Advertisements with other addresses.", s.AddressList)
		counter("keepalived_authentication_mismatch_total", "Advertisements with another kind of authentication.", s.AuthMismatch)
		counter("keepalived_authentication_failure_total", "Advertisements whose authentication failed.", s.AuthFailure)
		counter("keepalived_priority_zero_received_total", "Advertisements with priority 0 received.", s.ZeroReceived)
		counter("keepalived_priority_zero_sent_total", "Advertisements with priority 0 sent.", s.ZeroSent)
		labels = append(labels, "ip_address")
		for _, a := range i.Addresses {
			tell("keepalived_vrrp_state", "0 INIT, 1 BACKUP, 2 MASTER, 3 FAULT.", prometheus.GaugeValue, float64(i.State), labels, append(values, a.Addr().String()))
		}
		for _, a := range i.Excluded {
			tell("keepalived_vrrp_excluded_state", "The same of an address that advertisements leave out.", prometheus.GaugeValue, float64(i.State), labels, append(values, a.Addr().String()))
		}
	}
	collectScripts(all, tell)
}

// collectScripts tells of each script once: keepalived's instances share them by name.
func collectScripts(all []report.Instance, tell func(name, help string, kind prometheus.ValueType, v float64, labels, values []string)) {
	told := map[string]bool{}
	for _, i := range all {
		for _, s := range i.Scripts {
			if told[s.Name] || s.Unknown {
				continue
			}
			told[s.Name] = true
			good := 0.0
			if s.Good {
				good = 1
			}
			tell("keepalived_script_status", "1 while the check is good, 0 while it is bad.", prometheus.GaugeValue, good, []string{"name"}, []string{s.Name})
		}
	}
}
