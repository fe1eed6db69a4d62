package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/tools/keepalived/convert"
)

// confHere writes a keepalived.conf that includes its instance, with a password, and a script that is there.
func confHere(t *testing.T) (conf, instance string) {
	t.Helper()
	dir := t.TempDir()
	conf, instance = filepath.Join(dir, "keepalived.conf"), filepath.Join(dir, "vi.conf")
	require.NoError(t, os.WriteFile(conf, []byte("vrrp_script true {\n script /bin/true\n user 65534\n interval 1\n}\ninclude vi.conf\n"), 0o600))
	require.NoError(t, os.WriteFile(instance, []byte(`vrrp_instance VI_1 {
 interface eth0
 virtual_router_id 51
 priority 101
 authentication {
  auth_type PASS
  auth_pass geheim42
 }
 virtual_ipaddress {
  10.77.0.100
 }
 track_script {
  true
 }
}
`), 0o600))
	return conf, instance
}

func TestKeepalivedConfIsRunAsItIs(t *testing.T) {
	conf, instance := confHere(t)
	code, out, errs := keepvip(t, "config", "show", "--keepalived-conf", conf)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "vips[0].priority: 101 # "+instance+":4\n")
	assert.Contains(t, out, "vips[0].vrrp.passwordFile: auth_pass of VI_1 # "+instance+":7\n")
	assert.NotContains(t, out+errs, "geheim42")

	code, out, errs = keepvip(t, "check", "--once", "--keepalived-conf", conf)
	assert.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "vi-1/true: healthy")

	t.Setenv(config.EnvConf, conf)
	code, out, errs = keepvip(t, "config", "validate", "--priority", "7")
	assert.Equal(t, exitOK, code, errs)
	assert.Equal(t, "the configuration is valid\n", out)
}

// What an operator reads when the file cannot be run: one line for each reason, and nothing else.
func TestKeepalivedConfThatCannotBeRunIsRefused(t *testing.T) {
	const ipvlan = convertSamples + "use-ipvlan.conf"
	refused := "keepvip: " + ipvlan + ":4: error unsupported: use_ipvlan: "
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"run":           {[]string{"run", "--keepalived-conf", ipvlan}, []string{refused}},
		"validate":      {[]string{"config", "validate", "--keepalived-conf", ipvlan}, []string{refused}},
		"missing":       {[]string{"run", "--keepalived-conf", "/none/k.conf"}, []string{"keepvip: /none/k.conf: no such file or directory: want the path of a keepalived.conf"}},
		"with --config": {[]string{"run", "--config", "k.yaml", "--keepalived-conf", ipvlan}, []string{"keepvip: config: the keepalived.conf " + ipvlan + ": set together with the file k.yaml, want one of them"}},
		"no program":    {[]string{"run", "--keepalived-conf", convertSamples + "kubeadm-master.conf"}, []string{"keepvip: config: " + convertSamples + "kubeadm-master.conf:6: vips[0].checks[0].command: "}},
		"for all nodes": {[]string{"manifest", "cloud-init", "--keepalived-conf", convertSamples + "kubeadm-backup.conf"}, []string{"keepvip: " + convertSamples + "kubeadm-backup.conf is one node's"}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errs := keepvip(t, tt.args...)
			assert.Equal(t, exitUsage, code)
			assert.Empty(t, out)
			require.Equal(t, len(tt.want), strings.Count(errs, "\n"), errs)
			for i, line := range strings.Split(strings.TrimSpace(errs), "\n") {
				assert.True(t, strings.HasPrefix(line, tt.want[i]), errs)
			}
		})
	}
}

// A file that is something else has thousands of errors: neither a log nor the status has all of them.
func TestKeepalivedConfThatIsNoneIsRefusedBriefly(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "keepalived.conf")
	require.NoError(t, os.WriteFile(conf, []byte(strings.Repeat("{\n", 3000)), 0o600))
	code, out, errs := keepvip(t, "config", "validate", "--keepalived-conf", conf)
	assert.Equal(t, exitUsage, code)
	assert.Empty(t, out)
	assert.Equal(t, mostFaults+1, strings.Count(errs, "\n"))
	assert.Regexp(t, `errors more: .keepvip lint `+conf+`. has all of them\n$`, errs)
}

func TestKeepalivedConfIsReadAgain(t *testing.T) {
	conf, instance := confHere(t)
	k := keepalivedConf{}
	k.options.InMemory = true
	load := func() (*config.Config, error) {
		return config.Load(config.Input{Conf: conf, Convert: k.read})
	}
	before, err := load()
	require.NoError(t, err)
	text, err := os.ReadFile(instance)
	require.NoError(t, err)
	change := func(old, new string) {
		require.NoError(t, os.WriteFile(instance, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
	}
	change("geheim42", "geheim43")
	after, err := load()
	require.NoError(t, err)
	assert.Equal(t, "geheim43", after.VIPs[0].VRRP.Password)
	changed := config.Diff(before, after).Changed
	require.Len(t, changed, 1)
	assert.False(t, changed[0].Recreate)

	change("priority 101", "use_ipvlan")
	_, err = load()
	assert.ErrorContains(t, err, instance+":4: error unsupported: use_ipvlan:")

	shown, err := json.Marshal(before.Values())
	require.NoError(t, err)
	assert.NotContains(t, string(shown), "geheim")
}

func TestManifestOfKeepalivedConf(t *testing.T) {
	conf, _ := confHere(t)
	code, out, errs := keepvip(t, "manifest", "systemd", "--binary", "/usr/bin/keepvip", "--keepalived-conf", conf)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "ExecStart=/usr/bin/keepvip run --keepalived-conf="+conf+"\n")
	assert.NotContains(t, errs, "mode 0600")

	plain := filepath.Join(t.TempDir(), "k.conf")
	require.NoError(t, os.WriteFile(plain, []byte("vrrp_instance a {\n interface eth0\n virtual_router_id 5\n authentication {\n auth_type PASS\n auth_pass geheim42\n }\n virtual_ipaddress {\n 10.77.0.100\n }\n}\n"), 0o600))
	code, out, errs = keepvip(t, "manifest", "pod", "--keepalived-conf", plain)
	require.Equal(t, exitOK, code, errs)
	assert.Contains(t, out, "passwordFile: /etc/keepvip/a.password")
	assert.Contains(t, errs, "the manifest does not carry /etc/keepvip/a.password")
	assert.NotContains(t, out+errs, "geheim42")
}

// The document's table of variables comes to what the file does that the image fills.
func TestRecipeOfTheImageSaysWhatItsFileDoes(t *testing.T) {
	page, err := os.ReadFile("../../docs/migrate-keepalived.md")
	require.NoError(t, err)
	_, recipe, found := strings.Cut(string(page), "### From the image osixia/keepalived")
	require.True(t, found)
	blocks := strings.Split(recipe, "```")
	file, password := filepath.Join(t.TempDir(), "k.conf"), filepath.Join(t.TempDir(), "password")
	require.NoError(t, os.WriteFile(file, []byte(strings.TrimPrefix(blocks[3], "\n")), 0o600))
	require.NoError(t, os.WriteFile(password, []byte("d0cker\n"), 0o600))
	k := keepalivedConf{}
	k.options.InMemory = true
	ofFile, err := config.Load(config.Input{Conf: file, Convert: k.read})
	require.NoError(t, err)

	var env []string
	for _, m := range regexp.MustCompile("`(KEEPVIP_[A-Z_]+=[^`]*)`").FindAllStringSubmatch(blocks[4], -1) {
		env = append(env, strings.Replace(m[1], "/etc/keepvip/password", password, 1))
	}
	require.Len(t, env, 10)
	ofVariables, err := config.Load(config.Input{Env: env})
	require.NoError(t, err)
	a, b := ofFile.VIPs[0], ofVariables.VIPs[0]
	b.VRRP.PasswordFile, b.Name, b.KeepalivedName, b.Announce = a.VRRP.PasswordFile, a.Name, a.KeepalivedName, a.Announce
	assert.Equal(t, a, b)
}

// keepalived drops a track_file whose directory is not there, and finds nothing wrong with the configuration.
func TestKeepalivedTestTellsOfTheDirectoryOfATrackFile(t *testing.T) {
	dir := t.TempDir()
	for word, missing := range map[string]string{
		`"` + dir + `/a b"`: "", "here": "", `"` + dir + `/no /a"`: dir + "/no ", "none/a": dir + "/none",
	} {
		file := filepath.Join(dir, "keepalived.conf")
		require.NoError(t, os.WriteFile(file, []byte("track_file tf {\n file "+word+"\n}\nvrrp_instance V {\n interface eth0\n virtual_router_id 7\n virtual_ipaddress {\n  198.51.100.9\n }\n track_file {\n  tf\n }\n}\n"), 0o600))
		_, _, errs := keepvip(t, "keepalived", "-t", "-f", file)
		assert.Equal(t, missing != "", strings.Contains(errs, "there is no directory "), errs)
		if missing != "" {
			assert.Contains(t, errs, file+":2: there is no directory "+missing+" here: keepalived drops the track_file")
		}
	}
}

// The unit of the packages hides some paths: `keepvip convert` says so, and what runs already knows.
func TestConvertKnowsWhatTheUnitHides(t *testing.T) {
	o := onThisHost(convert.Options{})
	for path, hidden := range map[string]bool{"/tmp/load": true, "/home/ann/load": true, "/run/user/0/load": true, "/tmpfs/load": false, "/run/load": false} {
		assert.Equal(t, hidden, o.Hidden(path), path)
	}
	assert.Nil(t, onThisHost(convert.Options{InMemory: true}).Hidden)
}
