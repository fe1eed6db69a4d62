package trial

import (
	"fmt"
	"os"
	"time"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/try"
)

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
