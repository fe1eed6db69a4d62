package daemon

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/node/history"
	"github.com/keepvip/keepvip/internal/serve/instance"
)

func TestHistoryHasTheTransitions(t *testing.T) {
	d := &Daemon{past: history.New(slog.New(slog.DiscardHandler))}
	for range 2 {
		d.past.Add(instance.Transition{At: time.Now(), Name: "apiserver", From: "backup", To: "active", Reason: "nobody is heard"})
	}
	var b bytes.Buffer
	require.NoError(t, d.history(&b))
	var doc History
	require.NoError(t, json.Unmarshal(b.Bytes(), &doc), b.String())
	require.Len(t, doc.Transitions, 2)
	assert.Equal(t, "apiserver", doc.Transitions[1].Name)
	assert.Equal(t, uint64(2), doc.Transitions[1].Number)
	assert.Nil(t, doc.Problem)
}
