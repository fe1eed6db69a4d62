package config

import (
	"reflect"
	"strings"
	"testing"
)

// Whatever a file holds: no panic, complaints of bounded, single, printable lines, and what is accepted can be shown.
func FuzzConfig(f *testing.F) {
	f.Add(Example)
	f.Add(head + "vips: [{addresses: [10.77.0.1/24, 'fd77::1'], vrrp: {id: 5, peers: []}, check: none}]\n")
	f.Add(head + "vips:\n- &a {name: a}\n- *a\n<<: {port: 1}\n")
	f.Add(head + "? [a]\n: b\n--- \n...\n%YAML 1.2\n")
	f.Add(head + "vips: [{addresses: [10.77.0.1], checks: [{kind: tcp, address: 'a:1'}, {kind: exec, command: [/a], user: 1}]}, {checks: [x]}]\n")
	f.Add(head + "vips: [{addresses: [10.77.0.1], keepalivedName: A, hooks: [{command: [/a], user: root, states: [MASTER]}, {command: x}]}]\nnotifyFIFO: {path: /f}\n")
	f.Add("a: b: c")
	f.Add("{{{{[[[[\xff\x00")
	f.Add(head + "metrics: !!binary b2Zm\nport: 0x10\nsocket: |\n  a\n  b\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Load(Input{Env: []string{EnvInline + "=" + text}, Elsewhere: true})
		if err == nil {
			checkAccepted(t, c)
			return
		}
		lines := strings.Split(err.Error(), "\n")
		if len(lines) > mostProblems+1 {
			t.Fatalf("%d lines", len(lines))
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "config: ") || len(line) > 2000 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Fatalf("bad line %q", line)
			}
		}
	})
}

func checkAccepted(t *testing.T, c *Config) {
	if len(c.VIPs) == 0 {
		t.Fatal("accepted without a virtual address")
	}
	for _, v := range c.VIPs {
		if v.VRRP.ID == 0 || v.Priority == 0 || len(v.Addresses) == 0 || v.Name == "" || v.VRRP.AdvertisementInterval <= 0 {
			t.Fatalf("accepted %+v", v)
		}
	}
	if !reflect.ValueOf(Diff(c, c)).IsZero() || len(c.Values()) == 0 {
		t.Fatal("differs from itself")
	}
}
