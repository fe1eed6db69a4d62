package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/netns-tests/try"
)

// State is what a program may change on a node's host.
type State struct {
	Addresses, Routes, Rules, Ruleset, Sysctls string
}

// State reads the node's addresses, routes, rules, nftables ruleset and network
// sysctls in a comparable form: lifetimes and counters are left out.
func (n *Node) State() (s State, err error) {
	defer try.Catch(&err)
	s.Addresses = try.Get(n.stableJSON("ip", "-j", "addr", "show"))
	for _, family := range []string{"-4", "-6"} {
		lines := slices.Sorted(strings.Lines(expires.ReplaceAllString(try.Get(n.Run("ip", family, "route", "show", "table", "all")), "")))
		s.Routes += strings.Join(lines, "")
		s.Rules += try.Get(n.Run("ip", family, "rule"))
	}
	s.Ruleset = try.Get(n.Run("nft", "-s", "list", "ruleset"))
	s.Sysctls, err = n.sysctls()
	return s, err
}

// expires is how long a route goes on, which changes by itself.
var expires = regexp.MustCompile(`expires [0-9]*sec`)

// sysctls are the settings of the node's links and those of IPv4, each in a line, but for what the kernel chooses and for router advertisements.
func (n *Node) sysctls() (string, error) {
	var b strings.Builder
	err := n.Do(func() (err error) {
		defer try.Catch(&err)
		roots := try.Get(filepath.Glob("/proc/sys/net/ipv4/ip_*"))
		for _, root := range append([]string{"/proc/sys/net/ipv4/conf", "/proc/sys/net/ipv6/conf"}, roots...) {
			try.Do(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
				if errors.Is(err, fs.ErrNotExist) { // of a link that has just gone
					return nil
				}
				if err != nil || d.IsDir() {
					return err
				}
				if text, err := os.ReadFile(path); err == nil && !strings.Contains(path, "stable_secret") && !strings.Contains(path, "ra_") { // some are for writing alone
					fmt.Fprintf(&b, "%s:%s", path, text)
				}
				return nil
			}))
		}
		return nil
	})
	return b.String(), err
}

// stableJSON drops what changes by itself from the output of ip -j.
func (n *Node) stableJSON(name string, args ...string) (_ string, err error) {
	defer try.Catch(&err)
	out := try.Get(n.Run(name, args...))
	var links []map[string]any
	if err := json.Unmarshal([]byte(out), &links); err != nil {
		return "", fmt.Errorf("lab: %s %s: %w", name, strings.Join(args, " "), err)
	}
	for _, link := range links {
		infos, _ := link["addr_info"].([]any)
		for _, info := range infos {
			if m, ok := info.(map[string]any); ok {
				delete(m, "valid_life_time")
				delete(m, "preferred_life_time")
			}
		}
	}
	text, err := json.MarshalIndent(links, "", " ")
	return string(text), err
}
