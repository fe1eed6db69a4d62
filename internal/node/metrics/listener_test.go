package metrics

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/assert"
)

// twice tells one series two times, as two entries do that have one keepalivedName and one VRID.
type twice struct{ desc *prometheus.Desc }

func (c twice) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

func (c twice) Collect(ch chan<- prometheus.Metric) {
	for range 2 {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, 7)
	}
}

func TestMetricsOutlastSeriesThatAreToldTwice(t *testing.T) {
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: "other"})
	p := Process{Version: "v1.2.3", Collectors: []prometheus.Collector{twice{prometheus.NewDesc("one", "", nil, nil)}, other}}
	w := httptest.NewRecorder()
	p.handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Equal(t, http.StatusOK, w.Code)
	assert.Contains(t, w.Body.String(), "\none 7\n")
	assert.Contains(t, w.Body.String(), "\nother 0\n")
	assert.Contains(t, w.Body.String(), "keepvip_build_info{version=\"v1.2.3\"} 1\n")
	assert.Contains(t, w.Body.String(), "\ngo_goroutines ")
}
