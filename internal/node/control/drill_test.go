package control

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDrillIsCarriedOutAndNoted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: the verbs answer that only root may ask; see TestVerbsAreForRoot")
		return
	}
	path := socketPath(t)
	var did []string
	b := backend()
	b.Drill = func(_ context.Context, vip, kind string, lasts time.Duration, back bool) (any, error) {
		did = append(did, fmt.Sprint(vip, " ", kind, " ", lasts, " ", back))
		return map[string]string{"holder": "10.0.0.12"}, nil
	}
	b.DrillSeen = func(vip string, s DrillSeen) error {
		did = append(did, fmt.Sprint(vip, " ", s))
		return nil
	}
	b.DrillPlan = func(vip string) (any, error) { return map[string]string{"name": vip}, nil }
	defer serveAt(t, path, b)()
	c := NewClient(path)
	var plan, out map[string]string
	require.NoError(t, c.DrillPlan(t.Context(), "apiserver", &plan))
	require.NoError(t, c.Drill(t.Context(), "apiserver", "stop", time.Second, true, &out))
	require.NoError(t, c.DrillSeen(t.Context(), "apiserver", DrillSeen{"stop", "ok", 80 * time.Millisecond}))
	assert.Equal(t, "apiserver", plan["name"])
	assert.Equal(t, "10.0.0.12", out["holder"])
	assert.Equal(t, []string{"apiserver stop 1s true", "apiserver {stop ok 80ms}"}, did)
	for _, query := range []string{"op=start&lasts=long", "op=result&outage=-1s", "op=other"} {
		res, err := c.http.Post("http://keepvip"+PathDrill+"?"+query, "", nil)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
		assert.Equal(t, http.StatusBadRequest, res.StatusCode, query)
	}
}

// The command was killed: the daemon is told, and ends the drill.
func TestDrillIsToldThatWhoeverAskedHasGone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Log("not root: the verbs answer that only root may ask; see TestVerbsAreForRoot")
		return
	}
	path := socketPath(t)
	begun, gone := make(chan struct{}), make(chan struct{})
	b := backend()
	b.Drill = func(ctx context.Context, _, _ string, _ time.Duration, _ bool) (any, error) {
		close(begun)
		<-ctx.Done()
		close(gone)
		return nil, nil
	}
	defer serveAt(t, path, b)()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- NewClient(path).Drill(ctx, "apiserver", "stop", time.Second, true, nil) }()
	<-begun
	cancel()
	<-gone
	assert.Error(t, <-ended)
}
