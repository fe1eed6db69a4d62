package convert

import (
	"fmt"
	"runtime"
	"runtime/debug"
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

// threadTime is how long a processor ran do, whoever else ran meanwhile: the least of three runs. What the garbage collector has a thread do for
// others does not count.
func threadTime(t *testing.T, do func()) time.Duration {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	now := func() time.Duration {
		var at unix.Timespec // getrusage would count in ticks
		require.NoError(t, unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at))
		return time.Duration(at.Nano())
	}
	least := time.Duration(1 << 62)
	for range 3 {
		runtime.GC()
		begun := now()
		do()
		least = min(least, now()-begun)
	}
	return least
}

// 32 times the lines take about 32 times as long, where it was a thousand times. The bound is as far from the one as from the other: caches and
// neighbours of a processor make a few times of difference.
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
			const few = 1000
			one, many := cost(few), cost(32*few)
			assert.Less(t, many, 180*one)
		})
	}
}
