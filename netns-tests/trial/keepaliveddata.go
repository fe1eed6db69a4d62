package trial

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// KeepalivedID is what lines with @id are for in the files that [KeepalivedData] reads.
const KeepalivedID = "node"

// KeepalivedData is what Debian's keepalived says of a file on SIGUSR1: its data file, or that of its first process where nothing of VRRP is
// configured. It is "" where keepalived does not start with the file. log is what it said meanwhile.
func KeepalivedData(n *lab.Node, path string) (data, log string, err error) {
	defer try.Catch(&err)
	files := map[string]string{"Startup complete": n.Path("keepalived.data"), "no configuration to run": n.Path("keepalived_parent.data")}
	for _, f := range files {
		try.Get(n.Run("rm", "-f", f))
	}
	p := try.Get(startKeepalived(n, path, KeepalivedID, lab.Command{
		Name: "keepalived", Env: []string{"TMPDIR=" + n.Dir}, Args: []string{"keepalived", "--log-detail", "--no-syslog"},
	}))
	defer func() {
		if p.Alive() {
			_ = p.Kill9()
			<-p.Done()
		}
	}()
	from := ""
	if err := within(answerSoon, "keepalived reads "+path, func() bool {
		for said, file := range files {
			if strings.Contains(p.Log(), said) {
				from = file
			}
		}
		return from != "" || !p.Alive()
	}); err != nil || from == "" {
		return "", p.Log(), err
	}
	if err := p.Signal(unix.SIGUSR1); err != nil {
		return "", p.Log(), nil // it has ended
	}
	err = within(answerSoon, "keepalived dumps "+path, func() bool {
		text, err := os.ReadFile(from)
		data = string(text)
		begun := strings.Contains(data, "------< Interfaces >------") || strings.Contains(data, " umask = ") && strings.HasSuffix(from, "_parent.data")
		if err != nil || !begun || isOpen(from) {
			return false
		}
		text, err = os.ReadFile(from) // what was written until it was closed
		data = string(text)
		return err == nil
	})
	return data, p.Log(), err
}

// answerSoon bounds waits that nothing is said by.
const answerSoon = time.Minute

// isOpen tells whether a process has the file open, and so may still write to it.
func isOpen(path string) bool {
	descriptors, _ := filepath.Glob("/proc/[0-9]*/fd/*")
	return slices.ContainsFunc(descriptors, func(d string) bool {
		to, err := os.Readlink(d)
		return err == nil && to == path
	})
}

// within is [until] where nobody asks how long it took.
func within(limit time.Duration, what string, done func() bool) error {
	return try.Err(until(limit, what, done))
}
