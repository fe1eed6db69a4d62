package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// pages are README and the pages of docs, by their names.
func pages(t *testing.T) map[string]string {
	t.Helper()
	list, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	out := map[string]string{}
	for _, path := range append(list, "../../README.md") {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		out[filepath.Base(path)] = string(text)
	}
	return out
}

// boxes are the fenced parts of a page, each with the word behind its fence.
func boxes(page string) (out [][2]string) {
	for i, part := range strings.Split("\n"+page, "\n```") {
		if kind, text, _ := strings.Cut(part, "\n"); i%2 == 1 {
			out = append(out, [2]string{kind, text + "\n"})
		}
	}
	return out
}

// A configuration in the documents is one that keepvip takes. One that shows a part gets what every file has.
func TestConfigurationsOfTheDocumentsAreAccepted(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	require.NoError(t, os.WriteFile(key, []byte(strings.Repeat("5a", 32)+"\n"), 0o600))
	const head = "apiVersion: keepvip/v1\nkind: Config\n"
	var found int
	for name, page := range pages(t) {
		for _, b := range boxes(page) {
			text := b[1]
			if first, _, _ := strings.Cut(text, ":"); b[0] != "yaml" || !strings.Contains(" apiVersion vips key raft ", " "+first+" ") {
				continue
			}
			found++
			if !strings.Contains(text, head) {
				text = head + text
			}
			if !strings.Contains(text, "vips:") {
				text += "vips: [{addresses: [10.0.0.100], election: raft}]\n"
			}
			if strings.Contains(text, "election: raft") {
				if !strings.Contains(text, "key:") {
					text += "key: {file: /etc/keepvip/key}\n"
				}
				if !strings.Contains(text, "raft:\n") {
					text += "raft: {peers: [10.0.0.11]}\n"
				}
			}
			text = strings.NewReplacer("/etc/keepvip/key", key, "/usr/local/bin/disk-ok", "/bin/true",
				"/etc/keepvip/notify.sh", "/bin/true", "/etc/keepvip/mail.sh", "/bin/true").Replace(text)
			_, err := config.Load(config.Input{File: write(t, text)})
			assert.NoError(t, err, "%s:\n%s", name, text)
		}
	}
	assert.Greater(t, found, 5)
}

var documentedCommand = regexp.MustCompile("(?m)(?:^\\$ |^|`)keepvip ([a-z-]+(?: [^`\n]*)?)(?:`|$)")

// A command line in the documents names commands and flags that there are.
func TestCommandLinesOfTheDocumentsAreKnown(t *testing.T) {
	var found int
	for name, page := range pages(t) {
		var lines [][]string
		for _, b := range boxes(page) {
			if b[0] == "" || b[0] == "sh" {
				lines = append(lines, documentedCommand.FindAllStringSubmatch(strings.ReplaceAll(b[1], "\\\n", " "), -1)...)
			}
		}
		for _, part := range regexp.MustCompile("`keepvip [^`]+`").FindAllString(page, -1) {
			lines = append(lines, documentedCommand.FindAllStringSubmatch(strings.ReplaceAll(part, "\n", " "), -1)...)
		}
		for _, line := range lines {
			if strings.HasPrefix(line[1], "members v1 ") || strings.HasPrefix(line[1], "followers v1 ") { // labels of keys
				continue
			}
			found++
			text, _, _ := strings.Cut(line[1], "#")
			args := strings.Fields(text)
			cmd, _, err := newRoot().Find(args)
			if !assert.NoError(t, err, "%s: keepvip %s", name, text) {
				continue
			}
			assert.NotEqual(t, "keepvip", cmd.CommandPath(), "%s: keepvip %s", name, text)
			for _, a := range args {
				if flag, _, _ := strings.Cut(a, "="); strings.HasPrefix(flag, "--") && flag != "--help" {
					assert.NotNil(t, cmd.Flag(strings.Trim(flag[2:], "[]")), "%s: keepvip %s: %s", name, text, flag)
				}
			}
		}
	}
	assert.Greater(t, found, 100)
}
