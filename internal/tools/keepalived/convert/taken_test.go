package convert

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/config"
)

// What keepalived 2.2.7 complains of and runs is carried over as its daemon runs it, with a warning; strictly it is refused.
func TestConvertTakesWhatKeepalivedTakes(t *testing.T) {
	const script = "vrrp_script s {\n script /bin/s\n user web\n %s\n}\nvrrp_instance a {\n interface eth0\n virtual_router_id 5\n %s\n virtual_ipaddress {\n 10.0.0.1\n }\n track_script {\n s\n }\n}\n%s"
	for _, tt := range []struct{ script, instance, behind, want string }{
		{"", "state SLAVE", "", "100 1s 3 1s"},
		{"", "priority 150,", "", "100 1s 3 1s"},
		{"", "priority 300", "", "100 1s 3 1s"},
		{"interval .2", "priority 7", "", "7 1s 3 1s"},
		{"interval 4s", "priority 7", "", "7 4s 3 1s"},
		{"fall 4,", "", "", "100 1s 4 1s"},
		{"fall 3", "advert_int 2,", "", "100 1s 3 1s"},
		{"", "authentication {\n auth_type PASS;\n auth_pass x\n}", "", "100 1s 3 1s"},
		{"", "authentication {\n}", "", "100 1s 3 1s"},
		{"", "track_interface {\n}\nvirtual_ipaddress_excluded {\n}", "", "100 1s 3 1s"},
		{"", "", "}", "100 1s 3 1s"},
		{"", "", "track_script {\n s\n}", "100 1s 3 1s"},
		{"", "", "vrrp_script empty {\n}", "100 1s 3 1s"},
	} {
		if !strings.Contains(tt.script, "fall") {
			tt.script += "\nfall 3"
		}
		text := fmt.Sprintf(script, tt.script, tt.instance, tt.behind)
		r := converted(t, text, Options{})
		require.NotNil(t, r.Text, shown(r))
		cfg, err := load(r)
		require.NoError(t, err)
		v := cfg.VIPs[0]
		assert.Equal(t, tt.want, fmt.Sprint(v.Priority, " ", v.Checks[0].Interval, " ", v.Checks[0].Fall, " ", v.VRRP.AdvertisementInterval), text)
		assert.Empty(t, v.VRRP.PasswordFile)
		if tt.instance != "authentication {\n}" { // keepalived says nothing of it
			assert.Contains(t, shown(r), "warning ", text)
			assert.Nil(t, converted(t, text, Options{Strict: true}).Text, text)
		}
	}
}

// A name that YAML would take for something else is in quotes.
func TestConvertNamesThatAreNoText(t *testing.T) {
	for _, name := range []string{"51", "true", "007", "null", "1e3", "no"} {
		r := converted(t, "vrrp_instance "+name+" {\n interface eth0\n virtual_router_id 5\n garp_master_delay 0\n garp_master_refresh 60\n virtual_ipaddress {\n 10.0.0.1\n }\n}\n", Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Equal(t, name, cfg.VIPs[0].Name)
	}
}

// A process that is looked for is counted as keepalived counts its script: one that is started anew within fall is no failure.
func TestConvertProcessKeepsItsCounts(t *testing.T) {
	for script, want := range map[string]string{
		"killall -0 web":           "process web 1 2s 2 3",
		"/usr/bin/pkill -0 -x web": "process web 1 2s 2 3",
		"/usr/bin/pkill -0 web":    "exec /usr/bin/pgrep,web 0 2s 2 3",
	} {
		r := converted(t, "vrrp_script s {\n script \""+script+"\"\n interval 2\n rise 2\n fall 3\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		k := cfg.VIPs[0].Checks[0]
		assert.Equal(t, want, fmt.Sprintf("%s %s%s %d %v %d %d", k.Kind, k.Process, strings.Join(k.Command, ","), k.Quorum, k.Interval, k.Rise, k.Fall))
	}
	r := converted(t, "vrrp_script s {\n script \"$(which nc) -z 10.0.0.9 80\"\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{})
	require.NotNil(t, r.Text, shown(r))
	assert.Contains(t, shown(r), "s is not checked, as in keepalived")
}

// Where a keepalived.conf is run as it is, scripts run as the user that keepalived takes, or not at all where keepalived drops them.
func TestConvertUsersOfScripts(t *testing.T) {
	const secure = "enable_script_security"
	host := Host{
		HasUser: func(u string) bool { return u == "web" || u == "root" },
		Unsafe: func(p string) error {
			if p == "/tmp/s" {
				return errors.New("/tmp/s can be changed")
			}
			return nil
		},
	}
	for _, tt := range []struct{ global, user, script, standard, want string }{
		{"", "", "/bin/s", "", "root any"},
		{"", "", "/bin/s", "keepalived_script", "keepalived_script never"},
		{secure, "", "/bin/s", "", "dropped never"},
		{secure, "", "/bin/s", "keepalived_script", "keepalived_script never"},
		{"script_user root", "", "/tmp/s", "", "root any"},
		{secure + "\nscript_user root", "", "/bin/s", "", "root safe"},
		{secure + "\nscript_user root", "", "/tmp/s", "", "dropped never"},
		{secure + "\nscript_user web", "", "/tmp/s", "", "web never"},
		{"script_user nosuch", "", "/bin/s", "", "dropped never"},
		{"script_user root", "user nosuch", "/bin/s", "", "dropped never"},
		{"script_user root", "user web", "/bin/s", "", "web never"},
	} {
		text := "global_defs {\n" + tt.global + "\n}\nvrrp_script s {\n script " + tt.script + "\n" + tt.user + "\n}\n" + fmt.Sprintf(base1, "track_script {\n s weight 100\n}")
		r := converted(t, text, Options{InMemory: true, Root: true, Default: tt.standard, Host: host})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		got := "dropped"
		if len(cfg.VIPs[0].Checks) > 0 {
			got = cfg.VIPs[0].Checks[0].User
		}
		assert.Equal(t, tt.want, got+" "+string(cfg.ChecksAsRoot), text)
		assert.Equal(t, got == "dropped", strings.Contains(shown(r), "s is not checked, as in keepalived"), shown(r))
	}
	r := converted(t, "vrrp_script s {\n script /bin/s\n}\n"+fmt.Sprintf(base1, "track_script {\n s\n}"), Options{User: "root"})
	cfg, err := load(r)
	require.NoError(t, err)
	assert.Equal(t, config.RootAny, cfg.ChecksAsRoot)
}

// keepalived runs without a notify script that is not there. So does keepvip, and says it; a file that is written for other hosts keeps the script.
func TestNotifyScriptThatIsNotThereIsNotCalled(t *testing.T) {
	host := Host{Absent: func(p string) error {
		if p == "/none/n.sh" {
			return errors.New("no such program here")
		}
		return nil
	}}
	for _, tt := range []struct {
		script string
		run    bool
		want   int
	}{
		{"/bin/n.sh", true, 1},
		{"/none/n.sh", true, 0},
		{"/none/n.sh", false, 1},
	} {
		r := converted(t, fmt.Sprintf(base1, "notify_master "+tt.script), Options{InMemory: tt.run, Root: true, Host: host})
		cfg, err := load(r)
		require.NoError(t, err, shown(r))
		assert.Len(t, cfg.VIPs[0].Hooks, tt.want, "%+v", tt)
		assert.Equal(t, tt.want == 0, strings.Contains(shown(r), "is not called, as in keepalived, which drops it: no such program here"), shown(r))
	}
}
