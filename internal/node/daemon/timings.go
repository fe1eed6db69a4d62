package daemon

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// timings are what this process has been quick or slow with, of all entries together: with a histogram for each of them, 255 entries would
// take more memory than everything else.
type timings struct {
	takeovers prometheus.Histogram
	aways     prometheus.Histogram
	probes    prometheus.Histogram
}

func newTimings() *timings {
	return &timings{
		takeovers: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "keepvip_takeover_duration_seconds", Help: "From the decision to take the address until it was bound and announced, of all virtual addresses.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 2.5},
		}),
		aways: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "keepvip_address_away_seconds", Help: "For how long nobody held an address, as heard here, of all virtual addresses.",
			Buckets: []float64{0.01, 0.05, 0.1, 0.2, 0.4, 1, 4, 15, 60},
		}),
		probes: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "keepvip_check_probe_duration_seconds", Help: "How long health probes took, of all checks.",
			Buckets: []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.3, 0.6, 1, 5},
		}),
	}
}

func (t *timings) takeover(took time.Duration) { t.takeovers.Observe(took.Seconds()) }
func (t *timings) away(away time.Duration)     { t.aways.Observe(away.Seconds()) }
func (t *timings) probe(took time.Duration)    { t.probes.Observe(took.Seconds()) }
