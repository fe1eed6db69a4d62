//go:build e2e

package watches

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

func open(t *testing.T, flags ...string) *cluster {
	t.Helper()
	c := must(newCluster(shared.host, shared.bin, flags...))(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(c.Logs(), c.apiserverLogs())
		}
		c.Close()
	})
	require.NoError(t, c.write(0))
	return c
}

// writing changes the object ten times a second until stop is called, which returns the last number.
func (c *cluster) writing(t *testing.T) (stop func() int) {
	t.Helper()
	end, last := make(chan struct{}), make(chan int, 1)
	var failed error
	go func() {
		n := 0
		defer func() { last <- n }()
		for ; ; n++ {
			select {
			case <-end:
				return
			case <-time.After(100 * time.Millisecond):
			}
			if failed = c.write(n + 1); failed != nil {
				return
			}
		}
	}()
	return func() int {
		close(end)
		n := <-last
		require.NoError(t, failed)
		return n
	}
}

// watch begins watches of clients on the link and behind the router, through the address.
func (c *cluster) watch(t *testing.T, clients, each int, ask time.Duration) (all []*lab.Watches) {
	t.Helper()
	for _, from := range []*lab.Namespace{c.Lab.Client.Namespace, c.Lab.OffLink.Namespace} {
		all = append(all, must(c.Lab.Watch(from, lab.WatchesConfig{
			Target: netip.AddrPortFrom(lab.VIP4, apiserverPort), Clients: clients, Each: each, Path: watchPath, TLS: c.tls,
			Ask: objectPath + "/" + objectName, AskEvery: ask,
		}))(t))
	}
	return all
}

// kubectl is a kubectl that watches, with what it says.
type kubectl struct {
	cmd  *exec.Cmd
	out  string
	done chan struct{}
}

// kubectls are so many on the client, of the directory with the other programs, or of the machine.
func (c *cluster) kubectls(t *testing.T, count int) (all []*kubectl) {
	t.Helper()
	program := filepath.Join(shared.bin, "kubectl")
	if _, err := os.Stat(program); err != nil {
		program = "kubectl"
	}
	config := must(c.kubeconfig())(t)
	for i := range count {
		k := &kubectl{out: filepath.Join(c.Lab.Dir, fmt.Sprintf("kubectl.%d", i)), done: make(chan struct{})}
		out := must(os.Create(k.out))(t)
		k.cmd = exec.Command(program, "--kubeconfig", config, "get", "configmap", "--watch", "-o", `jsonpath={.data.n}{"\n"}`, "--field-selector", "metadata.name="+objectName)
		k.cmd.Env = append(os.Environ(), "HOME="+c.Lab.Dir)
		k.cmd.Stdout, k.cmd.Stderr = out, out
		k.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		require.NoError(t, c.Lab.Client.Do(k.cmd.Start))
		require.NoError(t, out.Close())
		go func() {
			_ = k.cmd.Wait()
			close(k.done)
		}()
		t.Cleanup(k.end)
		all = append(all, k)
	}
	for _, k := range all {
		require.Eventually(t, func() bool { return len(k.said()) > 0 }, 30*time.Second, 50*time.Millisecond, "kubectl begins to watch")
	}
	return all
}

func (k *kubectl) end() {
	_ = k.cmd.Process.Kill()
	<-k.done
}

func (k *kubectl) said() []string {
	text, _ := os.ReadFile(k.out)
	return strings.Fields(string(text))
}

// TestWatchesOverHandoverAndDrain: three real apiservers, and clients that hold watches, made as client-go makes them, and kubectl itself.
func TestWatchesOverHandoverAndDrain(t *testing.T) {
	c := open(t)
	all := c.watch(t, 20, 4, 0)
	kubectls := c.kubectls(t, 6)
	opened := 0
	for _, w := range all {
		opened += w.Connections()
	}
	stop := c.writing(t)
	holder := must(c.SettleAny())(t)
	member := c.Lab.Nodes[holder.ID%3]
	for _, step := range []struct {
		node *lab.Node
		verb string
	}{{holder, "handover"}, {holder, "resume"}, {member, "drain"}, {member, "resume"}} {
		require.NoError(t, c.verb(step.node, step.verb))
		time.Sleep(1500 * time.Millisecond)
		now := must(c.SettleAny())(t)
		if step.verb == "handover" {
			assert.NotEqual(t, holder.Label, now.Label, "the address has moved")
		}
	}
	last := stop()
	for _, k := range kubectls {
		assert.Eventually(t, func() bool { said := k.said(); return len(said) > 0 && said[len(said)-1] == fmt.Sprint(last) }, 5*time.Second, 50*time.Millisecond)
		select {
		case <-k.done:
			assert.Fail(t, "a kubectl has ended", "%v", k.said())
		default:
		}
		assert.Len(t, k.said(), last+1, "one line for each change, and the object as it was")
	}
	c.judge(t, all, last)
	again := -opened
	for _, w := range all {
		again += w.Connections()
	}
	assert.Zero(t, again, "connections were opened again")
	c.judgeAudit(t)
}

// TestGoawayMovesClientsAndKeepsTheirWatches: what --print-kubeadm adds to an apiserver, with the greatest chance that it takes.
func TestGoawayMovesClientsAndKeepsTheirWatches(t *testing.T) {
	c := open(t, "--goaway-chance", "0.02")
	all := c.watch(t, 20, 2, 200*time.Millisecond)
	stop := c.writing(t)
	time.Sleep(15 * time.Second)
	last := stop()
	connections := 0
	for _, w := range all {
		connections += w.Connections()
	}
	t.Logf("40 clients have opened %d connections", connections)
	assert.Greater(t, connections, 60, "clients were told to connect again")
	c.judge(t, all, last)
}

// judge ends the watches: none may have begun again, or have missed anything.
func (c *cluster) judge(t *testing.T, all []*lab.Watches, last int) {
	t.Helper()
	var wait sync.WaitGroup
	reports := make([]lab.WatchesReport, len(all))
	for i, w := range all {
		wait.Go(func() {
			w.Await(last, 5*time.Second)
			reports[i] = w.Stop()
		})
	}
	wait.Wait()
	by := map[string]int{}
	for _, r := range reports {
		maps.Copy(by, r.ByNode)
		t.Logf("%s: %d watches by %v, %d events of %d changes, the longest silence %v, %d began again", r.Client, r.Count, r.ByNode, r.Events, last, r.Silence.Round(time.Millisecond), len(r.Restarts))
		assert.Empty(t, r.Restarts)
		assert.Zero(t, r.Missed, "events")
		assert.GreaterOrEqual(t, r.Events, r.Count*last)
	}
	assert.Len(t, by, 3, "all apiservers serve")
}

// judgeAudit: apiservers see their clients' own addresses.
func (c *cluster) judgeAudit(t *testing.T) {
	t.Helper()
	lines := must(c.auditLines())(t)
	by := map[string]int{}
	for _, line := range lines {
		var event struct {
			SourceIPs []string `json:"sourceIPs"`
		}
		require.NoError(t, json.Unmarshal(line, &event), "%s", line)
		require.Len(t, event.SourceIPs, 1)
		by[event.SourceIPs[0]]++
	}
	t.Logf("watches in the audit logs by client: %v", by)
	assert.Len(t, by, 2)
	assert.GreaterOrEqual(t, by[c.Lab.Client.Address.String()], 86, "80 watches, and those of kubectl")
	assert.GreaterOrEqual(t, by[c.Lab.OffLink.Address.String()], 80)
}

// must is what a step returns, which is required not to fail: must(c.SettleAny())(t).
func must[T any](got T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		require.NoError(t, err)
		return got
	}
}
