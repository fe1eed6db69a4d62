//go:build e2e

package watches

import (
	"fmt"
	"os"
	"testing"

	"github.com/keepvip/keepvip/netns-tests/lab"
)

// shared is what all tests use.
var shared struct {
	host *lab.Host
	bin  string // directory of Kubernetes' and etcd's programs
}

func TestMain(m *testing.M) {
	shared.host = lab.Enter()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	defer shared.host.Close()
	if shared.bin = os.Getenv("KEEPVIP_E2E_BIN"); shared.bin == "" {
		fmt.Fprintln(os.Stderr, "e2e: KEEPVIP_E2E_BIN is not set: run `make e2e-watches`")
		return 1
	}
	return m.Run()
}
