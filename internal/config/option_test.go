package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// samples has a value that is not the default for every option; what it needs beside it, in flags.
var samples = map[string]struct {
	value string
	needs map[string][]string
}{
	"name":                     {value: "registry"},
	"vip":                      {value: "10.77.0.100/24,fd77::100"},
	"label":                    {value: "eth0:1,eth0:1", needs: map[string][]string{"vip": {"10.77.0.100", "fd77::100", "10.77.0.101"}}},
	"scope":                    {value: "link"},
	"group":                    {value: "edge"},
	"mode":                     {value: "external", needs: map[string][]string{"external-address": {"lb.example.org"}}},
	"hooks-only":               {value: "true"},
	"virtual-mac":              {value: "vmac0"},
	"advertise-from-interface": {value: "true", needs: map[string][]string{"virtual-mac": {"auto"}}},
	"external-address":         {value: "[fd77::7]:6443"},
	"external-grace":           {value: "0s"},
	"interface":                {value: "bond0.7"},
	"priority":                 {value: "254"},
	"vrid":                     {value: "255"},
	"vrrp-version":             {value: "2", needs: map[string][]string{"advertisement-interval": {"1s"}}},
	"advertisement-interval":   {value: "40.95s"},
	"preempt":                  {value: "false"},
	"preempt-delay":            {value: "1m30s"},
	"peer":                     {value: "10.77.0.11,10.77.0.12"},
	"checksum":                 {value: "message-only"},
	"down-timer-adverts":       {value: "5"},
	"startup-delay":            {value: "30s"},
	"startup-interval":         {value: "1s"},
	"owner":                    {value: "true"},
	"any-addresses":            {value: "true"},
	"source":                   {value: "10.77.0.11"},
	"min-ttl":                  {value: "64", needs: map[string][]string{"peer": {"10.77.0.11"}}},
	"multicast-group":          {value: "224.0.0.19"},
	"boot-delay":               {value: "30s"},
	"elsewhere":                {value: "10.77.0.101=eth1", needs: map[string][]string{"interface": {"eth0"}, "vip": {"10.77.0.100", "10.77.0.101/24"}}},
	"excluded":                 {value: "10.77.0.101", needs: map[string][]string{"vip": {"10.77.0.100", "10.77.0.101/24"}}},
	"password-file":            {value: "/etc/keepvip/password", needs: map[string][]string{"vrrp-version": {"2"}, "advertisement-interval": {"1s"}}},
	"key-id":                   {value: "0", needs: map[string][]string{"key-file": {"/key"}}},
	"key-accept":               {value: "2=/a,3=/b=c", needs: map[string][]string{"key-file": {"/key"}}},
	"key-mode":                 {value: "receive-only", needs: map[string][]string{"key-file": {"/key"}}},
	"key-window":               {value: "1s", needs: map[string][]string{"key-file": {"/key"}}},
	"announce-refresh":         {value: "0s"},
	"announce-refresh-repeat":  {value: "2"},
	"announce-repeat":          {value: "3"},
	"announce-delay":           {value: "5s"},
	"announce":                 {value: "route"},
	"announce-table":           {value: "254"},
	"announce-protocol":        {value: "200"},
	"spread":                   {value: "direct"},
	"detector":                 {value: "fast"},
	"detector-witness":         {value: "gateway", needs: map[string][]string{"detector": {"fast"}}},
	"spread-weight":            {value: "0"},
	"spread-member":            {value: "10.77.0.11,10.77.0.12"},
	"on-conflict":              {value: "yield"},
	"dhcp":                     {value: "true"},
	"dhcp-client-id":           {value: "api.example.com", needs: map[string][]string{"dhcp": {"true"}}},
	"checks-as-root":           {value: "safe"},
	"probe-before-bind":        {value: "false"},
	"check":                    {value: "http://[::1]:8080/healthz?a=b"},
	"check-ca":                 {value: "/etc/kubernetes/pki/ca.crt"},
	"check-server-name":        {value: "api.example.com", needs: map[string][]string{"check-ca": {"/ca"}}},
	"check-interval":           {value: "10ms"},
	"check-timeout":            {value: "1m0s"},
	"check-rise":               {value: "1"},
	"check-fall":               {value: "1"},
	"when-all-unhealthy":       {value: "release"},
	"key-file":                 {value: "/etc/keepvip/key"},
	"port":                     {value: "1"},
	"candidate":                {value: "10.77.0.11,fd77::12"},
	"raft-peer":                {value: "10.77.0.11,fd77::12"},
	"raft-witness":             {value: "10.77.0.11", needs: map[string][]string{"raft-peer": {"10.77.0.11", "10.77.0.12"}}},
	"raft-heartbeat-timeout":   {value: "150ms"},
	"raft-remove-dead-after":   {value: "24h0m0s"},
	"raft-certificate":         {value: "/c", needs: map[string][]string{"raft-private-key": {"/k"}, "raft-ca": {"/a"}}},
	"raft-private-key":         {value: "/k", needs: map[string][]string{"raft-certificate": {"/c"}, "raft-ca": {"/a"}}},
	"raft-ca":                  {value: "/a", needs: map[string][]string{"raft-private-key": {"/k"}, "raft-certificate": {"/c"}}},
	"election":                 {value: "raft", needs: map[string][]string{"raft-peer": {"10.77.0.11"}, "key-file": {"/key"}}},
	"lifeline":                 {value: "false"},
	"realtime":                 {value: "true"},
	"socket":                   {value: "/tmp/a b/s"},
	"state-dir":                {value: "/tmp"},
	"keepalived-name":          {value: "VI_1"},
	"keepalived-files":         {value: "/tmp"},
	"metrics":                  {value: "off"},
	"health":                   {value: "0.0.0.0:9647"},
	"log-level":                {value: "debug"},
	"log-format":               {value: "json"},
	"keepalived-group-name":    {value: "VG_1", needs: map[string][]string{"group": {"edge"}}},
	"follow-member":            {value: "10.77.0.11,10.77.0.12"},
	"follow-listen":            {value: "127.0.0.1:9443"},
	"follow-connections":       {value: "2000"},
	"follow-on-members":        {value: "true", needs: map[string][]string{"follow-listen": {"127.0.0.1:9443"}, "spread": {"direct"}}},
	"follow-key-file":          {value: "/k"},
	"notify-fifo":              {value: "/run/keepvip/notify"},
	"notify-fifo-user":         {value: "www-data:adm", needs: map[string][]string{"notify-fifo": {"/f"}}},

	"metrics-certificate":      {value: "/c", needs: map[string][]string{"metrics": {"0.0.0.0:9645"}}},
	"metrics-private-key":      {value: "/k", needs: map[string][]string{"metrics": {"0.0.0.0:9645"}, "metrics-certificate": {"/c"}}},
	"metrics-token-file":       {value: "/t", needs: map[string][]string{"metrics": {"0.0.0.0:9645"}, "metrics-certificate": {"/c"}}},
	"metrics-keepalived-names": {value: "true"},
	"metrics-page":             {value: "true", needs: map[string][]string{"metrics": {"0.0.0.0:9645"}}},

	"backend-check":             {value: "https://backend/healthz"},
	"backend-check-ca":          {value: "/ca", needs: map[string][]string{"backend-check": {"https://b/z"}}},
	"backend-check-server-name": {value: "api.example.com"},
	"backend-check-interval":    {value: "10ms"},
	"backend-check-timeout":     {value: "1m0s"},
	"backend-check-rise":        {value: "1"},
	"backend-check-fall":        {value: "1"},
}

// The same value given as flag, as variable, in the file and as Args says it gives the same configuration: no spelling is lost.
func TestEveryOptionFromEverySource(t *testing.T) {
	for _, o := range Options() {
		t.Run(o.Flag, func(t *testing.T) {
			sample, known := samples[o.Flag]
			require.True(t, known, "no sample for --%s", o.Flag)
			base := map[string][]string{"vip": {"10.77.0.100"}}
			maps.Copy(base, sample.needs)
			if o.Flag == "vip" {
				delete(base, "vip")
			}
			with := func(extra map[string][]string) map[string][]string {
				all := map[string][]string{}
				for _, m := range []map[string][]string{base, extra} {
					maps.Copy(all, m)
				}
				return all
			}

			flag, err := Load(Input{Flags: with(map[string][]string{o.Flag: {sample.value}}), Elsewhere: true})
			require.NoError(t, err)
			variable, err := Load(Input{Flags: base, Env: []string{o.Env() + "=" + sample.value}, Elsewhere: true})
			require.NoError(t, err)
			inline, err := Load(Input{Flags: base, Env: []string{EnvInline + "=" + fileWith(o, sample.value)}, Elsewhere: true})
			require.NoError(t, err)
			parsed := map[string][]string{}
			for _, arg := range flag.Args() {
				name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
				parsed[name] = append(parsed[name], value)
			}
			args, err := Load(Input{Flags: parsed, Elsewhere: true})
			require.NoError(t, err)

			assert.Equal(t, texts(flag), texts(variable))
			assert.Equal(t, texts(flag), texts(inline))
			assert.Equal(t, texts(flag), texts(args))
			key := strings.Replace(o.Key, "[]", "[0]", 1)
			assert.Equal(t, strings.ReplaceAll(sample.value, ",", ", "), texts(flag)[key])
			assert.Equal(t, "--"+o.Flag, flag.Origin(key).String())
			assert.Equal(t, o.Env(), variable.Origin(key).String())
			assert.Equal(t, File, inline.Origin(key).Source)
			assert.NotEqual(t, o.Default, sample.value)
		})
	}
}

// texts is every value in force, by key.
func texts(c *Config) map[string]string {
	out := map[string]string{}
	for _, v := range c.Values() {
		out[v.Key] = v.Text
	}
	return out
}

// fileWith is a file with one value at the option's key, as YAML's subset JSON.
func fileWith(o Option, value string) string {
	var leaf any = value
	switch {
	case o.list:
		leaf = strings.Split(value, ",")
	case o.tags[0] != tagString:
		leaf = json.RawMessage(value)
	}
	path := strings.Split(o.Key, ".")
	for i := len(path) - 1; i >= 0; i-- {
		if name, list := strings.CutSuffix(path[i], "[]"); list {
			leaf = map[string]any{name: []any{leaf}}
		} else {
			leaf = map[string]any{path[i]: leaf}
		}
	}
	top := leaf.(map[string]any)
	top["apiVersion"], top["kind"] = apiVersion, fileKind
	out, err := json.Marshal(top)
	if err != nil {
		panic(err)
	}
	return string(out)
}

func TestOptionsAreDistinct(t *testing.T) {
	keys, flags := map[string]bool{}, map[string]bool{"config": true, "keepalived-conf": true} // the flags that are no options
	for _, o := range Options() {
		assert.False(t, keys[o.Key], o.Key)
		assert.False(t, flags[o.Flag], o.Flag)
		keys[o.Key], flags[o.Flag] = true, true
		assert.NotEqual(t, EnvFile, o.Env())
		assert.NotEqual(t, EnvConf, o.Env())
		assert.NotEqual(t, EnvInline, o.Env())
		assert.NotEmpty(t, o.Help)
		assert.False(t, strings.HasSuffix(o.Help, "."), o.Key)
	}
}

func TestFlags(t *testing.T) {
	f := NewFlags()
	values := map[string]*flagValue{}
	for o, v := range f.All() {
		values[o.Flag] = v
		assert.Equal(t, o.Default, v.String())
		assert.Equal(t, o.Kind(), v.Type())
	}
	assert.Empty(t, f.Given())
	for _, set := range [][2]string{{"vip", "10.77.0.1"}, {"vip", "10.77.0.2"}, {"vrid", "1"}, {"vrid", "2"}, {"preempt", "true"}} {
		require.NoError(t, values[set[0]].Set(set[1]))
	}
	assert.Equal(t, map[string][]string{"vip": {"10.77.0.1", "10.77.0.2"}, "vrid": {"2"}, "preempt": {"true"}}, f.Given())
	assert.Equal(t, "10.77.0.1,10.77.0.2", values["vip"].String())
	assert.True(t, values["preempt"].IsBoolFlag())
	assert.False(t, values["vrid"].IsBoolFlag())
}

// The schema accepts the reference's example and knows every key; it is checked without a validator, by walking both.
func TestSchemaKnowsEveryKey(t *testing.T) {
	var schema map[string]any
	require.NoError(t, json.Unmarshal(Schema(), &schema))
	for _, o := range Options() {
		at := schema
		for name := range strings.SplitSeq(o.Key, ".") {
			if alternatives, yes := at["oneOf"].([]any); yes {
				at = alternatives[0].(map[string]any)
			}
			assert.Equal(t, false, at["additionalProperties"], o.Key)
			next := at["properties"].(map[string]any)[strings.TrimSuffix(name, "[]")]
			require.NotNil(t, next, o.Key)
			at = next.(map[string]any)
			if strings.HasSuffix(name, "[]") {
				at = at["items"].(map[string]any)
			}
		}
		assert.Equal(t, o.Help, at["description"])
		if o.Default != "" {
			assert.Equal(t, o.Default, fmt.Sprint(at["default"]))
		}
	}
}
