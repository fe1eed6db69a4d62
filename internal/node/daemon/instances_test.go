package daemon

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
)

func TestEveryElectionHasAnElector(t *testing.T) {
	assert.ElementsMatch(t, config.Elections(), slices.Collect(maps.Keys(electors)))
}
