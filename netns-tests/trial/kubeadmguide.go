package trial

import (
	"fmt"
	"os"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

// The scripts of kubeadm's high-availability guide, and of [CrossingWeights].
const (
	guideScript    = "  interval 3\n  weight -2\n  fall 10\n  rise 2\n"
	crossingScript = "  interval 1\n  weight -70\n  fall 2\n  rise 2\n"
)

// Debian's keepalived with the file of kubeadm's guide, its check script included; and in the group of [CrossingWeights] keepalived, and keepvip with the
// same file as it is.
var (
	RunGuideKeepalived    = withConf(scripted(guideScript), RunKeepalivedFile)
	RunCrossingKeepalived = withConf(scripted(crossingScript), RunKeepalivedFile)
	RunCrossingKeepvip    = withConf(scripted(crossingScript), KeepvipWith)
)

// RunConverted runs keepvip with the file that was made of the node's
// keepalived.conf: see [ConvertedFile].
func RunConverted(n *lab.Node, _ ...Router) (*lab.Process, error) {
	return Keepvip{}.Run(n, "--config", ConvertedFile(n))
}

// ConvertedFile is where the node's converted configuration is.
func ConvertedFile(n *lab.Node) string { return n.Path("keepvip.yaml") }

// scripted writes the guide's keepalived.conf for a node, with these values of the check script that it names, and that script. The first node says
// MASTER there.
func scripted(values string) func(n *lab.Node, routers ...Router) (string, error) {
	return func(n *lab.Node, routers ...Router) (_ string, err error) {
		defer try.Catch(&err)
		r := routers[0]
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
}

// SetHealth makes the check script of the guide pass or fail on the node.
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
