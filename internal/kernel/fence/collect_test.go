package fence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestLinksCollectManyFirstGroups(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		all := NewLinks(nil, nil)
		all.Expect(collectFrom - 1)
		assert.Nil(t, all.on(3).changes.Collect, "few")
		all.Expect(collectFrom)
		l := all.on(4)
		waits := func(waiting func() int) time.Duration {
			began := time.Now()
			l.changes.Collect(waiting)
			return time.Since(began)
		}
		assert.Equal(t, collectMost, waits(func() int { return 1 }), "some do not come")
		asked := 0
		assert.Equal(t, (collectFrom-1)*time.Millisecond, waits(func() int { asked++; return asked }), "all are there")
		l.open = &shared{}
		assert.Zero(t, waits(func() int { return 1 }), "there is a fence")
	})
}
