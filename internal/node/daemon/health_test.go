package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
)

func TestAnswerToBalancersStaysWhileAnInstanceBeginsAnew(t *testing.T) {
	var a answers
	now, bad := time.Now(), errors.New("drained")
	require.ErrorIs(t, a.next("a", nil, false, now), errNoResult)
	require.NoError(t, a.next("a", nil, true, now))
	require.NoError(t, a.next("a", errors.New("no result of the health check yet"), false, now.Add(time.Second)))
	require.ErrorIs(t, a.next("b", nil, false, now), errNoResult, "another one")
	require.ErrorContains(t, a.next("a", errors.New("no result of the health check yet"), false, now.Add(sameFor)), "no result of")
	require.ErrorIs(t, a.next("a", bad, true, now.Add(sameFor)), bad)
	require.ErrorIs(t, a.next("a", nil, false, now.Add(sameFor)), bad)
}

// loopback is an address of the loopback interface at which no other process of these tests listens: which of 1 to 3.
func loopback(which int) string {
	pid := os.Getpid() // of 22 bits at most
	return net.IPv4(127, byte(which<<6|pid>>16), byte(pid>>8), byte(pid)).String()
}

// freePorts are two of TCP there.
func freePorts(t *testing.T, at string) (one, two string) {
	t.Helper()
	first, err := net.Listen("tcp", at+":0")
	require.NoError(t, err)
	defer first.Close()
	second, err := net.Listen("tcp", at+":0") // while the first one is taken
	require.NoError(t, err)
	defer second.Close()
	return first.Addr().String(), second.Addr().String()
}

func TestReloadMovesTheListenerForBalancers(t *testing.T) {
	const vips = "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n"
	r := newReloading(t, vips)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	r.startDoor(ctx, &wg, r.doors.health, r.cfg.Health.Address)

	here, there := loopback(1), loopback(2)
	taken, err := net.Listen("tcp", here+":0")
	require.NoError(t, err)
	defer taken.Close()
	one, two := freePorts(t, here)
	ask := func(at string) string {
		c := http.Client{Timeout: 10 * time.Second}
		answer, err := c.Get("http://" + at + "/healthz/a")
		if err != nil {
			return ""
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		return string(body)
	}
	const told = "no result of the checks yet\n" // no instance runs
	reload := func(at string) error {
		r.write(t, vips+"health: "+at+"\n")
		_, err := r.reload(t.Context())
		return err
	}
	require.NoError(t, reload(one))
	assert.Equal(t, told, ask(one))
	require.NoError(t, reload(two))
	assert.Equal(t, told, ask(two))
	assert.Empty(t, ask(one))
	require.NoError(t, reload(taken.Addr().String()), "a port that somebody has refuses no configuration")
	assert.Equal(t, told, ask(two), "the former one stays open meanwhile")
	assert.Equal(t, code.HealthUnheard, r.doors.health.Status().Code)
	require.NoError(t, reload(two))
	assert.Empty(t, r.doors.health.Status().Problem)
	_, port, err := net.SplitHostPort(two)
	require.NoError(t, err)
	require.NoError(t, reload(there+":"+port), "of the same port")
	assert.Equal(t, told, ask(there+":"+port))
	assert.Empty(t, ask(two))
	r.ending.Store(true)
	assert.Equal(t, "keepvip is stopping\n", ask(there+":"+port))
	require.NoError(t, reload("off"))
	assert.Empty(t, ask(there+":"+port))
}

// The kernel lets a listener have an address that the host does not have, also one that is a slip of the pen.
func TestListenerAtAnAddressThatIsNotHereIsSaid(t *testing.T) {
	var log strings.Builder
	r := newReloading(t, "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n")
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	r.startDoor(ctx, &wg, r.doors.health, r.cfg.Health.Address)
	for at, want := range map[string]bool{"10.77.0.11": false, "10.77.0.12": true, "127.0.0.1": false, "0.0.0.0": false} {
		log.Reset()
		free, _ := freePorts(t, "0.0.0.0")
		_, port, err := net.SplitHostPort(free)
		require.NoError(t, err)
		r.write(t, "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\nhealth: "+at+":"+port+"\n")
		_, err = r.reload(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(log.String(), "does not have the address"), "%s: %s", at, log.String())
	}
}
