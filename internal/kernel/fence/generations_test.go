package fence

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestGenerationsTellWhetherOthersHaveChangedAnything(t *testing.T) {
	var g generations
	g.verified(10)
	assert.True(t, g.unchanged(10))
	g.renewed()
	g.renewed()
	assert.True(t, g.unchanged(12), "renewals of ours")
	assert.False(t, g.unchanged(13), "and a change by another")
	g.committed(13)
	assert.True(t, g.unchanged(13), "and a transaction of ours")

	g.committed(15)
	assert.False(t, g.unchanged(15), "one of another before ours, or between ours and the question")
	g.committed(16)
	assert.False(t, g.unchanged(16), "a later one of ours does not make up for that")
	g.verified(16)
	g.committed(16)
	assert.True(t, g.unchanged(16), "a transaction that changes nothing")
	assert.False(t, g.unchanged(17))
}
