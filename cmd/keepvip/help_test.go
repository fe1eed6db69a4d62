package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/config"
)

// everyCommand calls visit with each command that there is.
func everyCommand(visit func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		visit(cmd)
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	root := newRoot()
	root.InitDefaultCompletionCmd()
	walk(root)
}

func TestHelpFitsIntoAHundredColumns(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		_, out, _ := keepvip(t, append(strings.Fields(cmd.CommandPath())[1:], "--help")...)
		assert.Contains(t, out, "Usage:\n", cmd.CommandPath())
		for line := range strings.Lines(out) {
			assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 100, "%s: %s", cmd.CommandPath(), line)
		}
	})
}

func TestHelpNamesTheVariableOfEachOption(t *testing.T) {
	_, out, _ := keepvip(t, "run", "--help")
	for _, o := range config.Options() {
		assert.Regexp(t, `(?m)^      --`+o.Flag+`( \S+)?  \(`+o.Env()+`\)$`, out)
	}
	assert.Contains(t, out, "      --config string  (KEEPVIP_CONFIG)\n          the configuration file\n")
	_, out, _ = keepvip(t, "status", "--help")
	assert.Contains(t, out, "(KEEPVIP_SOCKET)\n")
	assert.Contains(t, out, "  -o, --output string\n          text or json (default text)\n")
	_, out, _ = keepvip(t, "drill", "--help")
	assert.NotContains(t, out, "default 0", "that is no port, and no time")
}

func TestExamplesAreSetBelowTheirHead(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		if cmd.Example != "" && !cmd.Hidden && cmd.Name() != "completion" && cmd.Parent().Name() != "completion" {
			for line := range strings.Lines(cmd.Example) {
				assert.Regexp(t, `^  `, line, cmd.CommandPath())
			}
		}
	})
}

func TestWrappedKeepsParagraphsAndLists(t *testing.T) {
	long := strings.Repeat("word ", 30)
	assert.Equal(t, "a b\n\n  kept  as it is\nc\n", wrapped("a\nb\n\n  kept  as it is\nc\n", ""))
	assert.Equal(t, "  "+strings.TrimSpace(strings.Repeat("word ", 19))+"\n  "+strings.TrimSpace(strings.Repeat("word ", 11))+"\n", wrapped(long, "  "))
}

// A command with more than a hundred flags begins with those that most people need.
func TestHelpHasTheCommonFlagsFirst(t *testing.T) {
	_, out, _ := keepvip(t, "run", "--help")
	common, rest, found := strings.Cut(out, "\nOther flags (docs/configuration.md has them by subject):\n")
	assert.True(t, found)
	for _, flag := range []string{"--config", "--vip", "--interface", "--election", "--priority", "--check ", "--peer", "--key-file"} {
		assert.Contains(t, common, flag)
		assert.NotContains(t, rest, "    "+flag+" ")
	}
	assert.Contains(t, rest, "--vrid")
	_, out, _ = keepvip(t, "status", "--help")
	assert.Contains(t, out, "\nFlags:\n")
}
