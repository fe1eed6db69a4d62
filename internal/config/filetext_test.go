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

// converted is what a keepalived.conf comes to that has one entry, with more options of it.
func converted(t *testing.T, secrets map[string][]byte, more ...string) Input {
	t.Helper()
	at := func(line int) Origin { return Origin{Source: File, Name: "included.conf", Line: line} }
	return Input{Conf: "k.conf", Convert: func(path string) (Converted, error) {
		assert.Equal(t, "k.conf", path)
		c := Converted{Draft: &Draft{}, Secrets: secrets, Warnings: []string{"k.conf:9: a warning"}}
		c.Draft.Entry("vips", at(104))
		c.Draft.Set("vips[].check", at(104), "none")
		c.Draft.Add("vips[].addresses", at(105), "10.77.0.1")
		c.Draft.Add("vips[].addresses", at(106), "10.77.0.2")
		for i := 0; i < len(more); i += 2 {
			c.Draft.Set(more[i], at(107), more[i+1])
		}
		return c, nil
	}}
}

func TestConvertedConfigurationNamesTheLinesThatItIsMadeOf(t *testing.T) {
	c, err := Load(converted(t, nil))
	require.NoError(t, err)
	assert.Equal(t, "k.conf", c.Path)
	assert.True(t, c.Converted)
	assert.Equal(t, []string{"k.conf:9: a warning"}, c.Warnings)
	assert.Equal(t, "included.conf:105", c.Origin("vips[0].addresses").String())
	assert.Len(t, c.VIPs[0].Addresses, 2)

	_, err = Load(converted(t, nil, "vips[].priority", "0"))
	assert.EqualError(t, err, "config: included.conf:107: vips[0].priority: 0, want a number from 1 to 254")
	_, err = Load(converted(t, nil, "vips[].prority", "7"))
	assert.EqualError(t, err, "config: included.conf:107: vips[].prority: unknown key")
}

func TestSecretsInMemoryNeedNoFiles(t *testing.T) {
	key := strings.Repeat("0a", 32)
	c, err := Load(converted(t, map[string][]byte{"auth_hmac key 1": []byte(key)}, "key.file", "auth_hmac key 1"))
	require.NoError(t, err)
	secrets, err := c.Key.Load()
	require.NoError(t, err)
	assert.Equal(t, []Secret{{ID: 1, Bytes: []byte(strings.Repeat("\n", 32))}}, secrets)

	password := []string{"vips[].vrrp.version", "2", "vips[].vrrp.advertisementInterval", "1s", "vips[].vrrp.passwordFile", "auth_pass of VI_1"}
	c, err = Load(converted(t, map[string][]byte{"auth_pass of VI_1": []byte("0815pass")}, password...))
	require.NoError(t, err)
	assert.Equal(t, "0815pass", c.VIPs[0].VRRP.Password)
	for _, v := range c.Values() {
		assert.NotContains(t, v.Text, "0815pass")
	}
	next, err := Load(converted(t, map[string][]byte{"auth_pass of VI_1": []byte("4711pass")}, password...))
	require.NoError(t, err)
	assert.Equal(t, []string{"vips[].vrrp.passwordFile"}, Diff(c, next).Changed[0].Keys)

	_, err = Load(converted(t, nil, password...))
	assert.ErrorContains(t, err, "included.conf:107: vips[0].vrrp.passwordFile: password file auth_pass of VI_1: no such file or directory")
}

func TestLoadTakesOneFileOfOneKind(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "keepvip.yaml")
	require.NoError(t, os.WriteFile(own, []byte(head+"vips: [{addresses: [10.77.0.1]}]\n"), 0o600))
	in := converted(t, nil)
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
