package trial

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// TestFindingsStayAfterTheyWereJudged: they are printed then.
func TestFindingsStayAfterTheyWereJudged(t *testing.T) {
	found := Findings{took("back", 30*time.Millisecond, 20*time.Millisecond), told("worst", 40*time.Millisecond), none("lost", 1)}
	before := found.String()
	assert.Equal(t, []string{"lost 1 times, limit 0 times"}, found.Broken())
	assert.Equal(t, before, found.String())
}
