package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// converted is what a keepalived.conf of four lines comes to.
func converted(t *testing.T, text string, secrets map[string][]byte) Input {
	t.Helper()
	return Input{Conf: "k.conf", Convert: func(path string) (Converted, error) {
		assert.Equal(t, "k.conf", path)
		c := Converted{Text: []byte(head + text), Secrets: secrets, Warnings: []string{"k.conf:9: a warning"}}
		for i := range strings.Count(string(c.Text), "\n") {
			c.Lines = append(c.Lines, Origin{Source: File, Name: "included.conf", Line: 100 + i + 1})
		}
		return c, nil
	}}
}

func TestConvertedConfigurationNamesTheLinesThatItIsMadeOf(t *testing.T) {
	c, err := Load(converted(t, "vips:\n- {addresses: [10.77.0.1], check: none}\n", nil))
	require.NoError(t, err)
	assert.Equal(t, "k.conf", c.Path)
	assert.True(t, c.Converted)
	assert.Equal(t, []string{"k.conf:9: a warning"}, c.Warnings)
	assert.Equal(t, "included.conf:104", c.Origin("vips[0].addresses").String())

	_, err = Load(converted(t, "vips:\n- {addresses: [10.77.0.1], priority: 0}\n", nil))
	assert.EqualError(t, err, "config: included.conf:104: vips[0].priority: 0, want a number from 1 to 254")
}

func TestSecretsInMemoryNeedNoFiles(t *testing.T) {
	key := strings.Repeat("0a", 32)
	const text = "key: {file: auth_hmac key 1}\nvips:\n- {addresses: [10.77.0.1], check: none}\n"
	c, err := Load(converted(t, text, map[string][]byte{"auth_hmac key 1": []byte(key)}))
	require.NoError(t, err)
	secrets, err := c.Key.Load()
	require.NoError(t, err)
	assert.Equal(t, []Secret{{ID: 1, Bytes: []byte(strings.Repeat("\n", 32))}}, secrets)

	const password = "vips:\n- {addresses: [10.77.0.1], check: none, vrrp: {version: 2, advertisementInterval: 1s, passwordFile: auth_pass of VI_1}}\n"
	c, err = Load(converted(t, password, map[string][]byte{"auth_pass of VI_1": []byte("0815pass")}))
	require.NoError(t, err)
	assert.Equal(t, "0815pass", c.VIPs[0].VRRP.Password)
	for _, v := range c.Values() {
		assert.NotContains(t, v.Text, "0815pass")
	}
	next, err := Load(converted(t, password, map[string][]byte{"auth_pass of VI_1": []byte("4711pass")}))
	require.NoError(t, err)
	assert.Equal(t, []string{"vips[].vrrp.passwordFile"}, Diff(c, next).Changed[0].Keys)

	_, err = Load(converted(t, password, nil))
	assert.ErrorContains(t, err, "included.conf:104: vips[0].vrrp.passwordFile: password file auth_pass of VI_1: no such file or directory")
}

func TestLoadTakesOneFileOfOneKind(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "keepvip.yaml")
	require.NoError(t, os.WriteFile(own, []byte(head+"vips: [{addresses: [10.77.0.1]}]\n"), 0o600))
	in := converted(t, "vips: [{addresses: [10.77.0.1]}]\n", nil)
	by := func(change func(*Input)) Input { out := in; change(&out); return out }
	both := "config: the keepalived.conf k.conf: set together with the file " + own + ", want one of them"
	for name, tt := range map[string]struct {
		in   Input
		want string // "": it is read
	}{
		"flag":                   {in, ""},
		"variable":               {by(func(i *Input) { i.Conf, i.Env = "", []string{EnvConf + "=k.conf"} }), ""},
		"flag and variable":      {by(func(i *Input) { i.Env = []string{EnvConf + "=other"} }), ""},
		"both flags":             {by(func(i *Input) { i.File = own }), both},
		"both variables":         {by(func(i *Input) { i.Conf, i.Env = "", []string{EnvConf + "=k.conf", EnvFile + "=" + own} }), both},
		"own file by a flag":     {by(func(i *Input) { i.Conf, i.File, i.Env = "", own, []string{EnvConf + "=k.conf"} }), both},
		"own file by a variable": {by(func(i *Input) { i.Env = []string{EnvFile + "=" + own} }), both},
		"inline":                 {by(func(i *Input) { i.Env = []string{EnvInline + "=" + head} }), "config: KEEPVIP_CONFIG_YAML: set together with the file k.conf, want one of them"},
		"nothing converts":       {by(func(i *Input) { i.Convert = nil }), "config: k.conf: this reads no keepalived.conf, want keepvip's own file: keepvip convert k.conf"},
		"refused": {by(func(i *Input) {
			i.Convert = func(string) (Converted, error) { return Converted{}, errors.New("k.conf:3: error") }
		}), "k.conf:3: error"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := Load(tt.in)
			if tt.want != "" {
				assert.EqualError(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			assert.True(t, c.Converted)
		})
	}
}
