package docs_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// `go install .../cmd/keepvip@version` refuses a module with such a line.
func TestModuleCanBeInstalledByVersion(t *testing.T) {
	text, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	assert.NotRegexp(t, regexp.MustCompile(`(?m)^\s*(replace|exclude)\b`), string(text))
}
