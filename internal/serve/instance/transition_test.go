package instance

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
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

// Since when it was SILENT, out, or without a majority, is what an operator asks hours later. Nothing of that is a move of the address.
func TestFaultsAreTold(t *testing.T) {
	var told []Transition
	brief := func() (out []string) {
		for _, f := range told {
			out = append(out, fmt.Sprintf("%s->%s %s %s over=%v %s", f.From, f.To, f.Fault, f.Code, f.Over, f.Reason))
		}
		told = nil
		return out
	}
	var place *fakePlace
	missing := func(p *fakePlace) {
		place, p.err = p, code.With(code.InterfaceMissing, errors.New("there is no interface eth7"))
	}
	run(t, missing, func(in *Config) {
		in.VIP.Election = config.ElectionRaft
		in.Moved = func(m Transition) { told = append(told, m) }
	}, func(t *testing.T, b *bench) {
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"initialize->initialize out KV402 over=false there is no interface eth7"}, brief(), "once")
		place.set(func(p *fakePlace) { p.err = nil })
		e := <-b.electors
		require.NoError(t, e.tell(election.Decision{Role: election.Serve, Holder: nodeA, To: n1, At: time.Now(), Reason: "elected", Code: code.Elected}))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"initialize->active  KV504 over=false elected"}, brief(), "which says that it is in the election again")

		e.setLease(-12 * time.Second)
		time.Sleep(beatEvery)
		synctest.Wait()
		require.Len(t, told, 1)
		assert.GreaterOrEqual(t, time.Since(told[0].At), 12*time.Second, "since when, and not since when it was seen")
		assert.Equal(t, n1, told[0].NewHolder)
		assert.Equal(t, []string{"active->active silent KV406 over=false the lease is over, so the kernel keeps this node from answering"}, brief())
		e.setLease(time.Hour)
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"active->active silent KV406 over=true it is over, after 17s"}, brief())

		require.NoError(t, e.tell(election.Decision{Role: election.Standby, At: time.Now(), Reason: "no majority", Code: code.MajorityLost}))
		told = nil
		e.set(func(s *election.Status) { s.Blocked, s.BlockedCode = "NO QUORUM: 1 of 3", code.NoQuorum })
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"backup->backup blocked KV501 over=false NO QUORUM: 1 of 3"}, brief())
		e.set(func(s *election.Status) { s.Blocked = "" })
		require.NoError(t, e.tell(election.Decision{Role: election.Standby, Holder: nodeB, To: n2, At: time.Now(), Reason: "another leads", Code: code.LeaderKnown}))
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, []string{"backup->backup  KV505 over=false another leads"}, brief(), "which says that it is over")
		assert.Equal(t, "another leads", b.Status()[0].Last.Reason, "a fault is no move")
	})
}
