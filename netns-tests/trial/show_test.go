package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFindingsWithoutAVerdictAreToldAsSuch(t *testing.T) {
	good, bad := none("good", 0), none("bad", 2)
	found := Findings{good, bad.unjudged("the machine stood still"), good.unjudged("the machine stood still"), bad}
	assert.Equal(t, []string{"bad 2 times, limit 0 times"}, found.Over(1))
	assert.Equal(t, []string{"bad 2 times, limit 0 times: the machine stood still"}, found.NotJudged())
	assert.Equal(t, "good 0 times (limit 0 times), bad 2 times (limit 0 times), good 0 times (limit 0 times), bad 2 times (limit 0 times)", found.String())
}
