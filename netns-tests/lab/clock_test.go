//go:build netns

package lab

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestProcessWithAClockOfItsOwn(t *testing.T) {
	n := open(t, Config{Nodes: 1}).Nodes[0]
	lines := n.Path("lines")
	require.NoError(t, unix.Mkfifo(lines, 0o600))
	// date reads its clock anew for each line of the file.
	p := must(n.StartCommand(Command{Name: "date", Args: []string{"date", "--file", lines, "+%s"}, Clock: &Clock{Ahead: 30 * time.Second}}))(t)
	f := must(os.OpenFile(lines, os.O_WRONLY, 0))(t)
	began := time.Now()
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
		must(f.WriteString("now\n"))(t)
		require.Eventually(t, func() bool { return hasRead(t, f, p) }, 20*time.Second, time.Millisecond)
		require.NoError(t, p.StepClock(ahead))
	}
	must(f.WriteString("now\n"))(t)
	require.NoError(t, f.Close())
	code := must(p.Wait(20 * time.Second))(t)
	require.Zero(t, code, p.Log())

	var ahead []float64
	for _, line := range strings.Fields(p.Stdout()) {
		unixTime := must(strconv.ParseInt(line, 10, 64))(t)
		ahead = append(ahead, float64(unixTime-began.Unix()))
	}
	assert.InDeltaSlice(t, []float64{30, 3600, -3600, 0}, ahead, 14) // less than half of what is between two
}

// hasRead tells whether a program has taken everything out of a pipe, and waits for more.
func hasRead(t *testing.T, pipe *os.File, p *Process) bool {
	t.Helper()
	left := must(unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ))(t)
	if left > 0 {
		return false
	}
	return state(p.PID()) == "S"
}

func TestClockNeedsOneOfItsOwn(t *testing.T) {
	n := open(t, Config{Nodes: 1}).Nodes[0]
	p := must(n.Start("sleep", "sleep", "60"))(t)
	assert.ErrorContains(t, p.StepClock(time.Hour), "started without one")
	_, err := n.StartCommand(Command{Name: "sleep", Args: []string{"sleep", "60"}, Clock: &Clock{}, Capabilities: []string{}})
	assert.ErrorContains(t, err, "do not go together")
}
