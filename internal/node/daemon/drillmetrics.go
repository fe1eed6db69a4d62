package daemon

import (
	"github.com/prometheus/client_golang/prometheus"
)

// drillCollector turns the newest results of drills into metrics; there are none before the first drill.
type drillCollector struct{ drills *drills }

var _ prometheus.Collector = drillCollector{}

// Describe implements prometheus.Collector.
func (c drillCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c drillCollector) Collect(ch chan<- prometheus.Metric) {
	c.drills.mu.Lock()
	defer c.drills.mu.Unlock()
	gauge := func(name, help string, v float64, labels []string, values ...string) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue, v, values...)
	}
	plain := []string{"vip", "drill"}
	for vip, r := range c.drills.last {
		if r.measured {
			gauge("keepvip_drill_last_outage_seconds", "For how long the address was missed in the newest drill, as measured from this node.", r.outage.Seconds(), plain, vip, r.kind)
		}
		gauge("keepvip_drill_last_timestamp_seconds", "Unix time of the end of the newest drill.", float64(r.at.UnixNano())/1e9, plain, vip, r.kind)
		gauge("keepvip_drill_last_result", "1 for what the newest drill has come to: ok, over, unserved, unmeasured, refused, failed or interrupted.", 1,
			append(plain, "result"), vip, r.kind, r.result)
	}
}
