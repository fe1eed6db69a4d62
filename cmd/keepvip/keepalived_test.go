package main

import (
	"bytes"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/keepvip/keepvip/internal/config"
)

func TestProgramUnderKeepalivedsNameIsThatCommand(t *testing.T) {
	assert.Equal(t, []string{"keepalived", "-n"}, commandLine([]string{"/usr/sbin/keepalived", "-n"}))
	assert.Equal(t, []string{"run"}, commandLine([]string{"/usr/bin/keepvip", "run"}))
	assert.Empty(t, commandLine(nil))
}

func TestMigrateKeepalivedNamesEachOption(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate-keepalived.md")
	require.NoError(t, err)
	rows := map[keepalivedOutcome]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| (honoured|needless|ignored|refused) \| (.*)$`).FindAllStringSubmatch(string(page), -1) {
		rows[keepalivedOutcome(m[1])] += m[2]
	}
	for _, o := range keepalivedOptions {
		assert.Contains(t, rows[o.does], "`--"+o.long+"`", o.does)
	}
}

func TestKeepalivedWrongCommandLines(t *testing.T) {
	for name, tt := range map[string]struct{ args, want string }{
		"it would fork":       {"-f k.conf -l", "keepvip: keepvip stays in the foreground, want --dont-fork (-n), and whoever starts it to keep it running\n"},
		"virtual servers":     {"-n -C", "keepvip: --check: keepvip has no virtual servers: keep keepalived for them, beside keepvip\n"},
		"namespace":           {"-n --namespace x", "keepvip: --namespace: keepvip stays in the network namespace that it is started in: ip netns exec NAME, or NetworkNamespacePath= of the unit\n"},
		"a file alone":        {"-n k.conf", "keepvip: keepvip keepalived takes no argument, but \"k.conf\" is given, want --use-file k.conf if that is the configuration\n"},
		"no such option":      {"-n --bogus", "keepvip: unknown flag: --bogus; keepvip keepalived --help has all of them\n"},
		"a missing value":     {"-n -p", "keepvip: flag needs an argument: 'p' in -p\n"},
		"no such signal":      {"--signum TDATA", "keepvip: --signum \"TDATA\", want STOP, RELOAD, DATA, STATS, STATS_CLEAR or JSON: keepvip has no other signals\n"},
		"a place for the pid": {"-n -f GOOD -p /none/pid", "keepvip: open /none/pid: no such file or directory\n"},
	} {
		t.Run(name, func(t *testing.T) {
			conf, _ := confHere(t)
			args := strings.Fields(strings.ReplaceAll(tt.args, "GOOD", conf))
			code, out, errs := keepvip(t, append([]string{"keepalived"}, args...)...)
			assert.Equal(t, exitFailure, code)
			assert.Empty(t, out)
			assert.Equal(t, tt.want, errs)
		})
	}
}

func TestKeepalivedSaysItsSignalsAndVersion(t *testing.T) {
	for name, want := range map[string]string{"STOP": "15\n", "RELOAD": "1\n", "DATA": "10\n", "STATS": "12\n", "JSON": "36\n", "STATS_CLEAR": "63\n"} {
		code, out, errs := keepvip(t, "keepalived", "--signum="+name)
		assert.Equal(t, exitOK, code)
		assert.Equal(t, want, out)
		assert.Empty(t, errs)
	}
	code, _, errs := keepvip(t, "keepalived", "-v")
	assert.Equal(t, exitOK, code)
	assert.True(t, strings.HasPrefix(errs, "Keepalived v2.2.7"), "scripts look for the number: %s", errs)
}

// configTest is a file, and what --config-test says of it. FILE is its path.
type configTest struct {
	text, args string
	code       int
	want       string
}

// configTests have the codes of Debian's keepalived for the same files, but for 3.
func configTests() map[string]configTest {
	const (
		instance = "vrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n virtual_ipaddress {\n  10.77.0.100\n }\n%\n}\n"
		empty    = "vrrp_instance VI_1 {\n interface eth0\n virtual_router_id 51\n%\n}\n"
		secure   = "global_defs {\n enable_script_security\n script_user root\n}\n"
	)
	check := func(script string) string { return "vrrp_script a {\n script " + script + "\n}\n" }
	tracked := strings.Replace(instance, "%", " track_script {\n  a\n }", 1)
	tests := map[string]configTest{
		"good":                                   {instance, "", 0, ""},
		"an unknown word":                        {instance + "bogus 3\n", "", 5, "FILE:9: error unknown-keyword:"},
		"a VRID that is none":                    {strings.Replace(instance, "51", "300", 1), "", 5, "FILE:3: error value:"},
		"a brace that is missing":                {strings.TrimSuffix(instance, "}\n"), "", 5, "FILE:1: error brace:"},
		"a word without a value":                 {strings.Replace(instance, "%", " priority", 1), "", 2, "FILE:7: error missing:"},
		"no such interface":                      {strings.Replace(instance, " eth0", " nosuch0", 1), "", 5, "FILE:2: there is no interface nosuch0 here"},
		"scripts without enable_script_security": {"vrrp_script a {\n script /bin/true\n}\n" + strings.Replace(instance, "%", " track_script {\n  a\n }", 1), "", 6, "FILE:2: warning script-security:"},
		"a script that is missing": {
			"global_defs {\n enable_script_security\n script_user 65534\n}\nvrrp_script a {\n script /none/a\n}\n" + strings.Replace(instance, "%", " track_script {\n  a\n }", 1), "", 5,
			"config: FILE:6: vips[0].checks[0].command: /none/a:",
		},
		"only a script that is missing, without enable_script_security": {
			"vrrp_script a {\n script /none/a\n}\n" + strings.Replace(instance, "%", " track_script {\n  a\n }", 1), "", 5, "config: FILE:2: vips[0].checks[0].command: /none/a:",
		},
		"a script that is missing, for root":               {secure + check("/none/a") + tracked, "", 5, "FILE:6: error script-dropped: vrrp_script a is dropped:"},
		"a script that others may change, for root":        {secure + check("FILE.sh") + tracked, "", 5, "FILE:6: error script-dropped: vrrp_script a is dropped:"},
		"a missing script that nobody tracks":              {secure + check("/none/a") + instance, "", 5, "FILE:6: error script-dropped: vrrp_script a is dropped:"},
		"a missing script that nobody tracks, not secured": {check("/none/a") + instance, "", 5, "FILE:2: error script-dropped: vrrp_script a is dropped: there is no program /none/a here"},
		"a missing notify script, for root":                {secure + strings.Replace(instance, "%", " notify_master /none/a", 1), "", 0, ""},
		"a missing notify script":                          {strings.Replace(instance, "%", " notify_master /none/a", 1), "", 0, "FILE:7: warning script-security:"},
		"a script that nobody may run":                     {secure + check("FILE.no") + instance, "", 0, "FILE:5: warning untracked:"},
		"a script_user that is not here":                   {"global_defs {\n script_user nosuch\n}\n" + instance, "", 5, "FILE:2: error script-dropped: script_user: there is no user nosuch here"},
		"a check of a script_user that is not here":        {"global_defs {\n script_user nosuch\n}\n" + check("/bin/true") + tracked, "", 5, "FILE:5: error script-dropped: vrrp_script a is dropped: there is no user nosuch here"},
		"a check of a user that is not here":               {secure + "vrrp_script a {\n script /bin/true\n user nosuch\n}\n" + tracked, "", 5, "FILE:6: error script-dropped: vrrp_script a is dropped: there is no user nosuch here"},
		"a notify script of a user that is not here":       {secure + strings.Replace(instance, "%", " notify_master /bin/true nosuch", 1), "", 0, "FILE:11: warning notify-user:"},
		"no address":                                      {strings.Replace(empty, "%", "", 1), "", 5, "FILE:1: warning no-address:"},
		"no address, for notify scripts":                  {secure + strings.Replace(empty, "%", " notify_master /bin/true", 1), "", 5, "FILE:5: note no-address:"},
		"no address beside excluded ones":                 {strings.Replace(empty, "%", " virtual_ipaddress_excluded {\n  10.77.0.100\n }", 1), "", 5, "FILE:1: note no-address:"},
		"scripts without security, and no such interface": {check("/bin/true") + strings.Replace(tracked, " eth0", " nosuch0", 1), "", 5, "FILE:5: there is no interface nosuch0 here"},
		"an include that is missing":                      {"include /none/a\n" + instance, "", 0, "FILE:1: warning include:"},
		"an include that is missing, with -e":             {"include /none/a\n" + instance, "-e", 6, "FILE:1: warning include:"},
		"a file that is missing":                          {"", "-f /none/k.conf", 3, "/none/k.conf: no such file or directory"},
		"a file that is missing, with -e":                 {"", "-e -f /none/k.conf", 4, "/none/k.conf: no such file or directory"},
		"what keepalived runs and keepvip does not":       {strings.Replace(instance, "%", " use_ipvlan", 1), "", 3, "FILE:7: error unsupported: use_ipvlan:"},
		"nothing for VRRP":                                {"", "", 3, "FILE:1: error missing: no vrrp_instance"},
		"orders to a terminal":                            {instance + "vrrp_sync_group G {\n  group {\n    V\x1b[31m\n  }\n}\n", "", 5, "FILE:10: error reference: "},
	}
	if !config.UserExists("keepalived_script") {
		const line = "enable_script_security is given, no user is, and there is no user keepalived_script here"
		tests["a check without a user"] = configTest{"global_defs {\n enable_script_security\n}\n" + check("/bin/true") + tracked, "", 5, "FILE:5: error script-dropped: vrrp_script a is dropped: " + line}
		tests["a notify script without a user"] = configTest{
			"global_defs {\n enable_script_security\n}\n" + strings.Replace(instance, "%", " notify_master /bin/true", 1), "", 5, "FILE:10: error script-dropped: the notify script of VI_1 is dropped: " + line,
		}
	}
	return tests
}

// write is the file of a test, below dir.
func (c configTest) write(t *testing.T, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "k.conf")
	require.NoError(t, os.WriteFile(path, []byte(strings.NewReplacer("%", "", "FILE", path).Replace(c.text)), 0o600))
	require.NoError(t, os.WriteFile(path+".sh", []byte("#!/bin/sh\n"), 0o600))
	require.NoError(t, os.Chmod(path+".sh", 0o777)) //nolint:gosec // others may change it: that is the case
	require.NoError(t, os.WriteFile(path+".no", []byte("#!/bin/sh\n"), 0o600))
	return path
}

func TestKeepalivedConfigTest(t *testing.T) {
	for name, tt := range configTests() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file, log := tt.write(t, dir), filepath.Join(dir, "log")
			args := slices.Concat([]string{"keepalived", "-t", "-f", file}, strings.Fields(tt.args))
			code, out, errs := keepvip(t, args...)
			assert.Equal(t, tt.code, code, errs)
			assert.Empty(t, out)
			assert.Contains(t, errs, strings.ReplaceAll(tt.want, "FILE", file))
			assert.Equal(t, tt.want == "", errs == "")
			assert.NotContains(t, errs, "\x1b")
			if tt.code != testGood {
				assert.True(t, strings.HasSuffix(errs, "keepvip: "+verdictOfTest(tt.code)+"\n"), errs)
				assert.Equal(t, tt.code == testErrors, strings.Contains(errs, "the configuration has errors"), errs)
			}

			args[1] = "--config-test=" + log
			again, _, errs := keepvip(t, args...)
			assert.Equal(t, code, again)
			assert.NotContains(t, errs, "k.conf")
			said, err := os.ReadFile(log)
			require.NoError(t, err)
			assert.Contains(t, string(said), strings.ReplaceAll(tt.want, "FILE", file))
			assert.NotContains(t, string(said), "\x1b")
		})
	}
}

// lineOf is a command line of keepalived, taken apart.
func lineOf(t *testing.T, args ...string) keepalivedLine {
	t.Helper()
	cmd := &cobra.Command{}
	k := bindKeepalived(cmd)
	require.NoError(t, cmd.ParseFlags(args))
	return k
}

func TestKeepalivedLogsWhatItIgnores(t *testing.T) {
	conf, instance := confHere(t)
	cfg, err := config.Load(config.Input{Conf: conf, Convert: lineOf(t).conf().read})
	require.NoError(t, err)
	said := func(args ...string) string {
		var b bytes.Buffer
		lineOf(t, args...).say(slog.New(slog.NewTextHandler(&b, nil)), cfg, &pidFiles{})
		return b.String()
	}
	assert.Empty(t, said("-nlDGPB", "--use-file", conf))
	one := said("-nxlD")
	assert.Equal(t, 1, strings.Count(one, "\n"), one)
	assert.Contains(t, one, `level=WARN msg="an option of keepalived is ignored" option=--snmp reason="keepvip has no SNMP:`)
	dumped := said("-nd")
	assert.Contains(t, dumped, `msg=configuration key=vips[0].priority value=101 from=`+instance+":4\n")
	assert.NotContains(t, dumped, "geheim42")
}

func TestKeepalivedLogGoesWhereItIsAsked(t *testing.T) {
	for args, want := range map[string]struct{ stderr, file bool }{
		"": {true, false}, "-G": {true, false}, "-l": {true, false}, "-g FILE": {true, true}, "-g FILE -G": {false, true}, "-g FILE -G -l": {true, true},
	} {
		file, stderr := filepath.Join(t.TempDir(), "log"), bytes.Buffer{}
		w, err := lineOf(t, strings.Fields(strings.ReplaceAll(args, "FILE", file))...).logTo(&stderr)
		require.NoError(t, err)
		_, err = w.Write([]byte("x\n"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		text, err := os.ReadFile(file)
		assert.Equal(t, want.file, err == nil && string(text) == "x\n", args)
		assert.Equal(t, want.stderr, stderr.String() == "x\n", args)
	}
}

func TestPIDFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	own := strconv.Itoa(os.Getpid())
	require.NoError(t, os.WriteFile(path("stale"), []byte("4194304\n"), 0o600))
	require.NoError(t, os.WriteFile(path("long"), []byte(strings.Repeat("9", 40)), 0o600))

	p, err := openPIDFiles([]pidFile{{path: path("new")}, {path: path("stale"), needed: true}, {path: path("long")}, {path: path("none/x")}})
	require.NoError(t, err)
	assert.Len(t, p.missing, 1)
	assert.Equal(t, "4194304", readPID(path("stale")), "as long as it is not certain that this process runs")
	p.write()
	for _, name := range []string{"new", "stale", "long"} {
		text, err := os.ReadFile(path(name))
		require.NoError(t, err)
		assert.Equal(t, own+"\n", string(text), name)
	}
	require.NoError(t, os.WriteFile(path("long"), []byte("1\n"), 0o600)) // somebody else's by now
	p.remove()
	assert.NoFileExists(t, path("new"))
	assert.NoFileExists(t, path("stale"))
	assert.FileExists(t, path("long"))

	_, err = openPIDFiles([]pidFile{{path: path("new")}, {path: path("none/x"), needed: true}})
	assert.ErrorContains(t, err, path("none/x"))
	assert.NoFileExists(t, path("new"), "nothing is left of a start that failed")
}

// What is written to later is a file of a process id, and nothing that somebody else has put in its place, or that was named by mistake.
func TestPIDFileOfSomebodyElseIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	const conf = "vrrp_instance VI_1 {\n}\n"
	require.NoError(t, os.WriteFile(path("conf"), []byte(conf), 0o600))
	require.NoError(t, os.WriteFile(path("victim"), []byte("1\n"), 0o600))
	require.NoError(t, os.Symlink(path("victim"), path("link")))
	require.NoError(t, os.Symlink(path("absent"), path("dangling")))
	require.NoError(t, unix.Mkfifo(path("fifo"), 0o600))
	for name, want := range map[string]string{
		"conf": "not the file of a process id", "link": "a symbolic link", "dangling": "a symbolic link", "fifo": "no regular file (prw-------)",
	} {
		_, err := openPIDFiles([]pidFile{{path: path(name), needed: true}})
		require.ErrorContains(t, err, path(name)+": "+want)
		p, err := openPIDFiles([]pidFile{{path: path(name)}})
		require.NoError(t, err)
		p.write()
		p.remove()
		assert.Len(t, p.missing, 1, name)
		_, err = os.Lstat(path(name))
		require.NoError(t, err, name)
	}
	for name, want := range map[string]string{"conf": conf, "victim": "1\n"} {
		text, err := os.ReadFile(path(name))
		require.NoError(t, err)
		assert.Equal(t, want, string(text), name)
	}
	assert.NoFileExists(t, path("absent"))
}

func TestPIDFileOfAKeepalivedThatRuns(t *testing.T) {
	sleep, err := exec.LookPath("sleep")
	require.NoError(t, err)
	dir := t.TempDir()
	program, path := filepath.Join(dir, "keepalived"), filepath.Join(dir, "pid")
	text, err := os.ReadFile(sleep)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(program, text, 0o700))
	cmd := exec.CommandContext(t.Context(), program, "60")
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGKILL) }
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait() })
	pid := strconv.Itoa(cmd.Process.Pid)
	require.NoError(t, os.WriteFile(path, []byte(pid), 0o600))
	_, err = openPIDFiles([]pidFile{{path: path}})
	assert.EqualError(t, err, path+": keepalived runs here as process "+pid+", want it stopped first: both would hold the addresses")
}
