package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/keepvip/keepvip/internal/base/places"
)

// Listening is how a listener of this process fares.
type Listening struct {
	Name   string        // of the option: "follow.listen"
	Up     bool          // it is open
	Places *places.Count // nil: they are not counted
}

// Listeners tells how those listeners fare that it returns.
type Listeners func() []Listening

var (
	descUp     = prometheus.NewDesc("keepvip_listener_up", "1 while the listener is open, 0 while keepvip tries to open it.", []string{"listener"}, nil)
	descOpen   = prometheus.NewDesc("keepvip_listener_connections", "Connections that have a place.", []string{"listener"}, nil)
	descPlaces = prometheus.NewDesc("keepvip_listener_places", "Connections that there may be at a time.", []string{"listener"}, nil)
	descLost   = prometheus.NewDesc("keepvip_listener_places_lost_total", "Connections that were ended to make room for another owner's.", []string{"listener"}, nil)
)

// Describe implements prometheus.Collector.
func (Listeners) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descUp, descOpen, descPlaces, descLost} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l Listeners) Collect(ch chan<- prometheus.Metric) {
	for _, o := range l() {
		up := 0.0
		if o.Up {
			up = 1
		}
		ch <- prometheus.MustNewConstMetric(descUp, prometheus.GaugeValue, up, o.Name)
		if o.Places == nil {
			continue
		}
		ch <- prometheus.MustNewConstMetric(descOpen, prometheus.GaugeValue, float64(o.Places.Taken), o.Name)
		ch <- prometheus.MustNewConstMetric(descPlaces, prometheus.GaugeValue, float64(o.Places.Most), o.Name)
		ch <- prometheus.MustNewConstMetric(descLost, prometheus.CounterValue, float64(o.Places.Lost), o.Name)
	}
}
