package keepalived

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The rows are lines of virtual_ipaddress, as keepalived 2.2.7 dumps them; without a want it drops the line.
func TestAddressReadsAsKeepalivedDoes(t *testing.T) {
	for line, c := range map[string]struct{ want, fault string }{
		"10.9.0.1": {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global", ""},
		"10.9.0.1/24 dev eth1 label eth1:1 scope link brd 10.9.0.255": {"Prefix=10.9.0.1/24 Interface=eth1 Scope=link Label=eth1:1 Broadcast=10.9.0.255", ""},
		"10.9.0.1/24 brd +":                {"Prefix=10.9.0.1/24 Interface=eth0 Scope=global Broadcast=10.9.0.255", ""},
		"10.9.0.1/20 broadcast +":          {"Prefix=10.9.0.1/20 Interface=eth0 Scope=global Broadcast=10.9.15.255", ""},
		"10.9.0.1/24 brd -":                {"Prefix=10.9.0.1/24 Interface=eth0 Scope=global Broadcast=10.9.0.0", ""},
		"10.9.0.1 brd +":                   {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global", CodeValue},
		"10.9.0.1/024":                     {"Prefix=10.9.0.1/24 Interface=eth0 Scope=global", ""},
		"10.9.0.1/33":                      {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global", CodeValue},
		"10.9.0.1/255.255.255.0":           {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global", CodeValue},
		"10.9.0.1 scope 7":                 {"Prefix=10.9.0.1/32 Interface=eth0 Scope=7", ""},
		"10.9.0.1 scope foo":               {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global", CodeValue},
		"10.9.0.1 peer 10.9.0.2":           {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global Peer=10.9.0.2/32", ""},
		"10.9.0.1 no_track noprefixroute":  {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global NoPrefixRoute=true NoTrack=true", ""},
		"10.9.0.1 10.9.0.2":                {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global", "address-option"},
		"10.9.0.1 foo no_track":            {"Prefix=10.9.0.1/32 Interface=eth0 Scope=global NoTrack=true", "address-option"},
		"10.9.0.1 dev":                     {"", CodeMissing},
		"10.9.0.1 label a_very_long_label": {"", CodeValue},
		"010.9.0.1":                        {"", CodeValue},
		"10.9.0.256":                       {"", CodeValue},
		"fd09::1%eth0":                     {"", CodeValue},
		"default":                          {"", CodeValue},
	} {
		got := model(t, head+"virtual_ipaddress {\n"+line+"\n}\n}\n")
		i := got.Instances[0]
		if c.want == "" {
			assert.Empty(t, i.Addresses, line)
		} else if assert.Len(t, i.Addresses, 1, line) {
			assert.Equal(t, "{"+c.want+"}", short(reflect.ValueOf(i.Addresses[0])), line)
		}
		var want []string
		if c.fault != "" {
			want = []string{"5 " + c.fault}
		}
		if c.want == "" {
			want = append([]string{"1 " + CodeEmpty}, want...)
		}
		assert.Equal(t, append([]string{}, want...), faults(got), line)
	}
}

func TestIPv6AddressesReadAsKeepalivedDoes(t *testing.T) {
	got := model(t, head+"virtual_ipaddress {\n fe80::1/64\n FD09::2\n fd09::3/64 -nodad home\n fd09::4 preferred_lft forever\n fd09::5 scope link\n fd09::6 label x\n 10.9.0.5\n}\n}\n")
	i := got.Instances[0]
	assert.True(t, i.IPv6)
	assert.Equal(t, 3, i.Version)
	assert.Equal(t, "ff02::12", i.Group.String())
	assert.Equal(t, strings.Join([]string{
		"{Prefix=fe80::1/64 Interface=eth0 Scope=global}", "{Prefix=fd09::2/128 Interface=eth0 Scope=global PreferredLft=0}",
		"{Prefix=fd09::3/64 Interface=eth0 Scope=global Home=true NoDAD=true}", "{Prefix=fd09::4/128 Interface=eth0 Scope=global PreferredLft=forever}",
		"{Prefix=fd09::5/128 Interface=eth0 Scope=global PreferredLft=0}", "{Prefix=fd09::6/128 Interface=eth0 Scope=global PreferredLft=0}",
	}, ","), short(reflect.ValueOf(i.Addresses)))
	assert.Equal(t, []string{"9 address-family", "10 address-family", "11 address-family"}, faults(got))
}

func TestVersionOfIPv6(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		version int
		faults  []string
	}{
		"none":             {head + "virtual_ipaddress {\nfe80::1\n}\n}", 3, nil},
		"2 by global_defs": {"global_defs {\nvrrp_version 2\n}\n" + head + "virtual_ipaddress {\nfe80::1\n}\n}", 3, nil},
		"2 before":         {head + "version 2\nvirtual_ipaddress {\nfe80::1\n}\n}", 2, []string{"4 address-family"}},
		"2 behind":         {head + "virtual_ipaddress {\nfe80::1\n}\nversion 2\n}", 3, []string{"7 address-family"}},
		"2 in strict mode": {head + "version 2\nstrict_mode\nvirtual_ipaddress {\nfe80::1\n}\n}", 3, []string{"4 address-family"}},
	} {
		got := model(t, c.text)
		assert.Equal(t, c.version, got.Instances[0].Version, name)
		assert.Equal(t, append([]string{}, c.faults...), faults(got), name)
	}
}

func TestGlobalReadsAsKeepalivedDoes(t *testing.T) {
	base := model(t, "").Global
	assert.Equal(t, "{Version=2 Garp={Delay=5s Repeat=5 RefreshRepeat=1 LowerPrioDelay=5s LowerPrioRepeat=5} Group4=224.0.0.18 Group6=ff02::12 DownTimerAdverts=3 DefaultInterface=eth0}", short(reflect.ValueOf(base)))
	for _, c := range []struct {
		body, want string
		faults     []string
	}{
		{"router_id a b", "RouterID=a", []string{"2 extra-words"}},
		{`router_id "a b"`, "RouterID=a b", nil},
		{"script_user root daemon\nenable_script_security", "ScriptUser={Name=root Group=daemon} ScriptSecurity=true", nil},
		{"enable_script_security no", "ScriptSecurity=true", []string{"2 argument-ignored"}},
		{"vrrp_version 3", "Version=3", nil},
		{"vrrp_version 4", "", []string{"2 value"}},
		{"vrrp_garp_master_delay 7", "Garp={Delay=7s Repeat=5 RefreshRepeat=1 LowerPrioDelay=7s LowerPrioRepeat=5}", nil},
		{"vrrp_garp_master_repeat 0", "Garp={Delay=5s Repeat=1 RefreshRepeat=1 LowerPrioDelay=5s LowerPrioRepeat=1}", []string{"2 value"}},
		{"vrrp_garp_lower_prio_repeat 0", "Garp={Delay=5s Repeat=5 RefreshRepeat=1 LowerPrioDelay=5s}", nil},
		{"vrrp_min_garp", "Garp={Repeat=1 LowerPrioRepeat=1}", nil},
		{"vrrp_min_garp\nvrrp_min_garp no\nvrrp_garp_master_delay 7", "Garp={Delay=7s Repeat=1 LowerPrioDelay=7s LowerPrioRepeat=1}", nil},
		{"vrrp_garp_interval 0.1\nvrrp_gna_interval 0.25", "GarpInterval=100ms GNAInterval=250ms", nil},
		{"vrrp_garp_interval 0", "", []string{"2 value"}},
		{"vrrp_garp_interval 0.0000001", "", []string{"2 value"}},
		{"vrrp_mcast_group4 224.0.0.100\nvrrp_mcast_group6 ff02::13", "Group4=224.0.0.100 Group6=ff02::13", nil},
		{"vrrp_mcast_group4 10.0.0.1", "", []string{"2 value"}},
		{"vrrp_strict no", "Strict=true", []string{"2 argument-ignored"}},
		{"max_auto_priority", "MaxAutoPriority=99", nil},
		{"max_auto_priority -1", "MaxAutoPriority=-1", nil},
		{"vrrp_startup_delay 5.5", "StartupDelay=5.5s", nil},
		{"smtp_alert\nsmtp_alert_vrrp no\nnotification_email {\n a@b c@d\n}\nsmtp_server 1.2.3.4 25", "Mail={To=a@b,c@d Server=1.2.3.4 25}", nil},
		{"smtp_alert yes", "Mail={Alert=true}", nil},
		{"smtp_alert maybe", "", []string{"2 value"}},
		{"notify_fifo /f u g\nnotify_fifo_script \"/s a\"", "NotifyFIFO={Path=/f Owner={Name=u Group=g} Script={Args=/s,a Text=/s a}}", nil},
		{"v3_checksum_as_v2", "", []string{"2 newer-keyword"}},
		{"rooter_id x", "", []string{"2 unknown-keyword"}},
		{"lvs_flush\nenable_dbus\nprocess_names", "", nil},
	} {
		got := model(t, "global_defs {\n"+c.body+"\n}\n")
		assert.Equal(t, c.want, differs(&got.Global, &base), c.body)
		assert.Equal(t, append([]string{}, c.faults...), faults(got), c.body)
	}
}

func TestGlobalDefsCountForInstancesAboveThem(t *testing.T) {
	got := model(t, head+vip+"}\nglobal_defs {\nvrrp_version 3\nvrrp_garp_master_delay 7\nvrrp_lower_prio_no_advert\nvrrp_down_timer_adverts 4\n}\n").Instances[0]
	assert.Equal(t, 3, got.Version)
	assert.Equal(t, "7s", got.Garp.Delay.String())
	assert.Equal(t, 4, got.DownTimer)
	assert.True(t, got.LowerNoAdvert)
}

func TestScriptReadsAsKeepalivedDoes(t *testing.T) {
	base := model(t, "vrrp_script s {\nscript /bin/true\n}").Scripts[0]
	assert.Equal(t, "{Command={Args=/bin/true Text=/bin/true} Interval=1s Rise=1 Fall=1}", short(reflect.ValueOf(base)))
	for _, c := range []struct {
		body, want string
		faults     []string
	}{
		{"interval 3\nweight -2\nfall 10\nrise 2", "Interval=3s Weight={Value=-2} Rise=2 Fall=10", nil},
		{"timeout 5\nuser u g\ninit_fail", "Command={Args=/bin/true Text=/bin/true User={Name=u Group=g}} Timeout=5s InitFail=true", nil},
		{"weight 5 reverse", "Weight={Value=5 Reverse=true}", nil},
		{"weight 254", "Weight={Value=254}", []string{"3 value"}},
		{"weight 5 foo", "Weight={Value=5}", []string{"3 value"}},
		{"interval 0\ntimeout 0", "Timeout=1s", []string{"3 value", "4 value"}},
		{"interval 1.5\nrise x\nfall -1", "", []string{"3 value", "4 value", "5 value"}},
		{"interval 4295", "", []string{"3 value"}},
	} {
		got := model(t, "vrrp_script s {\nscript /bin/true\n"+c.body+"\n}")
		assert.Equal(t, c.want, differs(got.Scripts[0], base), c.body)
		assert.Equal(t, append([]string{}, c.faults...), faults(got), c.body)
	}
	for body, code := range map[string]string{
		"interval 1":                      "1 missing",
		`script ""`:                       "1 missing",
		"script \"/bin/true 'a\"":         "1 missing",
		"script /bin/true a b":            "2 script-arguments",
		"script /bin/true\nscript /bin/a": "3 duplicate",
	} {
		assert.Contains(t, faults(model(t, "vrrp_script s {\n"+body+"\n}")), code, body)
	}
}

func TestTrackFileAndProcessReadAsKeepalivedDoes(t *testing.T) {
	got := model(t, `track_file f1 {
 file /tmp/x1
}
vrrp_track_file f2 {
 file "/tmp/x 2"
 weight -5 reverse
 init_file 7 overwrite
}
track_file f3 {
 weight 300
}
vrrp_track_process p1 {
 process "haproxy" -f x
 weight 5
 quorum 2
 quorum_max 3
 delay 2
 fork_delay 0.5
 full_command
 param_match initial
}
vrrp_instance P {
 interface eth0
 virtual_router_id 2
 virtual_ipaddress {
  10.9.0.100
 }
 track_file {
  f1
  f2 weight 10
 }
 track_process {
  p1 weight -3
 }
}
`)
	assert.Equal(t, "{Path=/tmp/x1 Weight={Value=1}},{Path=/tmp/x 2 Weight={Value=-5 Reverse=true} Init=7 Overwrite=true}", short(reflect.ValueOf(got.Files)))
	assert.Equal(t, "{Command=haproxy,-f,x ParamMatch=initial Weight={Value=5} Quorum=2 QuorumMax=3 ForkDelay=500ms TerminateDelay=2s FullCommand=true}", short(reflect.ValueOf(got.Processes)))
	assert.Equal(t, "{Files={Name=f1 Weight={Value=1}},{Name=f2 Weight={Value=10 Reverse=true} Own=true} Processes={Name=p1 Weight={Value=-3} Own=true}}", short(reflect.ValueOf(got.Instances[0].Track)))
	assert.Equal(t, []string{"9 missing", "10 value"}, faults(got))
}

// A relative path of a track_file begins where the configuration is, which is /k.conf.
func TestTrackFileBesideTheConfiguration(t *testing.T) {
	for word, want := range map[string]string{
		"run/load": "/run/load", `"../a b"`: "/a b", `" run/a"`: "/ run/a", `""`: "/", `"/run/a b"`: "/run/a b", "'/run/a": "/'/run/a",
	} {
		cfg := model(t, "track_file f {\n file "+word+"\n}\n")
		require.Len(t, cfg.Files, 1, word)
		assert.Equal(t, want, cfg.Files[0].Path)
		assert.Equal(t, word == `""`, slices.Contains(faults(cfg), "2 value"), word)
	}
}

const members = `vrrp_instance A {
 interface eth0
 virtual_router_id 2
 virtual_ipaddress {
  10.9.0.100
 }
 track_script {
  s
 }
 track_interface {
  eth3 weight 4
 }
}
vrrp_instance "B B" {
 interface eth0
 virtual_router_id 3
 virtual_ipaddress {
  10.9.0.101
 }
}
`

func TestGroupReadsAsKeepalivedDoes(t *testing.T) {
	got := model(t, `vrrp_script s {
 script /bin/true
 weight 3
}
vrrp_sync_group G {
 group {
  A "B B" C
 }
 notify_master "/bin/a b"
 smtp_alert
 track_interface {
  eth1
  eth2 weight 5
 }
}
`+members)
	require.Len(t, got.Groups, 1)
	assert.Equal(t, "{Members=A,B B Track={Interfaces={Name=eth1},{Name=eth2 Weight={Value=5} Own=true}} Notify={Master={Args=/bin/a,b Text=/bin/a b}} MailAlert=true}",
		short(reflect.ValueOf(got.Groups[0])))
	assert.Equal(t, "G", got.Instances[0].SyncGroup)
	assert.Equal(t, "{Interfaces={Name=eth3 Own=true}}", short(reflect.ValueOf(got.Instances[0].Track)), "weights of members do not count, and a script with one is dropped")
	assert.Equal(t, []string{"6 reference", "23 weight-dropped", "26 weight-dropped"}, faults(got))
}

func TestGroupKeepsWeightsWhereItIsTold(t *testing.T) {
	got := model(t, "vrrp_script s {\nscript /bin/true\nweight 3\n}\nvrrp_sync_group G {\ngroup {\nA\nB B\n\"B B\"\n}\nsync_group_tracking_weight\n}\n"+members)
	assert.Equal(t, "{Interfaces={Name=eth3 Weight={Value=4} Own=true} Scripts={Name=s Weight={Value=3}}}", short(reflect.ValueOf(got.Instances[0].Track)))
}

func TestWhatIsTrackedStandsAbove(t *testing.T) {
	got := model(t, members+"vrrp_script s {\nscript /bin/true\n}\n")
	assert.Empty(t, got.Instances[0].Track.Scripts)
	assert.Equal(t, []string{"8 reference"}, faults(got))
}

func TestInstancesNeedANameAndMore(t *testing.T) {
	for text, want := range map[string][]string{
		"vrrp_instance A B {\n}":                {"1 missing"},
		"vrrp_instance {\n}":                    {"1 missing"},
		"vrrp_instance A {\n}":                  {"1 missing", "1 missing", "1 no-address"},
		head + vip + "}\n" + head + vip + "}\n": {"8 duplicate"},
	} {
		assert.Equal(t, want, faults(model(t, text)), text)
	}
}

func TestFindingsTellNoPassword(t *testing.T) {
	for _, pass := range []string{"secret-that-is-long", "a secret", `"unclosed secret`, "x {secret}"} {
		for _, f := range model(t, head+"authentication {\nauth_type PASS\nauth_pass "+pass+"\n}\n"+vip+"}\n").Findings {
			assert.NotContains(t, f.Text+f.Remedy, "secret", pass)
		}
	}
}

func TestListsAreLines(t *testing.T) {
	for inside, want := range map[string][]string{
		"virtual_routes {\n a {\n b\n }\n c\n}":          {"5 brace"},
		"track_interface x {\n eth1\n}":                  {"4 extra-words"},
		"track_interface {\n eth1 {\n}\n}":               {"5 brace"},
		"virtual_ipaddress_excluded y z {\n 10.9.0.7\n}": {"4 extra-words"},
		"virtual_ipaddress_excluded {\n}":                {"4 missing"},
		"interface a_name_of_an_interface":               {"4 value"},
	} {
		assert.Equal(t, want, faults(model(t, head+inside+"\n"+vip+"}\n")), inside)
	}
	assert.Equal(t, []string{"2 missing"}, faults(model(t, "global_defs {\nnotification_email {\n}\n}")))
	assert.Equal(t, []string{"3 duplicate"}, faults(model(t, "track_file f {\nfile /a\nfile /b\n}")))
}

// Nothing behind a block with an unknown name is lost.
func TestUnknownBlockSwallowsNothing(t *testing.T) {
	got := model(t, "global_defs {\n router_id A\n blk {\n inner 1\n deeper {\n x\n }\n }\n vrrp_version 3\n}\nunknown_top x {\n a {\n b\n }\n}\n"+head+"typo {\n x {\n }\n}\npriority 7\n"+vip+"}\n"+
		strings.ReplaceAll(head, "P", "Q")+vip+"}\n")
	assert.Equal(t, 3, got.Global.Version)
	require.Len(t, got.Instances, 2)
	assert.Equal(t, 7, got.Instances[0].Priority)
	assert.Len(t, got.Instances[0].Addresses, 1)
	assert.Equal(t, []string{"3 unknown-keyword", "11 unknown-keyword", "19 unknown-keyword"}, faults(got))
}

func TestNotesNameWhatKeepvipHasNothingFor(t *testing.T) {
	got := model(t, "virtual_server 10.0.0.1 80 {\n foo {\n }\n}\nbfd_instance b {\n}\nstatic_routes {\n 10.0.0.0/8 via 10.9.0.1\n}\nstatic_ipaddress {\n 10.9.7.2\n}\n"+head+vip+"virtual_routes {\n default via 10.9.0.1\n}\nuse_ipvlan\n}\n")
	assert.Empty(t, faults(got))
	var codes []string
	for _, f := range got.Findings {
		codes = append(codes, f.Code)
		assert.NotEmpty(t, f.Text)
	}
	assert.Equal(t, []string{codeNotVRRP, CodeUnsupported, CodeIgnored, CodeIgnored, CodeUnsupported, CodeUnsupported}, codes)
	assert.Equal(t, "eth0", got.Addresses[0].Interface)
	assert.Equal(t, []string{"10.0.0.0/8", "via", "10.9.0.1"}, got.Routes[0].Words)
}

func TestUnknownKeywordsAreCompared(t *testing.T) {
	for text, want := range map[string]string{
		"vrrp_instence A {\n}":          "vrrp_instance",
		head + "prioritiy 5\n}":         "priority",
		head + "virtual_router_di 5\n}": "virtual_router_id",
		head + "interfac x\n}":          "interface",
	} {
		found := ""
		for _, f := range model(t, text).Findings {
			if f.Code == CodeUnknown {
				found = f.Remedy
			}
		}
		assert.Equal(t, "did you mean "+want+"?", found, text)
	}
}

// FuzzModel wants a model with values in their ranges whatever the text, and findings with a place.
func FuzzModel(f *testing.F) {
	f.Add(head + vip + "priority 300\ntrack_interface {\n e weight 999\n}\n}\n")
	f.Add("vrrp_script s {\nscript \"a 'b\" c\ninterval 9999999999\n}\nvrrp_sync_group G {\ngroup {\nP\n}\n}\n")
	f.Add(members + "track_file f {\nfile x\ninit_file -3\n}\nglobal_defs {\nvrrp_strict\nmax_auto_priority\n}\n")
	f.Add(head + "unicast_peer {\n fe80::1 min_ttl\n}\nadvert_int 99.999999\nversion 3\nauthentication {\n auth_type AH\n}\n}")
	f.Fuzz(func(t *testing.T, text string) {
		c := model(t, text)
		for _, i := range c.Instances {
			require.True(t, i.Priority >= 1 && i.Priority <= 255 && i.VRID >= 0 && i.VRID <= 255 && (i.Version == 2 || i.Version == 3))
			require.True(t, i.AdvertInterval > 0 && i.AdvertInterval == rounded(i.AdvertInterval, i.Version), i.AdvertInterval)
			require.LessOrEqual(t, len(i.Auth.Pass), 8)
			for _, a := range i.Addresses {
				require.True(t, a.Prefix.IsValid() && a.Prefix.Addr().Is6() == i.IPv6)
			}
			for _, tracked := range i.Track.Interfaces {
				require.True(t, tracked.Weight.Value >= -253 && tracked.Weight.Value <= 253)
			}
		}
		for _, s := range c.Scripts {
			require.NotEmpty(t, s.Command.Args)
		}
		for _, finding := range c.Findings {
			require.Positive(t, finding.Line, finding.Text)
			require.NotEmpty(t, finding.Code)
		}
	})
}
