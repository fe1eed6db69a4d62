package doctor

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

func TestDoctorJudgesWhatSpreadingWants(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Facts)
		want   code.Code
		how    Severity
	}{
		"nothing":                {func(*Facts) {}, "", ""},
		"loose":                  {func(f *Facts) { f.Sysctls[TCPLoose] = 1 }, "", ""},
		"not loose":              {func(f *Facts) { f.Sysctls[TCPLoose] = 0 }, code.NoSecondChance, Warning},
		"LRO":                    {func(f *Facts) { f.LargeReceive = map[string]bool{"eth0": true} }, code.LargeReceive, Error},
		"LRO elsewhere":          {func(f *Facts) { f.LargeReceive = map[string]bool{"eth1": true} }, "", ""},
		"no connection tracking": {func(f *Facts) { f.NoModules = []string{"nf_conntrack", sendModule} }, code.SpreadModule, Error},
		"no copies":              {func(f *Facts) { f.NoModules = []string{"nft_dup_ipv4"} }, code.SpreadModule, Error},
		"no IPv6, no address":    {func(f *Facts) { f.NoModules = []string{"nft_dup_ipv6", "nft_fib_ipv6"} }, "", ""},
		"slower":                 {func(f *Facts) { f.NoModules = []string{sendModule} }, code.SpreadModule, Note},
	} {
		t.Run(name, func(t *testing.T) {
			f := good(t)
			tt.change(&f)
			assert.Empty(t, Judge(f), "nothing is spread")
			f.VIPs[0].Spread = config.Spread{Via: config.ViaDirect, Ports: []config.SpreadPort{{Port: 6443}}}
			found := Judge(f)
			if tt.want == "" {
				assert.Empty(t, found)
				return
			}
			if assert.Len(t, found, 1) {
				assert.Equal(t, tt.want, found[0].Code)
				assert.Equal(t, tt.how, found[0].Severity)
			}
		})
	}
}

// TestDoctorSaysHowTheKernelGetsRoomForConnections, whether they are spread or not: it drops new ones to the address all the same.
func TestDoctorSaysHowTheKernelGetsRoomForConnections(t *testing.T) {
	f := good(t)
	f.Sysctls[ConntrackCount], f.Sysctls[ConntrackMax] = 8999, 10000
	assert.Empty(t, Judge(f))
	f.Sysctls[ConntrackCount] = 9000
	if found := Judge(f); assert.Len(t, found, 1) {
		assert.Equal(t, code.ConntrackFull, found[0].Code)
		assert.Equal(t, Warning, found[0].Severity)
		assert.Contains(t, found[0].Remedy, "`sysctl -w net.netfilter.nf_conntrack_max=20000`")
	}
}

func TestDoctorJudgesWhatMasqueradingWants(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Facts)
		want   code.Code
		how    Severity
	}{
		"nothing":                {func(*Facts) {}, "", ""},
		"what direct wants":      {func(f *Facts) { f.Sysctls[TCPLoose], f.NoModules = 0, []string{"nft_dup_ipv4", sendModule} }, "", ""},
		"no translation":         {func(f *Facts) { f.NoModules = []string{"nft_nat"} }, code.SpreadModule, Error},
		"it forwards":            {func(f *Facts) { f.Sysctls["net/ipv4/conf/eth0/forwarding"] = 1 }, "", ""},
		"it does not forward":    {func(f *Facts) { f.Sysctls["net/ipv4/conf/eth0/forwarding"] = 0 }, code.NotForwarding, Error},
		"no IPv6, no address":    {func(f *Facts) { f.Sysctls["net/ipv6/conf/all/forwarding"] = 0 }, "", ""},
		"a filter that may drop": {func(f *Facts) { f.ForwardDrops = []string{"ip filter FORWARD"} }, code.NotForwarding, Note},
	} {
		t.Run(name, func(t *testing.T) {
			f := good(t)
			f.VIPs[0].Spread = config.Spread{Via: config.ViaMasquerade, Ports: []config.SpreadPort{{Port: 6443}}}
			tt.change(&f)
			found := Judge(f)
			if tt.want == "" {
				assert.Empty(t, found)
				return
			}
			if assert.Len(t, found, 1) {
				assert.Equal(t, []any{tt.want, tt.how}, []any{found[0].Code, found[0].Severity})
			}
		})
	}
}

// sysctl takes a dot in an interface's name for the end of it.
func TestDoctorNamesTheForwardingOfAnInterfaceOfAVLANAsSysctlTakesIt(t *testing.T) {
	f := good(t)
	f.VIPs[0].Spread = config.Spread{Via: config.ViaMasquerade, Ports: []config.SpreadPort{{Port: 6443}}}
	f.Sysctls["net/ipv4/conf/eth0.100/forwarding"] = 0
	var out findings
	judgeForwarding(&out, f, f.VIPs[0], link.Link{Name: "eth0.100"})
	if assert.Len(t, out.list, 1) {
		assert.Contains(t, out.list[0].What, "net.ipv4.conf.eth0/100.forwarding is 0")
	}
}
