package health

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// processTable makes a directory like /proc: of each process what its arguments are, and what the kernel calls it.
func processTable(t *testing.T, all map[string][2]string) string {
	t.Helper()
	proc := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(proc, "uptime"), nil, 0o600))
	for pid, p := range all {
		require.NoError(t, os.Mkdir(filepath.Join(proc, pid), 0o700))
		line := strings.ReplaceAll(p[0], " ", "\x00")
		if line != "" {
			line += "\x00"
		}
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "cmdline"), []byte(line), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(proc, pid, "comm"), []byte(p[1]+"\n"), 0o600))
	}
	return proc
}

func TestProcessesAreCounted(t *testing.T) {
	proc := processTable(t, map[string][2]string{
		"1": {"/usr/sbin/web -c /etc/a -v", "web"},
		"2": {"/usr/sbin/web -c /etc/ab", "web"},
		"3": {"web", "web"},
		"4": {"", "web"}, // has ended, and is not waited for
		"5": {"/bin/sh /usr/bin/a-name-of-many-letters x", "a-name-of-many-"},
		"6": {"webber", "webber"},
	})
	for _, tt := range []struct {
		name        string
		least, most int
		arguments   []string
		match       config.ArgumentsMatch
		want        Result
	}{
		{"web", 3, 65535, nil, "", Result{Reason: "3 of web"}},
		{"web", 3, 3, nil, "", Result{Reason: "3 of web"}},
		{"web", 4, 65535, nil, "", Result{Outcome: Fail, Reason: "3 of web, want at least 4"}},
		{"web", 1, 2, nil, "", Result{Outcome: Fail, Reason: "3 of web, want 1 to 2"}},
		{"web", 0, 0, nil, "", Result{Outcome: Fail, Reason: "3 of web, want 0"}},
		{"none", 0, 0, nil, "", Result{Reason: "0 of none"}},
		{"none", 1, 1, nil, "", Result{Outcome: Fail, Reason: "0 of none, want 1", Hint: podHint}},
		{"a-name-of-many-letters", 1, 1, nil, "", Result{Reason: "1 of a-name-of-many-letters"}},
		{"web", 1, 1, []string{}, "exact", Result{Reason: "1 of web"}},
		{"web", 1, 1, []string{"-c", "/etc/a", "-v"}, "exact", Result{Reason: "1 of web"}},
		{"web", 1, 1, []string{"-c", "/etc/a"}, "exact", Result{Outcome: Fail, Reason: "0 of web, want 1", Hint: podHint}},
		{"web", 1, 1, []string{"-c", "/etc/a"}, config.MatchFirst, Result{Reason: "1 of web"}},
		{"web", 2, 2, []string{"-c", "/etc/a"}, config.MatchBegin, Result{Reason: "2 of web"}},
		{"web", 3, 3, []string{}, config.MatchBegin, Result{Reason: "3 of web"}},
	} {
		p := newProcesses(config.ListedCheck{Process: tt.name, Quorum: tt.least, QuorumMax: tt.most, Arguments: tt.arguments, Match: tt.match})
		p.proc = proc
		assert.Equal(t, tt.want, look(t, p), "%+v", tt)
	}
}

func TestProcessesThatCannotBeListed(t *testing.T) {
	p := newProcesses(config.ListedCheck{Process: "x"})
	p.proc = filepath.Join(t.TempDir(), "none")
	assert.Equal(t, Result{Outcome: Fail, Reason: "list the processes: no such file or directory"}, look(t, p))
}

func TestProcessesOfThisHost(t *testing.T) {
	sleeper(t, "keepvip-test-counted")
	sleeper(t, "keepvip-test-counted")
	assert.Equal(t, "2 of keepvip-test-counted", look(t, Process(config.ListedCheck{Process: "keepvip-test-counted", Quorum: 2, QuorumMax: 2})).Reason)
}
