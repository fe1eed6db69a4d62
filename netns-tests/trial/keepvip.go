package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// Keepvip runs the built binary. The zero value finds it with [Binary].
type Keepvip struct {
	Path         string   // of the binary
	Args         []string // added to the flags of every node
	Metrics      string   // host:port of its metrics, "" = none
	Capabilities []string // if not nil, all the daemon may have
	// Ahead is how far the wall clock of each node's daemon is ahead of the machine's; none: they have the machine's.
	Ahead []time.Duration
}

func (Keepvip) Name() string { return "keepvip" }

func (k Keepvip) Start(n *lab.Node, s Settings) (*lab.Process, error) {
	args := []string{
		"--priority", strconv.Itoa(s.Priority), "--advertisement-interval", s.Interval.String(), "--interface", n.NICs[0].Name,
	}
	for _, a := range s.Addresses {
		args = append(args, "--vip", a.String())
	}
	if s.VRID != 0 {
		args = append(args, "--vrid", strconv.Itoa(s.VRID))
	}
	if !s.API {
		args = append(args, "--check", "none")
	}
	return k.Run(n, args...)
}

// Run starts `keepvip run` on the node with its own socket and state directory.
func (k Keepvip) Run(n *lab.Node, args ...string) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	argv := append([]string{try.Get(k.binary()), "run"}, k.Paths(n)...)
	argv = append(append(argv, args...), k.Args...)
	command := lab.Command{Name: "keepvip", Args: argv, Capabilities: k.Capabilities}
	if k.Ahead != nil {
		command.Clock = &lab.Clock{Ahead: k.Ahead[n.ID-1]}
	}
	return n.StartCommand(command)
}

// Paths are the flags that keep the files of several nodes apart.
func (k Keepvip) Paths(n *lab.Node) []string {
	metrics := k.Metrics
	if metrics == "" {
		metrics = "off"
	}
	return []string{"--socket", Socket(n), "--state-dir", n.Path("state"), "--metrics", metrics}
}

// Socket is the control socket of the node's keepvip.
func Socket(n *lab.Node) string { return n.Path("run/keepvip.sock") }

// Command runs a keepvip command to its end, for example `version`, and returns
// the process with its outputs and its exit status.
func (k Keepvip) Command(n *lab.Node, args ...string) (_ *lab.Process, _ int, err error) {
	defer try.Catch(&err)
	p := try.Get(k.BeginCommand(n, args...))
	code, err := p.Wait(SettleLimit)
	return p, code, err
}

// Ask runs a keepvip command that asks the daemon on n, which must not fail, and returns what it prints.
func (k Keepvip) Ask(n *lab.Node, args ...string) (string, error) {
	p, code, err := k.Command(n, append(args, "--socket", Socket(n))...)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit status %d: %s", code, strings.TrimSpace(p.Log()))
	}
	if err != nil {
		return "", fmt.Errorf("trial: keepvip %s on %s: %w", strings.Join(args, " "), n.Label, err)
	}
	return strings.TrimSpace(p.Stdout()), nil
}

// order is [Keepvip.Ask] where nobody reads what it prints.
func (k Keepvip) order(n *lab.Node, args ...string) error { return try.Err(k.Ask(n, args...)) }

// terminated ends the daemon on the node by SIGTERM, after which its exit status must be 0.
func (g *Group) terminated(n *lab.Node) error {
	code, err := g.Daemon(n).Terminate(10 * time.Second)
	if _, panics := g.Product.(LeaseVIP); err == nil && code != 0 && !panics {
		err = fmt.Errorf("exit status %d after SIGTERM: %s", code, g.Daemon(n).Log())
	}
	return err
}

// BeginCommand starts a keepvip command in n, and does not wait for its end.
func (k Keepvip) BeginCommand(n *lab.Node, args ...string) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return n.Start("keepvip-command", append([]string{try.Get(k.binary())}, args...)...)
}

// Status is what the lab reads of the status of a keepvip, which `keepvip status -o json` prints.
type Status struct {
	VIPs []VIPStatus `json:"vips"`
}

// VIPStatus is the state of one virtual address on one node.
type VIPStatus struct {
	Name     string  `json:"name"`
	State    string  `json:"state"`
	Desired  string  `json:"desired"`
	Observed string  `json:"observed"`
	Holder   string  `json:"holder"`
	Reason   string  `json:"reason"`
	Eligible bool    `json:"eligible"`
	Lacking  string  `json:"lacking"`
	Silent   bool    `json:"silent"`
	Priority int     `json:"priority"`
	VRID     int     `json:"vrid"`
	Lateness float64 `json:"latenessSeconds"`
	Check    struct {
		State  string `json:"state"`
		Reason string `json:"reason"`
	} `json:"check"`
	Checks []struct {
		Probes int    `json:"probes"`
		State  string `json:"state"`
		Falls  int    `json:"falls"`
	} `json:"checks"`
	Counters struct {
		Received        int            `json:"advertsReceived"`
		MembersRejected map[string]int `json:"membersRejected"`
		Restored        int            `json:"addressesRestored"`
	} `json:"counters"`
	// Detector is how the node finds out that the holder is gone, where that is not by its advertisements alone.
	Detector *struct {
		Plain string `json:"plain"`
	} `json:"detector"`
	Unfit     string      `json:"unfit"`
	Conflicts []Conflict  `json:"conflicts"`
	Fence     FenceStatus `json:"fence"`
	Members   []Member    `json:"members"`
}

// Member is another node, or this one, as a node sees it.
type Member struct {
	Address  string `json:"address"`
	Self     bool   `json:"self"`
	State    string `json:"state"`
	Unfit    string `json:"unfit"`
	Lifeline bool   `json:"lifeline"`
	Version  string `json:"version"` // of its software; empty while it has not said anything itself
}

// FenceStatus is what the node's keepvip says of its fence.
type FenceStatus struct {
	Standing bool   `json:"standing"`
	Reason   string `json:"reason"`
	Repairs  int    `json:"repairs"`
}

// Status asks the node's keepvip.
func (k Keepvip) Status(n *lab.Node) (Status, error) {
	var s Status
	err := askStatus(n, answerLimit, &s)
	if err == nil && len(s.VIPs) == 0 { // no daemon of these tests is without one, and the callers look at the first
		err = fmt.Errorf("trial: status of the keepvip on %s: no entry", n.Label)
	}
	return s, err
}

// answerLimit is how long the commands wait for an answer.
const answerLimit = 10 * time.Second

// AskStatus fills into with the status that the node's keepvip tells at its socket.
func AskStatus(n *lab.Node, into any) error { return askStatus(n, answerLimit, into) }

// askStatus fills into with the status that the node's keepvip tells at its socket within the limit. To start a command for each question would keep
// the processors busy: what the commands print has tests of its own.
func askStatus(n *lab.Node, limit time.Duration, into any) error {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", Socket(n))
	}
	client := http.Client{Timeout: limit, Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	answer, err := client.Get("http://keepvip/v1/status")
	if err == nil {
		defer answer.Body.Close()
		if err = json.NewDecoder(answer.Body).Decode(into); answer.StatusCode != http.StatusOK {
			err = errors.New(answer.Status)
		}
	}
	if err != nil {
		return fmt.Errorf("trial: status of the keepvip on %s: %w", n.Label, err)
	}
	return nil
}

func (k Keepvip) binary() (string, error) {
	if k.Path != "" {
		return k.Path, nil
	}
	return Binary()
}

// Binary finds the program under test: $KEEPVIP_BINARY, or bin/keepvip of the
// repository that the working directory is in.
func Binary() (_ string, err error) {
	defer try.Catch(&err)
	if path := os.Getenv("KEEPVIP_BINARY"); path != "" {
		return filepath.Abs(path)
	}
	path := filepath.Join(try.Get(Root()), "bin", "keepvip")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("trial: no keepvip to test: run `make build` first: %w", err)
	}
	return path, nil
}

// Root is the directory of go.mod at or above the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("trial: find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("trial: no go.mod at or above the working directory")
		}
		dir = up
	}
}

// prefix is the host prefix that an address is bound with.
func prefix(a netip.Addr) netip.Prefix { return netip.PrefixFrom(a, a.BitLen()) }
