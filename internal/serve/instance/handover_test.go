package instance

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/election"
	"github.com/keepvip/keepvip/internal/base/code"
)

// handingElector answers a Handover as the test says.
type handingElector struct {
	*fakeElector
	answer  error
	to      chan string
	handing func() // nil: nothing else happens meanwhile
}

func (e *handingElector) Handover(_ context.Context, to string) error {
	e.to <- to
	if e.handing != nil {
		e.handing()
	}
	return e.answer
}

func handing(e *handingElector) func(*Config) {
	return func(in *Config) {
		partsOf(in).elect = func(Place) (election.Elector, func(), error) {
			e.fakeElector = newFakeElector() // its channels belong to the bubble
			return e, func() {}, nil
		}
	}
}

func TestHandoverAsksTheElector(t *testing.T) {
	e := &handingElector{to: make(chan string, 10)}
	synctestHanding(t, e, func(b *bench) {
		require.NoError(t, b.Handover(context.Background(), nil, "cp-2"))
		assert.Equal(t, "cp-2", <-e.to)
		assert.ErrorContains(t, b.Handover(context.Background(), []string{"other"}, ""), `no virtual address is named "other"`)
		e.answer = election.ErrNoTaker
		assert.ErrorIs(t, b.Handover(context.Background(), []string{"apiserver"}, ""), election.ErrNoTaker)
		e.answer = election.ErrNotActive
		assert.ErrorIs(t, b.Handover(context.Background(), nil, ""), election.ErrNotActive)
	})
}

func TestDrainLastsUntilResume(t *testing.T) {
	e := &handingElector{to: make(chan string, 10), answer: election.ErrNotActive}
	synctestHanding(t, e, func(b *bench) {
		require.NoError(t, b.Drain(context.Background(), nil), "a node that holds nothing has nothing to give away")
		synctest.Wait()
		assert.Equal(t, election.Fitness{Less: lastPlace, Reason: "drained by an operator", Code: code.Drained}, e.fitness())
		e.answer = election.ErrTimeout
		require.ErrorIs(t, b.Drain(context.Background(), []string{"apiserver"}), election.ErrTimeout)
		require.NoError(t, b.Resume(nil))
		synctest.Wait()
		assert.Equal(t, election.Fitness{}, e.fitness())
	})
}

func synctestHanding(t *testing.T, e *handingElector, test func(*bench)) {
	t.Helper()
	run(t, nil, handing(e), func(t *testing.T, b *bench) {
		synctest.Wait()
		test(b)
	})
}

// Whoever asks the wrong node, or for a wrong name, is told which would be right.
func TestCommandsNameTheHolderAndTheNames(t *testing.T) {
	e := &handingElector{to: make(chan string, 10), answer: election.ErrNotActive}
	run(t, nil, func(in *Config) {
		partsOf(in).elect = func(Place) (election.Elector, func(), error) {
			e.fakeElector = newFakeElector()
			e.status.Holder = nodeB
			e.status.Members = []election.Member{{Address: nodeB, Node: "n2", Fit: new(false)}}
			return e, func() {}, nil
		}
	}, func(t *testing.T, b *bench) {
		assert.EqualError(t, b.Handover(t.Context(), nil, ""), "apiserver: this node does not hold the address: n2 (10.77.0.12) does")
		for _, err := range []error{b.Handover(t.Context(), []string{"x"}, ""), b.Announce("x"), b.Announce("apiserver", "x"), b.Resume([]string{"x"})} {
			assert.EqualError(t, err, `no virtual address is named "x", there are: apiserver`)
		}
	})
}
