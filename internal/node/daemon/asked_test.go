package daemon

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/node/control"
)

func TestCommandsAreLoggedWithWhoAsked(t *testing.T) {
	for want, failure := range map[string]error{
		`level=INFO msg="a command was carried out" command=drain uid=0 pid=7 vips=[a]`:                            nil,
		`level=WARN msg="a command failed" command=drain uid=0 pid=7 vips=[a] error="nobody can take the address"`: errors.New("nobody can take the address"),
	} {
		var log strings.Builder
		logAsked(slog.New(slog.NewTextHandler(&log, nil)), control.Asked{Verb: "drain", UID: 0, PID: 7, VIPs: []string{"a"}}, failure)
		assert.Contains(t, log.String(), want)
	}
}
