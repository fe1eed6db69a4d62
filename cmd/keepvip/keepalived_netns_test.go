//go:build netns

package main

import (
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
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

// Debian's keepalived ends its own test of each file with the code that the table has. With 3 it has another one: keepvip does not run the file.
func TestConfigTestEndsWithKeepalivedsCode(t *testing.T) {
	for name, tt := range configTests() {
		if tt.code == testRefused {
			continue
		}
		t.Run(name, func(t *testing.T) {
			args := slices.Concat([]string{"-t", "-f", tt.write(t, t.TempDir())}, strings.Fields(tt.args))
			out, err := exec.Command("keepalived", args...).CombinedOutput()
			code, exit := 0, new(exec.ExitError)
			if errors.As(err, &exit) {
				code = exit.ExitCode()
			}
			assert.Equal(t, tt.code, code, "%s", out)
		})
	}
}
