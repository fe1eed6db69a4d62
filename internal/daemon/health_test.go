package daemon

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

// freePort is one of TCP on the loopback interface.
func freePort(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer ln.Close()
	return ln.Addr().String()
}

func TestReloadMovesTheListenerForBalancers(t *testing.T) {
	const vips = "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\n"
	r := newReloading(t, vips)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	require.NoError(t, r.openHealth(ctx, &wg))

	one, two := freePort(t), freePort(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
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
	const there = "no result of the checks yet\n" // no instance runs
	reload := func(at string) error {
		r.write(t, vips+"health: "+at+"\n")
		_, err := r.Reload()
		return err
	}
	require.NoError(t, reload(one))
	assert.Equal(t, there, ask(one))
	require.NoError(t, reload(two))
	assert.Equal(t, there, ask(two))
	assert.Empty(t, ask(one))
	require.ErrorContains(t, reload(taken.Addr().String()), "--health")
	assert.Equal(t, there, ask(two), "the old one stays in force")
	_, port, err := net.SplitHostPort(two)
	require.NoError(t, err)
	require.NoError(t, reload("127.0.0.2:"+port), "of the same port")
	assert.Equal(t, there, ask("127.0.0.2:"+port))
	assert.Empty(t, ask(two))
	r.ending.Store(true)
	assert.Equal(t, "keepvip is stopping\n", ask("127.0.0.2:"+port))
	require.NoError(t, reload("off"))
	assert.Empty(t, ask("127.0.0.2:"+port))
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
	require.NoError(t, r.openHealth(ctx, &wg))
	for at, want := range map[string]bool{"10.77.0.11": false, "10.77.0.12": true, "127.0.0.1": false, "0.0.0.0": false} {
		log.Reset()
		_, port, err := net.SplitHostPort(freePort(t))
		require.NoError(t, err)
		r.write(t, "vips:\n- {name: a, addresses: [10.77.0.100], check: none}\nhealth: "+at+":"+port+"\n")
		_, err = r.Reload()
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(log.String(), "does not have the address"), "%s: %s", at, log.String())
	}
}
