//go:build netns

package netnstests

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
	"github.com/keepvip/keepvip/netns-tests/dump"
	"github.com/keepvip/keepvip/netns-tests/lab"
	"github.com/keepvip/keepvip/netns-tests/trial"
)

// keepalivedFiles are ours and, where Debian's package brought its documentation, its samples. KEEPALIVED_FILES names others by a pattern.
func keepalivedFiles(t *testing.T) []string {
	t.Helper()
	root := must(trial.Root())(t)
	var out []string
	for _, pattern := range []string{
		filepath.Join(root, "internal/tools/keepalived/*/testdata/*.conf"), filepath.Join(root, "netns-tests/dump/testdata/*.conf"),
		filepath.Join(root, "internal/tools/keepalived/*/testdata/global/*.conf"),
		"/usr/share/doc/keepalived/samples/keepalived.conf.*", os.Getenv("KEEPALIVED_FILES"),
	} {
		out = append(out, must(filepath.Glob(pattern))(t)...)
	}
	require.NotEmpty(t, out)
	return out
}

// withLinks opens a lab with a node that has the interfaces of the files.
func withLinks(t *testing.T) *lab.Node {
	t.Helper()
	l := must(host.Open(lab.Config{Nodes: 1}))(t)
	t.Cleanup(l.Close)
	n := l.Nodes[0]
	names := []string{"eth0.1", "eth1", "eth2", "eth3", "ens3", "ens4", "ens5"}
	for _, path := range must(filepath.Glob(os.Getenv("KEEPALIVED_FILES")))(t) {
		for _, i := range must(keepalived.Read(path, trial.KeepalivedID, syntax.Disk{}))(t).Instances {
			names = append(names, i.Interface)
			for _, a := range slices.Concat(i.Addresses, i.Excluded) {
				names = append(names, a.Interface)
			}
			for _, k := range i.Track.Interfaces {
				names = append(names, k.Name)
			}
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "eth0" || !nameOfLink.MatchString(name) {
			continue
		}
		must(n.Run("ip", "link", "add", name, "type", "bridge"))(t)
		must(n.Run("ip", "link", "set", name, "up"))(t)
	}
	return n
}

// nameOfLink is what an interface may be called; other words of a file are no names.
var nameOfLink = regexp.MustCompile(`^[a-zA-Z][\w.-]{0,14}$`)

// What the reader makes of a file is what keepalived itself says that it goes by.
func TestKeepalivedConfIsReadAsKeepalivedReadsIt(t *testing.T) {
	t.Parallel()
	n := withLinks(t)
	compared := 0
	for _, path := range keepalivedFiles(t) {
		data, log := mustTwo(trial.KeepalivedData(n, path))(t)
		if data == "" {
			t.Logf("%s: keepalived does not start: %s", path, log)
			continue
		}
		theirs, ours := facts(t, path, data)
		if dir, name := filepath.Split(path); os.Getenv("UPDATE_GOLDEN") != "" && strings.HasSuffix(dir, "/dump/testdata/") {
			golden := filepath.Join(dir, strings.TrimSuffix(name, ".conf")+".facts")
			said := dump.Parse(data)
			slices.Sort(said)
			require.NoError(t, os.WriteFile(golden, []byte(strings.Join(said, "\n")+"\n"), 0o644))
		}
		assert.Equal(t, theirs, ours, path)
		compared++
	}
	t.Logf("%d files compared", compared)
	assert.Greater(t, compared, 55) // 81 with the samples
}

// The path of a track_file is one word, whatever blanks it has. A relative one begins where the configuration is.
func TestTrackFilesAreThoseOfKeepalived(t *testing.T) {
	t.Parallel()
	n := withLinks(t)
	const instance = "vrrp_instance V {\n interface eth0\n virtual_router_id 7\n virtual_ipaddress {\n  10.77.0.100\n }\n track_file {\n  tf\n }\n}\n"
	for _, word := range []string{
		`"/run/a b"`, `" run/a"`, `"/run /a"`, `"a b"`, "a", "../a", "nodir/a", "/nodir/a", "'/run/a b'", `"/run/a "`, `""`, "/run/a/",
	} {
		path := must(n.WriteFile("track.conf", secured+"track_file tf {\n file "+word+"\n}\n"+instance, 0o644))(t)
		data, log := mustTwo(trial.KeepalivedData(n, path))(t)
		require.NotEmpty(t, data, log)
		theirs, ours := facts(t, path, data)
		assert.Equal(t, theirs, ours, word)
		cfg := must(keepalived.Read(path, trial.KeepalivedID, syntax.Disk{}))(t)
		require.Len(t, cfg.Files, 1)
		if at := regexp.MustCompile(`(?m)^   File = (.*)$`).FindStringSubmatch(data); at != nil {
			assert.Equal(t, filepath.Clean(at[1]), cfg.Files[0].Path, word)
		}
	}
}

// facts leaves out the scripts that keepalived has dropped, because they are not on this host.
func facts(t *testing.T, path, data string) (theirs, ours []string) {
	t.Helper()
	cfg := must(keepalived.Read(path, trial.KeepalivedID, syntax.Disk{}))(t)
	name := must(os.Hostname())(t)
	for _, s := range cfg.Scripts { // keepalived names the program that a link leads to
		if path, err := exec.LookPath(s.Command.Args[0]); err == nil && s.Command.CallsAnother() {
			path = must(filepath.EvalSymlinks(path))(t)
			s.Command.Args[0] = path
		}
	}
	ours, theirs = dump.Facts(cfg), dump.Parse(data)
	for _, s := range cfg.Scripts {
		if !slices.ContainsFunc(theirs, func(fact string) bool { return strings.HasPrefix(fact, "script "+s.Name+": ") }) {
			ours = slices.DeleteFunc(ours, func(fact string) bool {
				return strings.HasPrefix(fact, "script "+s.Name+": ") || strings.Contains(fact, ": script "+s.Name+" ")
			})
		}
	}
	for _, f := range cfg.Files { // keepalived drops one whose directory is not on this host
		if _, err := os.Stat(filepath.Dir(f.Path)); err != nil {
			ours = slices.DeleteFunc(ours, func(fact string) bool { return strings.Contains(fact, ": file "+f.Name+",") })
		}
	}
	global := dump.GlobalFacts(cfg)
	if !strings.Contains(data, "------< VRRP Topology >------") { // that of the first process, which has not all defaults
		ours, theirs = nil, nil
		global = slices.DeleteFunc(global, func(fact string) bool { return strings.Contains(fact, "ARP lower priority") })
	}
	ours, theirs = append(ours, global...), append(theirs, dump.ParseGlobal(data, name)...)
	slices.Sort(ours)
	slices.Sort(theirs)
	return theirs, ours
}
