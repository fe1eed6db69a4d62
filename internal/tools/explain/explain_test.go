package explain

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
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

// Whatever makes an address move, or a node lose it, is explained with its code: none of these may be a state without a word.
func TestEachCauseIsExplained(t *testing.T) {
	all := states()
	for cause, of := range map[string]struct {
		state string
		code  code.Code
	}{
		"the holder died":              {"active", code.HolderSilent},
		"link down":                    {"fault-link-down", code.LinkDown},
		"apiserver refused":            {"ineligible-check-refused", code.CheckRefused},
		"apiserver 500":                {"ineligible-check-500", code.CheckStatus},
		"apiserver hangs":              {"ineligible-check-timeout", code.CheckTimeout},
		"hold":                         {"held", code.Held},
		"drain":                        {"drained", code.Drained},
		"handover":                     {"handed-over", code.Handover},
		"a lower priority":             {"standby-lower-priority", code.LowerPriority},
		"a foreign VRID":               {"foreign-vrid", code.ForeignVRID},
		"a duplicate address":          {"conflict", code.DuplicateAddress},
		"the fence cannot be built":    {"fence-lost", code.FenceLost},
		"the fence was taken away":     {"fence-mended", code.FenceLost},
		"the fence has a gap":          {"fence-with-a-gap", code.FenceUncovered},
		"advertisements do not leave":  {"fault-silenced", code.NotSent},
		"a load that is not spread":    {"not-spread", code.NotSpread},
		"a wrong key":                  {"wrong-key", code.WrongKey},
		"the start of the first node":  {"started", code.NobodyHeld},
		"a member that is not heard":   {"no-taker", code.MemberSilent},
		"a majority that is lost":      {"fault-no-quorum", code.NoQuorum},
		"VRRP that does not arrive":    {"split", code.Split},
		"an address that is not bound": {"ineligible-bind-refused", code.BindRefused},
	} {
		s, there := all[of.state]
		require.True(t, there, of.state)
		has := func(f Fact) bool { return f.Code == of.code }
		assert.True(t, slices.ContainsFunc(Address(&s, "n2", noon), has), "%s: no fact with %s", cause, of.code)
	}
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
