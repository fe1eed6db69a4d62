package convert

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

type oneFile string

func (f oneFile) Read(string) ([]byte, error)   { return []byte(f), nil }
func (f oneFile) Glob(string) ([]string, error) { return nil, nil }

// threadTime is how long a processor ran do, whoever else ran meanwhile: the least of three runs.
func threadTime(t *testing.T, do func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	now := func() time.Duration {
		var u unix.Rusage
		require.NoError(t, unix.Getrusage(unix.RUSAGE_THREAD, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	least := time.Duration(1 << 62)
	for range 3 {
		begun := now()
		do()
		least = min(least, now()-begun)
	}
	return least
}

// Eight times the lines take about eight times as long, where it was sixty-four times.
func TestConvertIsLinear(t *testing.T) {
	repeated := func(format string) func(n int) string {
		return func(n int) string {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, format, i)
			}
			return b.String()
		}
	}
	for name, text := range map[string]func(n int) string{
		"unknown keywords on lines of their own": repeated("foo %d\n"),
		"unknown keywords of one line": func(n int) string {
			return "$X=\\\n" + strings.Repeat(" foo \\\n", n) + " bar\n$X\n"
		},
	} {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) time.Duration {
				return threadTime(t, func() {
					doc, err := syntax.Read("/k.conf", "", oneFile(text(n)))
					require.NoError(t, err)
					Convert(doc, Options{})
				})
			}
			const few = 4000
			assert.Less(t, cost(8*few)/cost(few), time.Duration(30))
		})
	}
}
