package health_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"

	"github.com/keepvip/keepvip/internal/check/health"
)

func Example() {
	apiserver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden) // as until its roles are loaded
	}))
	defer apiserver.Close()

	cfg := health.Config{URL: apiserver.URL + "/readyz", Fall: 1}
	prober, err := health.HTTP(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	checker, err := health.NewChecker(prober, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	checker.Run(ctx, func(v health.Verdict) {
		fmt.Println(v.State, v.Reason)
		cancel()
	})
	// Output: unhealthy 403
}
