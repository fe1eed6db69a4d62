package manual

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var date = time.Unix(1700000000, 0)

func TestCommands(t *testing.T) {
	pages, err := Commands([]byte(`{
		"path": "keepvip", "usage": "keepvip", "short": "Keep an address", "long": "One.\n\n.two 'three'",
		"commands": [{"path": "keepvip run", "usage": "keepvip run [flags]", "short": "Take part in `+"`it`"+`", "example": "  keepvip run --vip 10.0.0.1",
			"flags": [{"name": "output", "short": "o", "help": "text or json"}, {"name": "vrid", "env": "KEEPVIP_VRID", "value": "number", "default": "51", "help": "The VRID"}]}]}`), "v1.2.3", date)
	require.NoError(t, err)
	require.Len(t, pages, 2)
	assert.Equal(t, "keepvip.8", pages[0].Name)
	assert.Contains(t, string(pages[0].Text), ".TH KEEPVIP 8 2023-11-14 \"keepvip v1.2.3\"\n")
	assert.Contains(t, string(pages[0].Text), "One.\n.PP\n\\&.two \\(aqthree\\(aq\n")
	assert.Contains(t, string(pages[0].Text), ".BR keepvip\\-run (8)\nTake part in \\fBit\\fR\n")
	assert.Equal(t, "keepvip-run.8", pages[1].Name)
	assert.Contains(t, string(pages[1].Text), "\\fB\\-o\\fR, \\fB\\-\\-output\\fR\ntext or json\n")
	assert.Contains(t, string(pages[1].Text), "\\fB\\-\\-vrid\\fR \\fInumber\\fR\nThe VRID (default 51) (KEEPVIP_VRID)\n")
	assert.Contains(t, string(pages[1].Text), ".EX\n  keepvip run \\-\\-vip 10.0.0.1\n.EE\n")
}

func TestCommandsOfSomethingElse(t *testing.T) {
	_, err := Commands([]byte("usage: keepvip"), "v1", date)
	assert.ErrorContains(t, err, "manual: the commands")
}

func TestConfiguration(t *testing.T) {
	got := Configuration([]byte("# Configuration\n\nSee [this](that.md).\n\n- a `b`\n\n```yaml\nkind: Config\n```\n\n## Process\n\n"+
		"| key | value | |\n|---|---|---|\n| `log` | `a\\|b` | How much |\n"), "v1.2.3", date)
	assert.Equal(t, "keepvip.yaml.5", got.Name)
	text := string(got.Text)
	assert.Contains(t, text, "See this.\n")
	assert.Contains(t, text, ".IP \\(bu 2\na \\fBb\\fR\n")
	assert.Contains(t, text, ".EX\nkind: Config\n.EE\n")
	assert.Contains(t, text, ".SH PROCESS\n")
	assert.Contains(t, text, ".TP\n\\fBlog\\fR\nHow much.\n.br\nvalue: \\fBa|b\\fR\n")
}
