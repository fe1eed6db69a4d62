package instance

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/code"
)

var n1, n2 = election.Node{Address: nodeA, Name: "n1"}, election.Node{Address: nodeB, Name: "n2"}

// Each change of the role, or of the holder, is told once, in order, with the old and the new holder; and nothing else is.
func TestTransitionsAreTold(t *testing.T) {
	var told []Transition
	run(t, nil, func(in *Config) { in.Moved = func(m Transition) { told = append(told, m) } }, func(t *testing.T, b *bench) {
		s, e, at := <-b.services, <-b.electors, time.Now()
		heard := election.Decision{
			Role: election.Standby, Holder: nodeB, To: n2, At: at, Reason: "another node is heard as the Active", Code: code.HolderHeard,
		}
		require.NoError(t, e.tell(heard))
		require.NoError(t, e.tell(election.Decision{
			Role: election.Serve, Holder: nodeA, From: n2, To: n1, At: at, Reason: "granted", Code: code.Handover,
			Cause: "n2: uid 0 asked for a handover", AskedBy: "uid 0 on n2", Away: 20 * time.Millisecond, Granted: true,
		}))
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Holder: nodeA, At: at, Rival: true}))
		require.NoError(t, e.tell(election.Decision{Role: election.Quiet, To: n2, From: n1, At: at, Reason: "passed on", Code: code.Drained}))
		require.NoError(t, e.tell(election.Decision{Role: election.Standby, Holder: nodeB, At: at}))
		s.set(func(s *fakeService) { s.fail = errors.New("no space") })
		require.Error(t, e.tell(election.Decision{Role: election.Serve, At: at}))
		assert.Equal(t, []Transition{
			{At: at, Name: "apiserver", From: "initialize", To: "backup", NewHolder: n2, Code: "KV108", Reason: "another node is heard as the Active"},
			{
				At: at, Name: "apiserver", From: "backup", To: "active", OldHolder: n2, NewHolder: n1, Code: "KV109", Reason: "granted",
				Cause: "n2: uid 0 asked for a handover", AskedBy: "uid 0 on n2", AwaySeconds: 0.02,
			},
			{At: at, Name: "apiserver", From: "active", To: "backup", OldHolder: n1, NewHolder: n2, Code: "KV221", Reason: "passed on"},
		}, told)
		assert.Contains(t, b.log.String(), `msg="state changed" vip=apiserver from=backup to=active reason=granted holder=10.77.0.11 code=KV109 `+
			`old="n2 (10.77.0.12)" new="n1 (10.77.0.11)" cause="n2: uid 0 asked for a handover" askedBy="uid 0 on n2"`)
		synctest.Wait()
	})
}
