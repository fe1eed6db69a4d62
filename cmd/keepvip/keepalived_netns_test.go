//go:build netns

package main

import (
	"os/exec"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The help of Debian's keepalived names each option that keepvip knows of, and no other.
func TestKeepalivedOptionsAreKeepaliveds(t *testing.T) {
	help, err := exec.Command("keepalived", "--help").CombinedOutput()
	require.NoError(t, err)
	want := map[string]string{"flush-log-file": "", "log-file": "g", "perf": "", "no-mem-check": "", "debug": "", "help": "h"} // not in every build
	for _, m := range regexp.MustCompile(`(?m)^  (?:-(\w), |    )--([\w-]+)`).FindAllStringSubmatch(string(help), -1) {
		want[m[2]] = m[1]
	}
	got := map[string]string{"help": "h"}
	for _, o := range keepalivedOptions {
		got[o.long] = o.short
	}
	assert.Equal(t, want, got)
}
