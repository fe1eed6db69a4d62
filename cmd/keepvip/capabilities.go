package main

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// needed are the capabilities without which nothing works.
var needed = []struct {
	bit  int
	name string
}{
	{unix.CAP_NET_ADMIN, "NET_ADMIN"},
	{unix.CAP_NET_RAW, "NET_RAW"},
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
