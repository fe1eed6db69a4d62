package health_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/keepvip/keepvip/internal/check/health"
	"github.com/keepvip/keepvip/internal/config"
)

func Example() {
	apiserver := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden) // as until its roles are loaded
	}))
	defer apiserver.Close()

	cfg := config.ListedCheck{
		URL: apiserver.URL + "/readyz", Interval: 300 * time.Millisecond, Timeout: 10 * time.Second, Rise: 1, Fall: 1,
	}
	prober, err := health.HTTP(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	checker, err := health.NewProbing(prober, cfg).Checker(cfg, slog.New(slog.DiscardHandler))
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
