package reloads

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Collector turns a record into metrics.
type Collector struct{ *Record }

var _ prometheus.Collector = Collector{}

// Describe implements prometheus.Collector.
func (c Collector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.Status()
	if s == nil {
		return
	}
	gauge := func(name, help string, v float64, labels prometheus.Labels) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, nil, labels), prometheus.GaugeValue, v)
	}
	gauge("keepvip_config_info", "1, with a hash of the configuration in force: of the file, and of what flags and variables add to it.", 1, prometheus.Labels{"hash": s.hash})
	gauge("keepvip_config_loaded_timestamp_seconds", "Unix time at which the configuration in force was read.", unixTime(s.Loaded), nil)
	good := 1.0
	if s.Refused != nil {
		good = 0
		gauge("keepvip_config_refused_timestamp_seconds", "Unix time at which the last reload was refused; absent while it was not.", unixTime(s.Refused.At), nil)
	}
	gauge("keepvip_config_last_reload_successful", "0 when the last reload was refused: what is in force is not what the file says.", good, nil)
	reloads := prometheus.NewDesc("keepvip_config_reloads_total", "Reloads, by what became of them: taken, or refused.", []string{"result"}, nil)
	ch <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(s.taken), "taken")
	ch <- prometheus.MustNewConstMetric(reloads, prometheus.CounterValue, float64(s.refused), "refused")
}

func unixTime(t time.Time) float64 { return float64(t.UnixNano()) / 1e9 }
