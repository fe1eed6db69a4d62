//go:build netns

package netnstests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

func TestFailedReloadChangesNothingAndIsLogged(t *testing.T) {
	t.Parallel() // seconds of waiting for timers
	g := prepare(t, trial.Config{Lab: lab.Config{Nodes: 1}})
	n := g.Lab.Nodes[0]
	for i, name := range []string{"key1", "key2"} {
		must(n.WriteFile(name, strings.Repeat(fmt.Sprintf("%02d", i+1), 32)+"\n", 0o600))(t)
	}
	write := func(key int, rest string) string {
		t.Helper()
		path := must(n.WriteFile("keepvip.yaml", fmt.Sprintf("%skey: {id: %d, file: %s}\nvips:\n- {name: a, addresses: [%s], check: none%s",
			fileHead, key, n.Path(fmt.Sprintf("key%d", key)), lab.VIP4, rest), 0o644))(t)
		return path
	}
	p := must(trial.Keepvip{}.Run(n, "--config", write(1, "}\n")))(t)
	status := func() string {
		p, _ := mustTwo(trial.Keepvip{}.Command(n, "status", "-o", "json", "--socket", trial.Socket(n)))(t)
		var b bytes.Buffer
		require.NoError(t, json.Compact(&b, []byte(p.Stdout())))
		return b.String()
	}
	eventually(t, 10*time.Second, "active", func() bool {
		s, err := trial.Keepvip{}.Status(n) // an error until it listens
		return err == nil && s.VIPs[0].State == "active"
	})
	for _, rest := range []string{
		", election: raft}\nraft: {peers: [" + n.Address.String() + "], certificate: /none/c, privateKey: /none/k, ca: /none/ca}\n",
		"}\n- {name: b, addresses: [192.0.2.1], check: none, vrrp: {id: 9}}\n",
		", prio: 3}\n",
	} {
		write(2, rest)
		reload, code := mustTwo(trial.Keepvip{}.Command(n, "reload", "--socket", trial.Socket(n)))(t)
		assert.Equal(t, 1, code)
		assert.Empty(t, reload.Stdout())
		assert.Contains(t, p.Log(), fmt.Sprintf(`level=WARN msg="a command failed" command=reload uid=0 pid=%d error=`, reload.PID()))
		s := status()
		assert.Contains(t, s, `"signs":{"id":1,`)
		assert.NotContains(t, s, `"name":"b"`)
		assert.Contains(t, s, `"refused":{"at":`)
	}
	require.NoError(t, p.Signal(unix.SIGHUP))
	eventually(t, 5*time.Second, "SIGHUP has nobody to answer but the log", func() bool {
		return strings.Contains(p.Log(), `level=ERROR msg="configuration not reloaded; the old one stays in force" error=`)
	})
	assert.True(t, n.Holds(lab.VIP4))
}
