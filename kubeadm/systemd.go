package kubeadm

import (
	"errors"
	"fmt"
	"strings"
)

// UnitPath is where an administrator's systemd units are.
const UnitPath = "/etc/systemd/system/keepvip.service"

// Systemd renders a unit for systemd 247 or later, with the same confinement as the static pod. It counts as started when
// the election has begun, it is started anew when a loop of keepvip is stuck, and its reload fails with a configuration that
// has an error. With an error nothing is rendered.
func Systemd(cfg UnitConfig) ([]byte, error) {
	args := cfg.Args
	if cfg.ConfigFile != "" {
		if err := checkPath("config file", cfg.ConfigFile); err != nil {
			return nil, err
		}
		flag := "--config="
		if cfg.Keepalived {
			flag = "--keepalived-conf="
		}
		args = append([]string{flag + cfg.ConfigFile}, args...)
	}
	if len(args) == 0 {
		return nil, errors.New("kubeadm: no arguments, want those of keepvip run")
	}
	paths := []struct{ what, path string }{{"binary", cfg.Binary}, {"socket", cfg.Socket}, {"state directory", cfg.StateDir}}
	for _, d := range cfg.Writable {
		paths = append(paths, struct{ what, path string }{"directory", d})
	}
	for _, p := range paths {
		if err := checkPath(p.what, p.path); err != nil {
			return nil, err
		}
		if strings.ContainsAny(p.path, " %$;'\"\\") { // each setting would quote it in its own way
			return nil, fmt.Errorf("kubeadm: %s %q, want a path without blanks, quotes, %% and $ in a unit", p.what, p.path)
		}
	}
	for _, f := range cfg.seen() {
		if cfg.Hides(f) != "" {
			return nil, fmt.Errorf("kubeadm: %s, want a path outside of /home, /root and /run/user: the unit sees nothing of what is there (ProtectHome)", f)
		}
	}
	verb, reload := "run", fmt.Sprintf("%s reload --socket=%s", cfg.Binary, cfg.Socket)
	if cfg.Follower {
		verb, reload = "follow", "/bin/kill -HUP $MAINPID"
	}
	words := []string{cfg.Binary, verb}
	for _, a := range args {
		word, err := unitWord(a)
		if err != nil {
			return nil, err
		}
		words = append(words, word)
	}
	var b strings.Builder
	directories, mounts := cfg.directories()
	fmt.Fprintf(&b, unitHead, requires(mounts), strings.Join(words, " "), reload)
	b.WriteString(directories)
	capabilities := "CAP_NET_ADMIN CAP_NET_RAW"
	if cfg.Realtime {
		capabilities += " CAP_SYS_NICE"
	}
	if cfg.Follower && cfg.Unsigned {
		capabilities += " CAP_NET_BIND_SERVICE"
	}
	if cfg.SwitchUser {
		capabilities += " CAP_SETUID CAP_SETGID CAP_KILL"
	}
	if cfg.Chown {
		capabilities += " CAP_CHOWN"
	}
	private := "yes"
	if cfg.sharesTmp() {
		private = "no"
	}
	fmt.Fprintf(&b, unitFoot, capabilities, private, devices(cfg.Tun))
	return []byte(b.String()), nil
}

// devices are those that the unit sees: with PrivateDevices there is no /dev/net/tun.
func devices(tun bool) string {
	if tun {
		return "DevicePolicy=closed\nDeviceAllow=/dev/net/tun rw"
	}
	return "PrivateDevices=yes"
}

// requires is the line by which the unit waits for what is mounted there.
func requires(mounts []string) string {
	if len(mounts) == 0 {
		return ""
	}
	return "RequiresMountsFor=" + strings.Join(mounts, " ") + "\n"
}

// unitWord quotes one argument (systemd.service(5), "Command lines"): systemd expands % and $, and splits at white space.
func unitWord(s string) (string, error) {
	if strings.ContainsAny(s, "\n\r\x00") {
		return "", fmt.Errorf("kubeadm: argument %q, want one line", s)
	}
	s = strings.NewReplacer("%", "%%", "$", "$$", `\`, `\\`, `"`, `\"`).Replace(s)
	if strings.ContainsAny(s, " \t;'\"\\") || s == "" {
		return `"` + s + `"`, nil
	}
	return s, nil
}

const unitHead = `[Unit]
Description=keepvip: addresses that move to a node that works
Documentation=https://github.com/keepvip/keepvip
Wants=network-online.target
After=network-online.target
# An election is never given up.
StartLimitIntervalSec=0
%s
[Service]
Type=notify
NotifyAccess=main
WatchdogSec=10s
ExecStart=%s
ExecReload=%s
Restart=always
RestartSec=200ms
TimeoutStopSec=10s
OOMScoreAdjust=-900
`

// ProtectKernelTunables keeps root from writing what the kernel obeys, such as core_pattern: keepvip only reads there.
// ProtectClock is left out, and adjtimex let in, because keepvip asks whether the clock is synchronized. To set it takes a
// capability that it does not have.
const unitFoot = `CapabilityBoundingSet=%s
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=%s
%s
ProtectControlGroups=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET
RestrictNamespaces=yes
RestrictSUIDSGID=yes
LockPersonality=yes
MemoryDenyWriteExecute=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service adjtimex
SystemCallErrorNumber=EPERM
UMask=0027

[Install]
WantedBy=multi-user.target
`
