package kubeadm

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Hides names the setting by which the unit sees nothing of what others have at a path on the node: ProtectHome or PrivateTmp; "" where it sees
// it. PrivateTmp is off where keepvip itself needs to see something there.
func (cfg UnitConfig) Hides(p string) string {
	switch {
	case isIn(p, "/home", "/root", "/run/user"):
		return "ProtectHome"
	case isIn(p, "/tmp", "/var/tmp") && !cfg.sharesTmp():
		return "PrivateTmp"
	}
	return ""
}

// seen is what keepvip has to see as others see it.
func (cfg UnitConfig) seen() []string {
	out := []string{cfg.Binary, cfg.Socket, cfg.StateDir}
	if cfg.ConfigFile != "" {
		out = append(out, cfg.ConfigFile)
	}
	return slices.Concat(out, cfg.Files, cfg.Writable)
}

// sharesTmp tells that the unit has no directory of its own in the place of /tmp.
func (cfg UnitConfig) sharesTmp() bool {
	return slices.ContainsFunc(cfg.seen(), func(p string) bool { return isIn(p, "/tmp", "/var/tmp") })
}

// isIn tells that a path is one of these, or leads below it. systemd starts a unit in the root directory.
func isIn(p string, dirs ...string) bool {
	p = onRun(path.Join("/", p))
	return slices.ContainsFunc(dirs, func(d string) bool { return p == d || strings.HasPrefix(p, d+"/") })
}

// onRun is a path below /run by that name: /var/run is a link to it.
func onRun(p string) string {
	if rest, ok := strings.CutPrefix(p, "/var/run"); ok && (rest == "" || rest[0] == '/') {
		return "/run" + rest
	}
	return p
}

// directories are the lines by which the unit may write: systemd makes what is in the place for its kind, and removes that of the socket with the
// unit. A command makes the others, and leaves alone what is there. Its own namespace has the paths, too, so that a missing one must be no error:
// "-" says that. The mounts are those that have to be there before, as nothing is to be made below a mount that comes later.
func (cfg UnitConfig) directories() (lines string, mounts []string) {
	var b strings.Builder
	further := func(dir string) {
		missing := ""
		if dir != "/tmp" && dir != "/var/tmp" {
			missing = "-"
			fmt.Fprintf(&b, "ExecStartPre=+/bin/mkdir -p -m 0750 %s\n", dir)
		}
		if !isIn(dir, "/run", "/tmp", "/var/tmp") {
			mounts = append(mounts, dir)
		}
		fmt.Fprintf(&b, "ReadWritePaths=%s%s\n", missing, dir)
	}
	own := func(kind, root, dir string) {
		if name, ok := strings.CutPrefix(dir, root); ok {
			fmt.Fprintf(&b, "%sDirectory=%s\n%sDirectoryMode=0750\n", kind, name, kind)
			return
		}
		further(dir)
	}
	socket, state := onRun(path.Dir(cfg.Socket)), onRun(cfg.StateDir)
	switch {
	case socket == state:
	case isIn(state, socket): // it is not to be removed with the unit
		further(socket)
	default:
		own("Runtime", "/run/", socket)
	}
	own("State", "/var/lib/", state)
	for i, dir := range cfg.Writable {
		if dir != socket && dir != state && !slices.Contains(cfg.Writable[:i], dir) {
			further(dir)
		}
	}
	return b.String(), mounts
}
