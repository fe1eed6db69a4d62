//go:build netns

package netnstests

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/lint"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

var (
	mutateFor  = flag.Duration("keepalived-fuzz", 2*time.Second, "for how long mutated keepalived.conf files are read by keepalived and by keepvip")
	mutateSeed = flag.Uint64("keepalived-seed", 1, "of the mutations; 0 for a new one")
)

// dangerous are lines that no mutation may have a part of, and programs that are not on this host.
var dangerous = regexp.MustCompile(`(?m)^.*(kill|pidof|net_namespace|process_monitor|reload_time|startup_script|shutdown_script|include|rm ).*$|/(etc|usr/local|opt|var)/[^" ]*`)

// mutator makes files that keepalived may or may not take of files that it knows.
type mutator struct {
	*rand.Rand
	seeds [][]string
	words []string
}

// newMutator begins with those files that keepalived takes.
func newMutator(t *testing.T, n *lab.Node, seed uint64) *mutator {
	t.Helper()
	m := &mutator{Rand: rand.New(rand.NewPCG(seed, 0))}
	for _, path := range keepalivedFiles(t) {
		lines := strings.Split(dangerous.ReplaceAllString(string(must(os.ReadFile(path))(t)), "/bin/true"), "\n")
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == "/bin/true" })
		if must(takenByKeepalived(n, must(n.WriteFile("seed.conf", secured+strings.Join(lines, "\n"), 0o644))(t)))(t) {
			m.seeds = append(m.seeds, lines)
		}
		m.words = append(m.words, strings.Fields(strings.Join(lines, " "))...)
	}
	require.NotEmpty(t, m.seeds)
	m.words = append(m.words, "{", "}", "0", "-1", "256", `"`, "'", "#", "!", "$X", "${X}", "@node", "@other", "~SEQ(A,1,2)", "no", "off", "1.5", "reverse")
	return m
}

func (m *mutator) word() string { return m.words[m.IntN(len(m.words))] }

func (m *mutator) file() string {
	lines := slices.Clone(m.seeds[m.IntN(len(m.seeds))])
	for range 1 + m.IntN(2) {
		if len(lines) == 0 {
			break
		}
		i, j := m.IntN(len(lines)), m.IntN(len(lines))
		switch m.IntN(8) {
		case 0:
			lines = slices.Delete(lines, i, i+1)
		case 1:
			lines = slices.Insert(lines, i, lines[j])
		case 2:
			lines[i], lines[j] = lines[j], lines[i]
		case 3, 4:
			if w := strings.Fields(lines[i]); len(w) > 0 {
				w[m.IntN(len(w))] = m.word()
				lines[i] = strings.Join(w, " ")
			}
		case 5:
			if l := lines[i]; l != "" {
				k := m.IntN(len(l))
				lines[i] = l[:k] + string(" {}\"'#!$@~x0"[m.IntN(12)]) + l[k+1:]
			}
		case 6:
			lines[i] += " " + m.word()
		case 7:
			other := m.seeds[m.IntN(len(m.seeds))]
			lines = slices.Insert(lines, i, other[m.IntN(len(other))])
		}
	}
	return secured + strings.Join(lines, "\n")
}

// tally is what became of the mutated files.
type tally struct {
	sync.Mutex
	made, refusedThere, refusedHere, notDumped, equal, differ int
}

// Mutated files that keepalived takes are read by keepvip as keepalived reads them, or refused with a reason.
func TestMutatedKeepalivedConfIsReadAsKeepalivedReadsIt(t *testing.T) {
	t.Parallel()
	seed := *mutateSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	var sum tally
	var both sync.WaitGroup
	for i := range uint64(2) {
		n := withLinks(t)
		m := newMutator(t, n, seed+i)
		both.Go(func() {
			for end := time.Now().Add(*mutateFor); time.Now().Before(end); {
				if err := sum.one(t, n, m.file()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	both.Wait()
	t.Logf("seed %d: %d files, of which keepalived -t refuses %d; of the others %d are refused here, %d not dumped, %d read alike, %d differ",
		seed, sum.made, sum.refusedThere, sum.refusedHere, sum.notDumped, sum.equal, sum.differ)
	assert.Zero(t, sum.differ)
	assert.NotZero(t, sum.equal)
}

// one gives a file to both.
func (y *tally) one(t *testing.T, n *lab.Node, text string) error {
	path, err := n.WriteFile("mutated.conf", text, 0o644)
	if err != nil {
		return err
	}
	count := func(what *int) { y.Lock(); defer y.Unlock(); *what++ }
	count(&y.made)
	defer clean(n)
	taken, err := takenByKeepalived(n, path)
	if err != nil {
		return fmt.Errorf("%w, with\n%s", err, text)
	}
	if !taken {
		count(&y.refusedThere)
		return nil
	}
	cfg, err := keepalived.Read(path, trial.KeepalivedID, syntax.Disk{})
	if err != nil {
		return err
	}
	for _, f := range lint.Lint(cfg) {
		if f.Severity == keepalived.Fault {
			count(&y.refusedHere)
			return nil
		}
	}
	data, _, err := trial.KeepalivedData(n, path)
	if err != nil {
		return err
	}
	if data == "" {
		count(&y.notDumped)
		return nil
	}
	theirs, ours := facts(t, path, data)
	if slices.Equal(theirs, ours) {
		count(&y.equal)
		return nil
	}
	count(&y.differ)
	kept := filepath.Join(os.TempDir(), fmt.Sprintf("keepalived-differs-%d-%d.conf", os.Getpid(), y.differ))
	if err := os.WriteFile(kept, []byte(text), 0o600); err != nil {
		return err
	}
	t.Errorf("%s: keepalived alone says %q, keepvip alone %q", kept, without(theirs, ours), without(ours, theirs))
	return nil
}

// secured is before each file: without it keepalived -t says no more of it than that its scripts are not secure.
const secured = "global_defs {\n enable_script_security\n script_user root\n}\n"

// takenByKeepalived tells whether keepalived -t finds nothing wrong with a file. Where a list has another block in it, it reads on for ever.
func takenByKeepalived(n *lab.Node, path string) (bool, error) {
	p, err := n.StartCommand(lab.Command{Name: "config-test", Env: []string{"TMPDIR=" + n.Dir}, Args: []string{
		"keepalived", "--config-test", "--vrrp", "--use-file", path, "--config-id", trial.KeepalivedID,
	}})
	if err != nil {
		return false, err
	}
	select {
	case <-p.Done():
	case <-time.After(3 * time.Second):
		err := p.Kill9()
		<-p.Done()
		return false, err
	}
	code, err := p.Wait(0)
	return code == 0, err
}

func without(all, known []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(f string) bool { return slices.Contains(known, f) })
}

// clean takes away the logs that thousands of runs would fill the directory of the node with.
func clean(n *lab.Node) {
	logs, _ := filepath.Glob(n.Path("*.std*"))
	for _, l := range logs {
		_ = os.Remove(l)
	}
}
