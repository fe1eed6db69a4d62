package virtualrouter

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

func TestOwnFitnessIsMadeWorse(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	refused := election.BindBackoff{}
	refused.Begin(now, errors.New("no such device"), time.Second)
	again := refused
	again.Due(now.Add(time.Second)) // the pause is over
	bind := "the address could not be bound: no such device"
	for name, tt := range map[string]struct {
		own        ownFitness
		cannotWait bool
		want       election.Fitness
	}{
		"fit":                 {ownFitness{}, true, election.Fitness{}},
		"waits":               {ownFitness{told: election.Fitness{Wait: true}}, false, election.Fitness{Wait: true}},
		"cannot wait":         {ownFitness{told: election.Fitness{Wait: true}}, true, election.Fitness{Wait: true, Out: true}},
		"pauses after a bind": {ownFitness{backoff: refused}, false, election.Fitness{Out: true, Less: 255, Reason: bind, Code: code.BindRefused}},
		"comes last after it": {ownFitness{backoff: again}, false, election.Fitness{Less: 255, Reason: bind, Code: code.BindRefused}},
		"no candidate":        {ownFitness{noCandidate: true}, false, election.Fitness{Less: 255, Reason: election.NoCandidate, Code: code.NoCandidate}},
		"unfit, too":          {ownFitness{noCandidate: true, told: unfit}, false, unfit},
	} {
		assert.Equal(t, tt.want, tt.own.alone(100, tt.cannotWait), name)
	}
}

// What passes soon, and does not concern the service, keeps no new connections away.
func TestOwnFitnessTakesConnectionsAsItWasTold(t *testing.T) {
	waits := ownFitness{told: election.Fitness{Wait: true}, effective: unfit}
	assert.True(t, waits.takes(100, false))
	assert.False(t, waits.takes(100, true), "it is about to stop")
	assert.False(t, waits.good(100))
	ill := ownFitness{told: unfit}
	assert.False(t, ill.takes(100, false))
	assert.True(t, ill.good(100), "nothing of it has taken effect yet")
}
