package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
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

// Prometheus asks for OpenMetrics first, and takes the plain text format where there is none.
func TestMetricsAreOpenMetricsWhenAsked(t *testing.T) {
	moves := prometheus.NewCounter(prometheus.CounterOpts{Name: "moves_total", Help: "Moves."})
	handler := Process{Version: "v1.2.3", Collectors: []prometheus.Collector{moves}}.handler()
	for accept, want := range map[string]struct{ kind, end string }{
		"application/openmetrics-text;version=1.0.0,text/plain;q=0.5": {"application/openmetrics-text; version=1.0.0", "# EOF\n"},
		"": {"text/plain; version=0.0.4", "\n"},
	} {
		w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		handler.ServeHTTP(w, r)
		assert.Equal(t, http.StatusOK, w.Code)
		assert.Contains(t, w.Header().Get("Content-Type"), want.kind)
		assert.True(t, strings.HasSuffix(w.Body.String(), want.end), accept)
		assert.Contains(t, w.Body.String(), "\nmoves_total 0")
	}
}
