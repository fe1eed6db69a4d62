package trial

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

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
