//go:build netns

// Package netnstests runs the built keepvip as its users do, in network
// namespaces, and checks what a client and the host see. Bounds are wide: the
// figures are measured by cmd/bench.
package netnstests

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
	"github.com/keepvip/keepvip/netns-tests/try"
)

var host *lab.Host // one per process, made before any test runs

func TestMain(m *testing.M) {
	host = lab.Enter()
	host.MeasureLess()
	if err := ready(); err != nil {
		fmt.Fprintln(os.Stderr, "netns-tests:", err)
		os.Exit(1)
	}
	code := m.Run()
	host.Close()
	os.Exit(code)
}

// ready tells what is missing, before fifty tests fail for one reason.
func ready() error {
	if os.Geteuid() != 0 {
		return fmt.Errorf("these tests make network namespaces: run them as root (sudo make test)")
	}
	for _, tool := range []string{"ip", "nft", "setpriv", "keepalived", "curl", "tshark", "promtool", "haproxy", trial.FRRDir + "/vrrpd"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is missing: run `make deps`", tool)
		}
	}
	return try.Err(trial.Binary())
}
