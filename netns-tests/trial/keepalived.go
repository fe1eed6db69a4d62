package trial

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

// RunGuideKeepalived runs Debian's keepalived with the file of kubeadm's
// high-availability guide, its check script included.
func RunGuideKeepalived(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return RunKeepalivedFile(n, try.Get(WriteGuideFile(n, routers[0])))
}

// RunConverted runs keepvip with the file that was made of the node's
// keepalived.conf: see [ConvertedFile].
func RunConverted(n *lab.Node, _ ...Router) (*lab.Process, error) {
	return Keepvip{}.Run(n, "--config", ConvertedFile(n))
}

// ConvertedFile is where the node's converted configuration is.
func ConvertedFile(n *lab.Node) string { return n.Path("keepvip.yaml") }

// WriteGuideFile writes the guide's keepalived.conf for a node, and the check
// script that it names, and returns its path. The first node says MASTER there.
func WriteGuideFile(n *lab.Node, r Router) (string, error) {
	return WriteScriptFile(n, r, "  interval 3\n  weight -2\n  fall 10\n  rise 2\n")
}

// WriteScriptFile is [WriteGuideFile] with other values of the script.
func WriteScriptFile(n *lab.Node, r Router, values string) (_ string, err error) {
	defer try.Catch(&err)
	script := try.Get(n.WriteFile("check_apiserver.sh", fmt.Sprintf("#!/bin/sh\n[ ! -e %q ]\n", n.Path("unhealthy")), 0o755))
	state := "BACKUP"
	if n.ID == 1 {
		state = "MASTER"
	}
	return n.WriteFile("keepalived.conf", fmt.Sprintf(`! /etc/keepalived/keepalived.conf
! Configuration File for keepalived
global_defs {
    router_id LVS_DEVEL
}
vrrp_script check_apiserver {
  script %q
%s}

vrrp_instance VI_1 {
    state %s
    interface %s
    virtual_router_id %d
    priority %d
    authentication {
        auth_type PASS
        auth_pass %s
    }
    virtual_ipaddress {
        %s
    }
    track_script {
        check_apiserver
    }
}
`, script, values, state, n.NICs[0].Name, r.VRID, r.Priority, r.Password, r.Addresses[0]), 0o644)
}

// SetHealth makes the check script of [WriteGuideFile] pass or fail on the node.
func SetHealth(n *lab.Node, healthy bool) error {
	if !healthy {
		return try.Err(n.WriteFile("unhealthy", "", 0o644))
	}
	if err := os.Remove(n.Path("unhealthy")); err != nil {
		return fmt.Errorf("trial: make %s healthy: %w", n.Label, err)
	}
	return nil
}

// CrossingWeights is a group whose priorities cross each other while checks fail: 150, 120 and 90, less 70.
func CrossingWeights(runs ...Runner) Config {
	return Config{
		Product:    PerNode{Runners: runs, Flavor: Flavor{Version: 2, Password: "42"}},
		Priorities: []int{150, 120, 90},
		Interval:   time.Second,
	}
}

const crossing = "  interval 1\n  weight -70\n  fall 2\n  rise 2\n"

// RunCrossingKeepalived runs Debian's keepalived in the group of [CrossingWeights].
func RunCrossingKeepalived(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return RunKeepalivedFile(n, try.Get(WriteScriptFile(n, routers[0], crossing)))
}

// RunCrossingKeepvip runs keepvip with the same file as it is.
func RunCrossingKeepvip(n *lab.Node, routers ...Router) (_ *lab.Process, err error) {
	defer try.Catch(&err)
	return KeepvipWith(n, try.Get(WriteScriptFile(n, routers[0], crossing)))
}

// Scenario is a check script of a keepalived.conf, and how its runs end.
type Scenario struct {
	ID         int // from 1: its VRID, and the last part of its address less 100
	Rise, Fall int
	Interval   int // s
	Weight     int
	InitFail   bool
	Exits      []int // of one run after the other; later ones end as the last
}

const (
	// scenarioTime is for how long the ends of the runs differ.
	scenarioTime = 12 * time.Second
	// afterEnds is how many more runs decide at most: as many as rise and fall may be, and one that begins when they have.
	afterEnds = 3 + 1
)

// Scenarios makes n of them.
func Scenarios(seed uint64, n int) []Scenario {
	r := rand.New(rand.NewPCG(seed, 20))
	all := make([]Scenario, 0, n)
	for i := range n {
		s := Scenario{ID: i + 1, Rise: 1 + r.IntN(3), Fall: 1 + r.IntN(3), Interval: 1 + r.IntN(2), InitFail: r.IntN(4) == 0}
		s.Weight = []int{0, -2, 2, -20, 20, -60, 60, -253, 253, 0}[r.IntN(10)]
		for exit := r.IntN(4) / 3; len(s.Exits) < int(scenarioTime.Seconds())/s.Interval; exit = 1 - exit {
			for range 1 + r.IntN(s.Rise+s.Fall) {
				s.Exits = append(s.Exits, exit)
			}
		}
		all = append(all, s)
	}
	return all
}

// Address is the virtual address of the scenario.
func (s Scenario) Address() netip.Addr { return netip.AddrFrom4([4]byte{10, 77, 0, byte(100 + s.ID)}) }

// Over tells whether the script was run on that node so often that nothing can change any more.
func (s Scenario) Over(n *lab.Node) bool {
	count, err := os.ReadFile(n.Path(s.count()))
	if err != nil {
		return false
	}
	runs, err := strconv.Atoi(strings.TrimSpace(string(count)))
	return err == nil && runs >= len(s.Exits)+afterEnds
}

func (s Scenario) count() string { return fmt.Sprintf("count.%d", s.ID) }

// script writes the script into the node's directory. It knows by a file how often it was run.
func (s Scenario) script(n *lab.Node) (_ string, err error) {
	defer try.Catch(&err)
	count := try.Get(n.WriteFile(s.count(), "0\n", 0o666))
	exits := strings.Trim(fmt.Sprint(s.Exits), "[]")
	text := fmt.Sprintf("#!/bin/sh\nread n < %[1]q\necho $((n+1)) > %[1]q\nset -- %[2]s\n[ $n -lt $# ] || n=$(($#-1))\nshift $n\nexit $1\n", count, exits)
	return n.WriteFile(fmt.Sprintf("check.%d.sh", s.ID), text, 0o755)
}

const scenarioHead = "global_defs {\n router_id %s\n vrrp_version 3\n enable_script_security\n script_user nobody\n}\n"

// WriteScenarios writes the keepalived.conf of the node with the scripts.
func WriteScenarios(n *lab.Node, all []Scenario) (_ string, err error) {
	defer try.Catch(&err)
	var b strings.Builder
	fmt.Fprintf(&b, scenarioHead, n.Label)
	for _, s := range all {
		script := try.Get(s.script(n))
		fmt.Fprintf(&b, "vrrp_script check_%d {\n script %q\n interval %d\n timeout 60\n weight %d\n rise %d\n fall %d\n%s}\n", s.ID, script, s.Interval, s.Weight, s.Rise, s.Fall,
			map[bool]string{true: " init_fail\n"}[s.InitFail])
		fmt.Fprintf(&b, "vrrp_instance VI_%d {\n state BACKUP\n interface %s\n virtual_router_id %d\n priority 100\n advert_int 1\n", s.ID, n.NICs[0].Name, s.ID)
		fmt.Fprintf(&b, " virtual_ipaddress {\n  %s\n }\n track_script {\n  check_%d\n }\n}\n", s.Address(), s.ID)
	}
	return n.WriteFile("keepalived.conf", b.String(), 0o644)
}

// KeepvipWith runs keepvip with the same file as it is.
func KeepvipWith(n *lab.Node, conf string) (*lab.Process, error) {
	return Keepvip{}.Run(n, "--keepalived-conf", conf)
}
