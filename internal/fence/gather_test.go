package fence

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLinksGatherManyFirstGroups(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := NewLinks(nil)
		all.Expect(gatherFrom - 1)
		assert.Nil(t, all.on(3).changes.Gather, "few")
		all.Expect(gatherFrom)
		l := all.on(4)
		waits := func(waiting func() int) time.Duration {
			began := time.Now()
			l.changes.Gather(waiting)
			return time.Since(began)
		}
		assert.Equal(t, gatherMost, waits(func() int { return 1 }), "some do not come")
		asked := 0
		assert.Equal(t, (gatherFrom-1)*time.Millisecond, waits(func() int { asked++; return asked }), "all are there")
		l.open = &shared{}
		assert.Zero(t, waits(func() int { return 1 }), "there is a fence")
	})
}
