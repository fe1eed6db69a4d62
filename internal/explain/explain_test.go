package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each state has a file in testdata with its facts; make golden writes them.
func TestExplanationOfEachState(t *testing.T) {
	for name, s := range states() {
		t.Run(name, func(t *testing.T) {
			file, got := filepath.Join("testdata", name+".txt"), rendered(Address(&s, "n2", noon))
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "regenerate with make golden and review the difference")
		})
	}
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	assert.Len(t, files, len(states()), "a file of a state that is not there any more")
}

func rendered(facts []Fact) string {
	var b strings.Builder
	for _, f := range facts {
		fmt.Fprintf(&b, "%-5s %s", f.Code, f.Text)
		if !f.Since.IsZero() {
			fmt.Fprintf(&b, " (for %s)", noon.Sub(f.Since))
		}
		b.WriteByte('\n')
		if f.Remedy != "" {
			fmt.Fprintf(&b, "      -> %s\n", f.Remedy)
		}
	}
	return b.String()
}

func TestFactsAreOfKnownCodesAndSaidOnce(t *testing.T) {
	for name, s := range states() {
		said := map[string]bool{}
		for _, f := range Address(&s, "", noon) {
			assert.NotEmpty(t, f.Text, name)
			assert.False(t, said[f.Text], "%s: %s twice", name, f.Text)
			said[f.Text] = true
			if f.Code != "" {
				assert.NotZero(t, f.Code.Entry(), "%s: %s", name, f.Code)
			}
			if f.Remedy != "" {
				assert.NotEmpty(t, f.Code, "%s: a remedy needs a code: %s", name, f.Text)
			}
		}
	}
}
