package keepalived

import (
	"fmt"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// oneFile is a host with one file.
type oneFile string

func (f oneFile) Read(path string) ([]byte, error) {
	if path != "/k.conf" {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return []byte(f), nil
}

func (oneFile) Glob(string) ([]string, error) { return nil, nil }

func model(t *testing.T, text string) *Config {
	t.Helper()
	c, err := Read("/k.conf", "one", oneFile(text))
	require.NoError(t, err)
	return c
}

// short is a value of the model in a few letters, without places.
func short(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case syntax.Origin:
		return ""
	case fmt.Stringer:
		return x.String()
	case []byte:
		return string(x)
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return ""
		}
		return short(v.Elem())
	case reflect.Struct:
		var out []string
		for i := range v.NumField() {
			if s := short(v.Field(i)); s != "" && !v.Field(i).IsZero() && v.Type().Field(i).Name != "Block" {
				out = append(out, v.Type().Field(i).Name+"="+s)
			}
		}
		return "{" + strings.Join(out, " ") + "}"
	case reflect.Slice:
		var out []string
		for i := range v.Len() {
			out = append(out, short(v.Index(i)))
		}
		return strings.Join(out, ",")
	}
	return fmt.Sprint(v.Interface())
}

// differs is how a value differs from another of its type: the fields that do.
func differs(v, from any) string {
	a, b := reflect.ValueOf(v).Elem(), reflect.ValueOf(from).Elem()
	var out []string
	for i := range a.NumField() {
		if name := a.Type().Field(i).Name; name != "Block" && short(a.Field(i)) != short(b.Field(i)) {
			out = append(out, name+"="+short(a.Field(i)))
		}
	}
	return strings.Join(out, " ")
}

// faults are the codes of what is wrong, with their lines; notes are left out.
func faults(c *Config) []string {
	out := []string{}
	for _, f := range c.Findings {
		if f.Severity != Note {
			out = append(out, fmt.Sprintf("%d %s", f.Line, f.Code))
		}
	}
	return out
}

const (
	head = "vrrp_instance P {\n interface eth0\n virtual_router_id 2\n"
	vip  = " virtual_ipaddress {\n 10.9.0.100\n }\n"
)

// Every row is what keepalived 2.2.7 does with the same lines in an instance, as its data dump and `keepalived -t` show. The first line of
// the body is line 4.
func TestInstanceReadsAsKeepalivedDoes(t *testing.T) {
	base := model(t, head+vip+"}\n").Instances[0]
	assert.Equal(t, 100, base.Priority)
	assert.Equal(t, "1s", base.AdvertInterval.String())
	assert.Equal(t, "{Delay=5s Repeat=5 RefreshRepeat=1 LowerPrioDelay=5s LowerPrioRepeat=5}", short(reflect.ValueOf(base.Garp)))
	for _, c := range []struct {
		body, want string
		faults     []string
	}{
		{"priority 255", "StartAsMaster=true Priority=255", nil},
		{"priority 010", "Priority=10", nil},
		{"priority +5", "Priority=5", nil},
		{`priority "77"`, "Priority=77", nil},
		{"priority 50 60", "Priority=50", []string{"4 extra-words"}},
		{"priority 0", "", []string{"4 value"}},
		{"priority 256", "", []string{"4 value"}},
		{"priority 0x20", "", []string{"4 value"}},
		{"priority", "", []string{"4 missing"}},
		{"state MASTER", "StartAsMaster=true Priority=255", nil},
		{"state MASTER\npriority 150", "StartAsMaster=true Priority=150", nil},
		{"state MASTER\npriority 300", "StartAsMaster=true", []string{"5 value"}},
		{"state BACKUP\npriority 255", "Priority=255", nil},
		{"state master", "", []string{"4 value"}},
		{"nopreempt", "Preempt=false", nil},
		{"nopreempt\npreempt", "", nil},
		{"nopreempt no", "Preempt=false", []string{"4 argument-ignored"}},
		{"nopreempt\nstate MASTER\npriority 150", "StartAsMaster=true Priority=150", []string{"4 conflict"}},
		{"nopreempt\npriority 255", "StartAsMaster=true Priority=255", []string{"4 conflict"}},
		{"preempt_delay 4.12", "PreemptDelay=4.12s", nil},
		{"preempt_delay .5", "PreemptDelay=500ms", nil},
		{"preempt_delay 1001", "", []string{"4 value"}},
		{"preempt_delay 1,5", "", []string{"4 value"}},
		{"preempt_delay 5\nnopreempt", "Preempt=false", []string{"4 conflict"}},
		{"preempt_delay 5\nstate MASTER\npriority 9", "StartAsMaster=true Priority=9", []string{"4 conflict"}},
		{"preempt_delay 5\npriority 255", "StartAsMaster=true Priority=255", []string{"4 conflict"}},
		{"preempt_delay 5\nnopreempt\npriority 255\nstate BACKUP", "Priority=255 PreemptDelay=5s", []string{"5 conflict"}},
		{"advert_int 1.5", "AdvertInterval=2s", []string{"4 advert-int-rounded"}},
		{"advert_int 1.4", "", []string{"4 advert-int-rounded"}},
		{"advert_int 0.4", "", []string{"4 advert-int-rounded"}},
		{"advert_int 10.", "AdvertInterval=10s", nil},
		{"advert_int 255", "AdvertInterval=4m15s", nil},
		{"advert_int 256", "", []string{"4 value"}},
		{"advert_int 0.005", "", []string{"4 value"}},
		{"advert_int 1e1", "", []string{"4 value"}},
		{"advert_int 1.4\nversion 3", "AdvertInterval=1.4s Version=3", nil},
		{"advert_int 1.4567\nversion 3", "AdvertInterval=1.46s Version=3", []string{"4 advert-int-rounded"}},
		{"advert_int 0.015\nversion 3", "AdvertInterval=20ms Version=3", []string{"4 advert-int-rounded"}},
		{"advert_int 41\nversion 3", "AdvertInterval=40.95s Version=3", []string{"4 advert-int-rounded"}},
		{"advert_int 1\nadvert_int 2", "AdvertInterval=2s", nil},
		{"version 4", "", []string{"4 value"}},
		{"authentication {\n auth_type PASS\n auth_pass 1234\n}", "Auth={Type=PASS Pass=1234}", nil},
		{"authentication {\n auth_type PASS\n auth_pass 123456789\n}", "Auth={Type=PASS Pass=12345678}", []string{"6 auth-pass-cut"}},
		{"authentication {\n auth_type PASS\n auth_pass \"a b c\"\n}", "Auth={Type=PASS Pass=a b c}", nil},
		{"authentication {\n auth_type pass\n auth_pass ab\n}", "", []string{"4 missing", "5 value"}},
		{"authentication {\n auth_pass 1234\n}", "", []string{"4 missing"}},
		{"authentication {\n auth_type PASS\n}", "", []string{"4 missing"}},
		{"authentication { auth_type PASS auth_pass 1234 }", "", []string{"4 extra-words", "4 missing"}},
		{"version 3\nauthentication {\n auth_type PASS\n auth_pass 1\n}", "Version=3", []string{"5 conflict"}},
		{"state MASTER\npriority 9\nauthentication {\n auth_type AH\n auth_pass 1\n}", "Priority=9 Auth={Type=AH Pass=1}", []string{"4 conflict"}},
		{
			"garp_master_delay 0\ngarp_master_repeat 0\ngarp_master_refresh 10\ngarp_master_refresh_repeat 3\ngarp_lower_prio_delay 7\ngarp_lower_prio_repeat 8",
			"Garp={Repeat=1 Refresh=10s RefreshRepeat=3 LowerPrioDelay=7s LowerPrioRepeat=8}",
			[]string{"5 value"},
		},
		{"garp_master_delay 7\ngarp_master_repeat 8", "Garp={Delay=7s Repeat=8 RefreshRepeat=1 LowerPrioDelay=5s LowerPrioRepeat=5}", nil},
		{"garp_master_delay 1.5", "Garp={Delay=1s Repeat=5 RefreshRepeat=1 LowerPrioDelay=5s LowerPrioRepeat=5}", []string{"4 value"}},
		{"garp_master_delay 100000", "", []string{"4 value"}},
		{"down_timer_adverts 5", "DownTimer=5", nil},
		{"down_timer_adverts 0", "", []string{"4 value"}},
		{"lower_prio_no_advert\nhigher_prio_send_advert on", "LowerNoAdvert=true HigherSend=true", nil},
		{"lower_prio_no_advert maybe", "", []string{"4 value"}},
		{"skip_check_adv_addr no", "SkipCheckAdv=true", []string{"4 argument-ignored"}},
		{"dont_track_primary\ntrack_src_ip\npromote_secondaries\nnotify_priority_changes\nsmtp_alert", "TrackSource=true DontTrack=true PromoteSecond=true MailAlert=true PriorityChanges=true", nil},
		{"no_accept", "Accept=false", nil},
		{"use_vmac", "VMAC=true", nil},
		{"strict_mode no", "", nil},
		{"strict_mode", "Garp={Delay=5s Repeat=5 RefreshRepeat=1} LowerNoAdvert=true Strict=true Accept=false", nil},
		{
			"strict_mode\nstate MASTER\npriority 150\nauthentication {\n auth_type PASS\n auth_pass 1\n}\npreempt_delay 5",
			"Priority=150 Garp={Delay=5s Repeat=5 RefreshRepeat=1} LowerNoAdvert=true Strict=true Accept=false",
			[]string{"5 conflict", "7 conflict", "11 conflict"},
		},
		{
			"unicast_src_ip 10.9.0.1\nunicast_peer {\n 10.9.0.2\n 10.9.0.3 min_ttl 5 max_ttl 6\n}\nunicast_ttl 64",
			"Unicast={Address=10.9.0.2 MaxTTL=255},{Address=10.9.0.3 MinTTL=5 MaxTTL=6} Source=10.9.0.1 UnicastTTL=64 CheckSource=true", nil,
		},
		{
			"unicast_src_ip 10.9.0.1/24\nunicast_peer {\n 10.9.0.2/32\n 10.9.0.3-7\n}",
			"Unicast={Address=10.9.0.2 MaxTTL=255},{Address=10.9.0.3 MaxTTL=255} Source=10.9.0.1", nil,
		},
		{"unicast_peer { 10.9.0.2 10.9.0.3 }", "Unicast={Address=10.9.0.2 MaxTTL=255}", []string{"4 peer-lost"}},
		{"unicast_peer {\n foo\n fd09::1\n 10.9.0.4 min_ttl 300\n}", "Version=3 IPv6=true Addresses= Unicast={Address=fd09::1 MaxTTL=255} Group=ff02::12", []string{"1 missing", "5 value", "7 address-family", "10 address-family"}},
		{"unicast_src_ip 10.9.0.1", "Source=10.9.0.1", []string{"4 unicast-no-peer"}},
		{"unicast_ttl 5", "", []string{"4 conflict"}},
		{"mcast_src_ip 10.9.0.7\nmcast_dst_ip 224.0.0.19", "Source=10.9.0.7 Group=224.0.0.19", nil},
		{"mcast_dst_ip 10.0.0.1", "", []string{"4 value"}},
		{
			"track_interface {\n eth1 weight 5\n eth2 weight -5 reverse\n eth3 weight 254\n eth0\n eth1\n eth4 weight x\n eth5 weight\n eth6 foo\n}",
			"Track={Interfaces={Name=eth1 Weight={Value=5} Own=true},{Name=eth2 Weight={Value=-5 Reverse=true} Own=true},{Name=eth3 Weight={Value=253} Own=true},{Name=eth4}}",
			[]string{"7 value", "8 duplicate", "9 duplicate", "10 value", "11 missing", "12 value"},
		},
		{"priority 255\ntrack_interface {\n eth1 weight 5\n eth2\n}", "StartAsMaster=true Priority=255 Track={Interfaces={Name=eth2}}", []string{"6 weight-dropped"}},
		{"track_script {\n nosuch\n}", "", []string{"5 reference"}},
		{
			"notify_master \"/bin/a b 'c d'\" u g\nnotify_backup /bin/x y\nnotify /bin/z\nnotify /bin/w",
			"Notify={Master={Args=/bin/a,b,c d Text=/bin/a b 'c d' User={Name=u Group=g}} Backup={Args=/bin/x Text=/bin/x User={Name=y}} Any={Args=/bin/z Text=/bin/z}}",
			[]string{"5 notify-user", "7 duplicate"},
		},
		{"notify_deleted", "Notify={SayDeleted=true}", nil},
		{"auth_hmac {\n key 1 hex:00\n}", "", []string{"4 newer-keyword"}},
		{"typo_block {\n x y\n}\npriority 7", "Priority=7", []string{"4 unknown-keyword"}},
		{"virtual_router {\n}", "", []string{"4 unknown-keyword"}},
		{"priority 7 {\n}\nadvert_int 2", "AdvertInterval=2s", []string{"4 brace"}},
		{"virtual_ipaddress 10.9.0.9", "", []string{"4 brace"}},
		{
			"virtual_ipaddress_excluded {\n fd09::7\n 10.9.1.1/24 dev eth1\n}",
			"Excluded={Prefix=fd09::7/128 Interface=eth0 Scope=global PreferredLft=0},{Prefix=10.9.1.1/24 Interface=eth1 Scope=global}", nil,
		},
	} {
		t.Run(strings.ReplaceAll(c.body, "\n", ";"), func(t *testing.T) {
			got := model(t, head+c.body+"\n"+vip+"}\n")
			require.Len(t, got.Instances, 1)
			assert.Equal(t, c.want, differs(got.Instances[0], base))
			assert.Equal(t, append([]string{}, c.faults...), faults(got))
		})
	}
}
