package docs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// A stranger has ten questions. Each is answered by the first words of README, or by a link among them.
func TestReadmeAnswersTheFirstQuestionsAtItsTop(t *testing.T) {
	text := read(t, "../README.md")
	assert.LessOrEqual(t, strings.Count(text, "\n"), 120, "lines")
	top := strings.Join(strings.Fields(text)[:300], " ")
	for question, answer := range map[string]string{
		"what is it":        "keeps one virtual IP address on one of several nodes",
		"does it fit me":    "](#does-it-fit)",
		"how fast":          "the node that holds the address dies | 250 ms",
		"keepalived":        "](#beside-others)",
		"kube-vip":          "Against keepalived, kube-vip and others",
		"firewall":          "](docs/install.md#before-you-begin)",
		"where does it run": "](docs/manifests.md)",
		"upgrade":           "](docs/operations.md#upgrade-of-keepvip)",
		"report a hole":     "](SECURITY.md)",
		"who uses it":       "](#maturity)",
	} {
		assert.Contains(t, top, answer, question)
	}
	assert.Less(t, strings.Index(text, "## See it work"), strings.Index(text, "## What you get"))
}

// The first figures of README are those of the page that has all of them.
func TestFiguresOfReadmeAreThoseOfMeasurements(t *testing.T) {
	measured := read(t, "measurements.md")
	for _, figure := range []string{
		"| node death, equal | keepvip | 50 | 250 (203-300) |", "| daemon killed | keepvip | 20 | 80.0 (74.0-85.0) |",
		"| handover, IPv4 and IPv6, two clients | keepvip | 50 | 0.0 |", "| 10.0 (0.0-18.8) |", "| apiserver SIGKILL | 1 | 61 to 160 |",
		"| 32013 (31820-32206) |",
	} {
		assert.Contains(t, measured, figure)
	}
}

// Whoever looks for a project's own pages finds them where the forge looks, too.
func TestProjectHasItsPages(t *testing.T) {
	for _, path := range []string{
		"SECURITY.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SUPPORT.md", "ROADMAP.md", "LICENSE", "CHANGELOG.md", ".github/CODEOWNERS",
		".github/PULL_REQUEST_TEMPLATE.md", ".github/ISSUE_TEMPLATE/bug.yml", ".github/workflows/ci.yml", ".github/workflows/release.yml", ".github/renovate.json",
	} {
		_, err := os.Stat("../" + path)
		assert.NoError(t, err)
	}
}
