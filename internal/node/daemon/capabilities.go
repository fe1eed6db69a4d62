package daemon

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/base/program"
	"github.com/keepvip/keepvip/internal/config"
)

// needed are the capabilities without which nothing works.
var needed = []struct {
	bit  int
	name string
}{
	{unix.CAP_NET_ADMIN, "NET_ADMIN"},
	{unix.CAP_NET_RAW, "NET_RAW"},
}

// checkUsers refuses a program that could never run: with such a check no node would ever be fit, and such a hook would fail each time.
func checkUsers(cfg *config.Config) error {
	missing := program.CannotSwitchUser()
	if missing == nil || os.Getuid() != 0 { // a user may run programs as itself
		return nil
	}
	var errs []error
	for _, p := range cfg.Programs() {
		if p.AsRoot() {
			continue
		}
		errs = append(errs, fmt.Errorf("%s: %w; the unit of `keepvip manifest systemd` has them, "+
			"any other gets them by: systemctl edit keepvip, [Service], CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_KILL", p, missing))
	}
	return onHost(errors.Join(errs...))
}

func checkCapabilities() error {
	var data [2]unix.CapUserData
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	if err := unix.Capget(&header, &data[0]); err != nil {
		return fmt.Errorf("read this process's capabilities: %w", err)
	}
	var missing []string
	for _, c := range needed {
		if data[c.bit/32].Effective&(1<<(c.bit%32)) == 0 {
			missing = append(missing, c.name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return fmt.Errorf("the capabilities %s are missing: run as root, or grant them (systemd: AmbientCapabilities; pod: securityContext.capabilities.add)", strings.Join(missing, " and "))
}
