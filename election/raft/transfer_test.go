package raft

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/bubble"
)

func TestTransferOneAtATime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		tr := &newNode(Config{Self: addr(0), Heartbeat: 500 * time.Millisecond}).transfer
		require.True(t, tr.tryBegin())
		assert.True(t, tr.underway())
		ended, ok := tr.begin()
		assert.False(t, ok, "another one goes on")
		tr.end()
		<-ended
		assert.False(t, tr.underway())
		assert.False(t, tr.tryBegin(), "one right after the other")
		_, ok = tr.begin()
		assert.True(t, ok, "somebody has asked")
		tr.end()
		time.Sleep(2 * time.Second)
		assert.True(t, tr.tryBegin())
	})
}
