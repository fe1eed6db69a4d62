//go:build netns

package report

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteRefusesTheFileOfAnotherUser(t *testing.T) {
	refused(t, "keepalived.data", func(t *testing.T, at, _ string) {
		require.NoError(t, os.WriteFile(at, nil, 0o644))
		require.NoError(t, os.Chown(at, 65534, 65534))
	}, "belongs to user 65534: remove it")
}
