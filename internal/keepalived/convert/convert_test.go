package convert

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/keepalived"
	"github.com/keepvip/keepvip/internal/keepalived/syntax"
)

// one is a host with one file.
type one string

func (o one) Read(path string) ([]byte, error) {
	if path != "k.conf" {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(o), nil
}

func (one) Glob(string) ([]string, error) { return nil, nil }

func converted(t testing.TB, text string, o Options) Result {
	t.Helper()
	doc, err := syntax.Read("k.conf", syntax.Options{Files: one(text)})
	require.NoError(t, err)
	return Convert(doc, o)
}

// load reads a text as keepvip does.
func load(text []byte) (*config.Config, error) {
	return config.Load(config.Input{Env: []string{config.EnvInline + "=" + string(text)}, Elsewhere: true})
}

func shown(r Result) string {
	var b strings.Builder
	for _, f := range r.Findings {
		fmt.Fprintf(&b, "%v: %s %s: %s", f.Origin, f.Severity, f.Code, f.Text)
		if f.Remedy != "" {
			b.WriteString("; " + f.Remedy)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Each sample has a golden file: the text, and behind a line of dashes the findings. UPDATE_GOLDEN=1 writes them.
func TestConvertGolden(t *testing.T) {
	samples, err := filepath.Glob("testdata/*.conf")
	require.NoError(t, err)
	require.Len(t, samples, 11)
	for _, path := range samples {
		t.Run(filepath.Base(path), func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			r := converted(t, string(text), Options{})
			got := string(r.Text) + "---\n" + shown(r)
			if r.Text == nil {
				p := converted(t, string(text), Options{Partial: true})
				assert.Equal(t, r.Findings, p.Findings)
				got = "refused; with --partial:\n" + string(p.Text) + "---\n" + shown(r)
			}
			golden := strings.TrimSuffix(path, ".conf") + ".golden"
			if os.Getenv("UPDATE_GOLDEN") != "" {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "regenerate with make golden and review the difference")
		})
	}
}

func TestConvertedTextIsDeterministic(t *testing.T) {
	text, err := os.ReadFile("testdata/refused.conf")
	require.NoError(t, err)
	first := converted(t, string(text), Options{Partial: true})
	for range 20 {
		assert.Equal(t, first, converted(t, string(text), Options{Partial: true}))
	}
}

const base1 = "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n  10.0.0.1\n }\n%s\n}\n"

// What a keyword of an instance comes to in keepvip.
func TestConvertInstanceKeyword(t *testing.T) {
	for text, want := range map[string]func(config.VIP) any{
		"": func(v config.VIP) any {
			return v.VRRP.Version == 2 && v.VRRP.AdvertisementInterval.String() == "1s" && v.Priority == 100
		},
		"priority 254":             func(v config.VIP) any { return v.Priority == 254 },
		"priority 255":             func(v config.VIP) any { return v.VRRP.Owner },
		"state MASTER":             func(v config.VIP) any { return v.VRRP.Owner },
		"version 3\nadvert_int .5": func(v config.VIP) any { return v.VRRP.Version == 3 && v.VRRP.AdvertisementInterval.String() == "500ms" },
		"advert_int 0.5":           func(v config.VIP) any { return v.VRRP.AdvertisementInterval.String() == "1s" },
		"nopreempt":                func(v config.VIP) any { return !v.VRRP.Preempt },
		"preempt_delay 1.5":        func(v config.VIP) any { return v.VRRP.PreemptDelay.String() == "1.5s" },
		"down_timer_adverts 9":     func(v config.VIP) any { return v.VRRP.DownTimerAdverts == 9 },
		"garp_master_refresh 60":   func(v config.VIP) any { return v.Announce.Refresh.String() == "1m0s" },
		"garp_master_refresh 0":    func(v config.VIP) any { return v.Announce.Refresh == 0 },
		"smtp_alert":               func(v config.VIP) any { return v.Check.URL == "none" && v.VRRP.ID == 5 && v.Interface == "eth0" },
	} {
		r := converted(t, fmt.Sprintf(base1, text), Options{})
		cfg, err := load(r.Text)
		require.NoError(t, err, "%s: %s", text, shown(r))
		assert.Equal(t, true, want(cfg.VIPs[0]), text)
	}
}

// What would change who holds the address, or which addresses there are, is refused at its line, and --partial goes on without it.
func TestConvertRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"use_vmac":   "virtual",
		"use_ipvlan": "ipvlan",
		"vrf red":    "VRF",
		"virtual_routes {\n 10.1.0.0/16 via 10.0.0.9\n}":           "routes",
		"virtual_rules {\n from 10.0.0.1 table 5\n}":               "routes",
		"track_bfd {\n b\n}":                                       "BFD",
		"mcast_dst_ip 224.0.0.50":                                  "224.0.0.50",
		"dont_track_primary":                                       "interface is down",
		"advert_int 60":                                            "40.95s",
		"unicast_peer {\n 10.0.0.7\n}\nunicast_ttl 64":             "hop limit 64",
		"authentication {\n auth_type AH\n auth_pass x\n}":         "IPsec",
		"authentication {\n auth_type PASS\n auth_pass a\tb\n}":    "",
		"authentication {\n auth_type PASS\n auth_pass \"a b\"\n}": "printable",
		"unknown_block {\n x\n}":                                   "unknown_block",
		"priority many":                                            "many",
		"auth_hmac {\n}":                                           "key: {file",
		"v3_checksum_as_v2":                                        "message-only",
		"virtual_ipaddress_excluded {\n 10.0.0.2\n}":               "advertises every address",
		"virtual_ipaddress_excluded {\n 10.0.0.2 dev eth9\n}":      "eth9",
	} {
		if want == "" {
			continue
		}
		r := converted(t, fmt.Sprintf(base1, text), Options{})
		assert.Nil(t, r.Text, text)
		assert.Positive(t, r.Refused, text)
		assert.Contains(t, shown(r), want, text)
		assert.NotContains(t, shown(r), "k.conf:0", text)
		p := converted(t, fmt.Sprintf(base1, text), Options{Partial: true})
		_, err := load(p.Text)
		require.NoError(t, err, text)
	}
}

// A password is named by its file, and shown nowhere.
func TestConvertShowsNoPassword(t *testing.T) {
	r := converted(t, fmt.Sprintf(base1, "authentication {\n auth_type PASS\n auth_pass s3cr3tXX\n}"), Options{Secrets: "/etc/keepvip/secrets/"})
	require.NotNil(t, r.Text)
	assert.NotContains(t, string(r.Text)+shown(r), "s3cr3t")
	cfg, err := load(r.Text)
	require.NoError(t, err)
	assert.Equal(t, "/etc/keepvip/secrets/a.password", cfg.VIPs[0].VRRP.PasswordFile)
	assert.Contains(t, shown(r), "the first 8 characters of auth_pass")
}

// Whom a script runs as: never root.
func TestConvertScriptUser(t *testing.T) {
	const script = "vrrp_script s {\n script /bin/true\n%s\n}\n" + "vrrp_instance a {\n interface eth0\n virtual_router_id 5\n virtual_ipaddress {\n 10.0.0.1\n }\n track_script {\n s\n }\n}\n"
	for _, tt := range []struct{ give, want string }{
		{fmt.Sprintf(script, ""), "check"},
		{fmt.Sprintf(script, "user root"), "check"},
		{fmt.Sprintf(script, "user 0"), "check"},
		{fmt.Sprintf(script, "user web"), "web"},
		{"global_defs {\n script_user web web\n}\n" + fmt.Sprintf(script, ""), "web"},
		{"global_defs {\n script_user web\n}\n" + fmt.Sprintf(script, "user root"), "check"},
	} {
		r := converted(t, tt.give, Options{User: "check"})
		cfg, err := load(r.Text)
		require.NoError(t, err, shown(r))
		assert.Equal(t, tt.want, cfg.VIPs[0].Checks[0].User, tt.give)
		assert.Equal(t, tt.want == "check", strings.Contains(shown(r), "without capabilities"), tt.give)
	}
}

// Weights, times and counts of a script are keepalived's.
func TestConvertScriptArithmetic(t *testing.T) {
	r := converted(t, "vrrp_script s {\n script \"/bin/a 'b c'  d\"\n interval 4000\n timeout 70\n rise 5000\n fall 5000\n weight -7\n}\n"+
		"vrrp_script d {\n script /bin/d\n}\n"+fmt.Sprintf(base1, "track_script {\n s weight 9\n d\n}"), Options{})
	cfg, err := load(r.Text)
	require.NoError(t, err, shown(r))
	s, d := cfg.VIPs[0].Checks[0], cfg.VIPs[0].Checks[1]
	assert.Equal(t, []string{"/bin/a", "b c", "d"}, s.Command)
	assert.Equal(t, []any{9, "10m0s", "1m0s", 1000, 6}, []any{s.Weight, s.Interval.String(), s.Timeout.String(), s.Rise, s.Fall})
	assert.Equal(t, []any{0, "1s", "1s", 1, 1}, []any{d.Weight, d.Interval.String(), d.Timeout.String(), d.Rise, d.Fall})
	assert.Equal(t, config.Release, cfg.VIPs[0].Check.WhenAllUnhealthy)
	assert.Contains(t, shown(r), "within an hour")
}

func TestConvertNothingToCarry(t *testing.T) {
	for _, text := range []string{"", "global_defs {\n}\n", "virtual_server 10.0.0.1 80 {\n}\n", "vrrp_instance a {\n}\n"} {
		r := converted(t, text, Options{Partial: true})
		assert.Nil(t, r.Text)
		assert.Contains(t, shown(r), "no vrrp_instance that can be carried over")
	}
}

// Every keyword that the model takes leaves a line, or a finding at its place, or is one that says keepalived's default.
func TestConvertDropsNothingSilently(t *testing.T) {
	samples, err := filepath.Glob("../*/testdata/*.conf")
	require.NoError(t, err)
	require.Greater(t, len(samples), 20)
	for _, path := range samples {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, f := range converted(t, string(text), Options{Partial: true}).Findings {
			assert.NotEqual(t, CodeLeft, f.Code, "%s: %v %s", path, f.Origin, f.Text)
			assert.NotEqual(t, "", f.Text)
		}
	}
}

// A keyword that the package does not know is found at run time.
func TestConvertLeftIsAFinding(t *testing.T) {
	c := &converter{said: map[keepalived.Finding]bool{}}
	c.left([]*syntax.Node{{At: syntax.Origin{File: "k", Line: 3}, Words: []string{"quite_new"}}})
	require.Len(t, c.findings, 1)
	assert.Equal(t, CodeLeft, c.findings[0].Code)
}

// Whatever is read is either refused with a finding, or comes to a configuration that keepvip takes.
func FuzzConvert(f *testing.F) {
	for _, pattern := range []string{"testdata/*.conf", "../dump/testdata/*.conf", "../lint/testdata/*.conf"} {
		samples, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, path := range samples {
			text, err := os.ReadFile(path)
			require.NoError(f, err)
			f.Add(string(text), false)
		}
	}
	f.Fuzz(func(t *testing.T, text string, partial bool) {
		if len(text) > 20000 || strings.Contains(text, "~SEQ") {
			return // long sequences are of package syntax, and take their time
		}
		r := converted(t, text, Options{Partial: partial})
		for _, found := range r.Findings {
			require.NotEmpty(t, found.Text)
			require.NotContains(t, found.Code, " ")
		}
		if r.Text == nil {
			require.Positive(t, r.Refused)
			return
		}
		require.True(t, partial || r.Refused == 0)
		_, err := load(r.Text)
		require.NoError(t, err)
	})
}
