package hook

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// What a hook has begun as a daemon is on its own, as with keepalived: when the hook ends, and when it is killed because it hangs itself.
func TestHookThatBeginsADaemon(t *testing.T) {
	const daemon = `setsid sh -c 'echo $$ > pids; sleep 3600' >/dev/null 2>&1`
	for name, tt := range map[string]struct {
		script string
		want   Result
	}{
		"and ends":  {daemon + ` & while [ ! -s pids ]; do sleep 0.01; done; echo > begun; exit 0`, OK},
		"and hangs": {`(` + daemon + ` &); echo > begun; sleep 3600; exit 1`, TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			p := b.program(tt.script)
			p.Timeout = time.Second
			b.use(p)
			b.report(config.HookMaster)
			require.Eventually(t, func() bool { return b.file("begun") != "" && strings.HasSuffix(b.file("pids"), "\n") }, patience, time.Millisecond)
			pid, err := strconv.Atoi(strings.TrimSpace(b.file("pids")))
			require.NoError(t, err)
			t.Cleanup(func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
			if tt.want == TimedOut {
				b.comes(p.Timeout)
			}
			assert.Equal(t, tt.want, b.newest(1).Result)
			b.Close()
			assert.False(t, b.gone("pids"), "it works on")
		})
	}
}
