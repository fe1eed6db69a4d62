package daemon

import (
	"context"
	"log/slog"
	"os"
	"strings"

	"github.com/keepvip/keepvip/internal/base/sdnotify"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

// notify tells the service manager how this process fares, until outer ends; ctx is the election's.
func notify(ctx, outer context.Context, set *instance.Set, log *slog.Logger) {
	n, err := sdnotify.New(os.Getenv, os.Getpid())
	if err != nil {
		log.Warn("the service manager is not told anything", "error", err)
		return
	}
	n.Run(ctx, outer, func() (string, error) { return states(set) }, log)
}

// states is the state of every virtual address in a line, or the loop that is stuck.
func states(set *instance.Set) (string, error) {
	if err := set.Live(); err != nil {
		return "", err
	}
	var out []string
	for _, s := range set.Status() {
		out = append(out, s.Name+" "+s.State)
	}
	return strings.Join(out, ", "), nil
}
