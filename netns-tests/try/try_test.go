package try

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAStepThatFailsEndsItsFunction(t *testing.T) {
	broken, after := errors.New("broken"), false
	takes := func(second error) (got int, err error) {
		defer Catch(&err)
		got, _ = Two(1, "", nil)
		Do(second)
		after = true
		return Get(2, nil), nil
	}
	got, err := takes(broken)
	assert.Equal(t, broken, err)
	assert.Equal(t, 1, got, "what there was already")
	assert.False(t, after)
	got, err = takes(nil)
	assert.NoError(t, err)
	assert.Equal(t, 2, got)
	assert.PanicsWithValue(t, "another", func() {
		var err error
		defer Catch(&err)
		panic("another")
	})
}
