package trial

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Versions runs another build of keepvip on each node.
type Versions struct {
	Paths []string // of the binaries, by node; "" is the one under test
}

func (Versions) Name() string { return "keepvip, two versions" }

func (v Versions) Start(n *lab.Node, s Settings) (*lab.Process, error) {
	return Keepvip{Path: v.Paths[n.ID-1]}.Start(n, s)
}

// Upgrade replaces one keepvip after the other by the build at path, as an operator does, while a client makes requests.
// A request that fails is made once more after retry. The group's product must be [Versions].
func Upgrade(path string, retry time.Duration) Fault {
	return func(g *Group) (*Result, error) {
		v, ok := g.Product.(Versions)
		if !ok {
			return nil, fmt.Errorf("trial: upgrade: the group runs %s alone", g.Product.Name())
		}
		return g.rolling("rolling upgrade of keepvip", retry, func(n *lab.Node) error {
			if err := terminate(g.Daemon(n)); err != nil {
				return err
			}
			v.Paths[n.ID-1] = path
			return g.Start(n)
		})
	}
}

// Edit is a change of one source file, which a build sees in place of the file.
type Edit struct{ File, Old, New string }

// What another version of the protocol of the members could be.
var (
	// MoreFields says more in the same format: an unknown field, longer fields, unknown flags, a later revision.
	MoreFields = []Edit{
		{"members/message.go", "const Revision = 8\n", "const Revision = 9\n"},
		{"members/append.go", "	if m.Type != Hello {\n", "	b = envelope.AppendField(b, uint8(200), []byte(\"said later\"))\n	if m.Type != Hello {\n"},
		{"members/append.go", "appendSpread(nil, f.Spread))", "append(appendSpread(nil, f.Spread), \"more\"...))"},
		{"members/fields.go", "	if f.Fit {\n", "	flags = 0xc0\n	if f.Fit {\n"},
		{"members/fields.go", "	return binary.BigEndian.AppendUint64(b, f.Epoch)\n", "	return append(binary.BigEndian.AppendUint64(b, f.Epoch), \"more\"...)\n"},
		{"members/fields.go", "	return binary.BigEndian.AppendUint64(b, d.Nonce)\n", "	return append(binary.BigEndian.AppendUint64(b, d.Nonce), \"more\"...)\n"},
	}
	// AnotherFormat is one that no other version reads.
	AnotherFormat = []Edit{{"members/envelope/envelope.go", "\tVersion = 1\n", "\tVersion = 2\n"}}
)

// BuildVersion builds keepvip of this tree with the edits, as a program that calls itself version, into dir.
func BuildVersion(dir, version string, edits []Edit) (_ string, err error) {
	defer try.Catch(&err)
	root := try.Get(Root())
	overlay := try.Get(overlay(root, dir, edits))
	path := filepath.Join(dir, "keepvip-"+version)
	cmd := exec.Command("go", "build", "-trimpath", "-overlay", overlay, "-ldflags", "-s -w -X main.version="+version, "-o", path, "./cmd/keepvip")
	cmd.Dir, cmd.Env = root, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("trial: build a version: %w: %s", err, out)
	}
	return path, nil
}

// overlay writes the edited files and the list of them that `go build -overlay` reads.
func overlay(root, dir string, edits []Edit) (_ string, err error) {
	defer try.Catch(&err)
	texts := map[string]string{}
	for _, e := range edits {
		path := filepath.Join(root, e.File)
		if _, ok := texts[path]; !ok {
			b, err := os.ReadFile(path)
			if err != nil {
				return "", fmt.Errorf("trial: build a version: %w", err)
			}
			texts[path] = string(b)
		}
		if strings.Count(texts[path], e.Old) != 1 {
			return "", fmt.Errorf("trial: build a version: %s has not exactly one %q", e.File, e.Old)
		}
		texts[path] = strings.Replace(texts[path], e.Old, e.New, 1)
	}
	replaced := map[string]string{}
	for path, text := range texts {
		replaced[path] = filepath.Join(dir, strings.ReplaceAll(strings.TrimPrefix(path, root), "/", "_"))
		if err := os.WriteFile(replaced[path], []byte(text), 0o600); err != nil {
			return "", fmt.Errorf("trial: build a version: %w", err)
		}
	}
	list := try.Get(json.Marshal(map[string]any{"Replace": replaced}))
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}

// shutdownDelay is --shutdown-delay-duration of the apiservers that Rolling restarts.
const shutdownDelay = 5 * time.Second

// RollingDaemons restarts the daemons of all nodes, one after the other, while a client makes requests.
func RollingDaemons(g *Group) (*Result, error) {
	return g.rolling("rolling restart of keepvip", AtOnce, func(n *lab.Node) error {
		if err := g.terminated(n); err != nil {
			return err
		}
		return g.Start(n)
	})
}

// RollingAPIServers does so with the apiservers, which say that they are being stopped for a while before they stop.
func RollingAPIServers(g *Group) (*Result, error) {
	return g.rolling("rolling restart of the apiservers", AtOnce, func(n *lab.Node) (err error) {
		defer try.Catch(&err)
		try.Do(n.API().Set(lab.APIShutdown, ""))
		time.Sleep(shutdownDelay)
		try.Do(n.API().Signal(unix.SIGKILL))
		try.Get(n.API().Wait(time.Second))
		return startAPI(n)
	})
}

// AtOnce is when a client makes a request again that has failed, if nothing may be lost.
const AtOnce = time.Millisecond

// rolling begins with the holder: then all nodes hold the address once, and the first of them twice at most. A request
// that fails is made once more after retry.
func (g *Group) rolling(name string, retry time.Duration, restart func(*lab.Node) error) (_ *Result, err error) {
	defer try.Catch(&err)
	var steps []time.Duration // when each node's turn began
	res := try.Get(g.run(name, lab.MeasureConfig{HTTPS: true, HTTPSRetry: retry}, func(m *lab.Measurement, holder *lab.Node) time.Duration {
		for i := range g.Lab.Nodes {
			n := g.Lab.Nodes[(holder.ID-1+i)%len(g.Lab.Nodes)]
			steps = append(steps, m.Mark("the turn of %s", n.Label))
			try.Do(restart(n))
			try.Do(g.healthy())
			time.Sleep(g.span())
		}
		return steps[0]
	}))
	for i, at := range steps {
		moves := res.Report.Takeovers(g.Addresses[0], at)
		if i+1 < len(steps) {
			moves -= res.Report.Takeovers(g.Addresses[0], steps[i+1])
		}
		res.MovesMost = max(res.MovesMost, moves)
	}
	for _, s := range res.Report.HTTPS {
		res.Failed, res.Resets, res.FailedTwice = res.Failed+s.Lost-s.Resets, res.Resets+s.Resets, res.FailedTwice+s.Twice
		res.addNote("%d requests, %d refused or timed out, %d reset, %d failed again %v", s.Sent, s.Lost-s.Resets, s.Resets, s.Twice, s.Failures)
	}
	return res, nil
}
