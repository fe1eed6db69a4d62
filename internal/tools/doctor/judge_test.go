package doctor

import (
	"errors"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/base/code"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/link"
)

const (
	ownMAC   = "02:00:00:00:00:11"
	peerMAC  = "02:00:00:00:00:12"
	otherMAC = "02:00:00:00:00:66"
)

var (
	vip   = netip.MustParseAddr("10.77.0.100")
	own   = netip.MustParseAddr("10.77.0.11")
	peer  = netip.MustParseAddr("10.77.0.12")
	other = netip.MustParseAddr("10.77.0.66")
)

// good are the facts of a host on which nothing is wrong: a Backup, whose peer holds the address.
func good(t *testing.T) Facts {
	t.Helper()
	mac, err := net.ParseMAC(ownMAC)
	require.NoError(t, err)
	v := config.VIP{
		Name: "apiserver", Addresses: []netip.Prefix{netip.PrefixFrom(vip, 32)}, Election: config.ElectionVRRP, Scope: config.ScopeGlobal,
		VRRP:  config.VRRP{ID: 51, Version: 3, AdvertisementInterval: 100 * time.Millisecond},
		Check: config.Check{URL: "https://127.0.0.1:6443/livez"},
	}
	return Facts{
		VIPs: []config.VIP{v},
		Key:  Key{Enforced: true, IDs: []string{"abcd"}, Window: 30 * time.Second},
		Links: []link.Link{
			{Index: 1, Name: "lo", Loopback: true, Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("127.0.0.1/8")}}},
			{Index: 2, Name: "eth0", MAC: mac, Up: true, Addresses: []link.Address{{Prefix: netip.PrefixFrom(own, 24)}}},
		},
		MTU:      map[string]int{"eth0": 1500},
		Sysctls:  map[string]int{"net/ipv4/conf/all/rp_filter": 1, "net/ipv4/conf/all/arp_ignore": 1, "net/ipv4/conf/eth0/proxy_arp": 0},
		Default4: []string{"eth0"},
		Nftables: &Nftables{},
		Lateness: &Lateness{Worst: 3 * time.Millisecond, Over: 3 * time.Second},
		Machine:  Machine{Vendor: "Dell Inc.", Product: "PowerEdge R650"},
		Daemon:   &Daemon{Version: "1.0.0", Fenced: map[string]string{"apiserver": ""}},
		Wires: []Wire{{
			Interface: "eth0", IPv4: true, HeardVRRP: true, HeardMembers: true,
			Adverts: []Advert{{
				Source: peer, MAC: peerMAC, Arrived: true, Version: 3, VRID: 51, Priority: 100, Interval: 100 * time.Millisecond,
				Addresses: []netip.Addr{vip},
			}},
			Hellos: []Hello{
				{Source: own, MAC: ownMAC, Own: true, Group: vip, Session: 1, KeyID: "abcd"},
				{
					Source: peer, MAC: peerMAC, Arrived: true, Group: vip, Node: "n2", Software: "1.0.0", Session: 2, Hears: []uint64{1}, Claims: true,
					Version: 3, VRID: 51, Interval: 100 * time.Millisecond, KeyID: "abcd", Ahead: 5 * time.Millisecond,
				},
			},
			Claims: []Claim{{Address: vip, MAC: peerMAC}},
		}},
		Certificates: []Serving{{VIP: "apiserver", URL: "https://127.0.0.1:6443", Addresses: []netip.Addr{vip, own}, DNS: []string{"kubernetes"}}},
		Endpoints:    []Endpoint{{File: "/etc/kubernetes/admin.conf", Key: "server", Host: vip.String(), Address: vip}},
	}
}

func TestJudgeFindsNothingOnAGoodHost(t *testing.T) {
	assert.Empty(t, Judge(good(t)))
}

func TestJudgeKnowingNothingSaysNothing(t *testing.T) {
	assert.Empty(t, Judge(Facts{VIPs: good(t).VIPs}))
	assert.Empty(t, Judge(Facts{}))
}

func TestJudgeFindsEachFaultByItsCode(t *testing.T) {
	v := func(f *Facts) *config.VIP { return &f.VIPs[0] }
	eth0 := func(f *Facts) *link.Link { return &f.Links[1] }
	w := func(f *Facts) *Wire { return &f.Wires[0] }
	hello := func(f *Facts) *Hello { return &f.Wires[0].Hellos[1] }
	advert := func(f *Facts) *Advert { return &f.Wires[0].Adverts[0] }
	daemonless := func(f *Facts) { f.Daemon, f.Wires[0].Hellos = nil, f.Wires[0].Hellos[1:] }
	tests := map[string]struct {
		fault func(*Facts)
		want  []code.Code
	}{
		"certificate that expires in two weeks": {func(f *Facts) {
			f.Certificates[0].Ends, f.Certificates[0].Left = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 14*24*time.Hour
		}, []code.Code{code.CertificateExpires}},
		"address in docker's network": {func(f *Facts) {
			f.Links = append(f.Links, link.Link{Index: 3, Name: "docker0", Up: true, Addresses: []link.Address{{Prefix: netip.PrefixFrom(vip.Prev(), 16)}}})
			f.VIPs[0].Interface = "eth0"
		}, []code.Code{code.ClusterNetwork, code.SecondLink}},
		"address beside docker's network": {func(f *Facts) {
			f.Links = append(f.Links, link.Link{Index: 3, Name: "docker0", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("172.17.0.1/16")}}})
		}, nil},
		"certificate that expires in time": {func(f *Facts) {
			f.Certificates[0].Ends, f.Certificates[0].Left = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 14*24*time.Hour+time.Second
		}, nil},
		"certificate that has expired": {func(f *Facts) {
			f.Certificates[0].Ends, f.Certificates[0].Left = time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC), 0
		}, []code.Code{code.CertificateExpired}},
		"interface that is not there": {func(f *Facts) { v(f).Interface = "eth9" }, []code.Code{code.InterfaceMissing}},
		"no subnet":                   {func(f *Facts) { v(f).Addresses = []netip.Prefix{netip.MustParsePrefix("10.99.0.1/32")} }, []code.Code{code.NoSubnet, code.CertificateWithoutAddress, code.EndpointDiffers}},
		"own address": {func(f *Facts) {
			v(f).Addresses = []netip.Prefix{netip.PrefixFrom(own, 32)}
			f.Wires = nil
			f.Endpoints = nil
		}, []code.Code{code.OwnAddress, code.NoSubnet}},
		"bound by another program": {func(f *Facts) {
			daemonless(f)
			eth0(f).Addresses = append(eth0(f).Addresses, link.Address{Prefix: netip.PrefixFrom(vip, 32)})
		}, []code.Code{code.BoundByOther}},
		"broadcast address": {func(f *Facts) {
			v(f).Addresses = []netip.Prefix{netip.MustParsePrefix("10.77.0.255/32")}
			f.Wires, f.Endpoints, f.Certificates = nil, nil, nil
		}, []code.Code{code.NetworkAddress}},
		"network address": {func(f *Facts) {
			v(f).Addresses = []netip.Prefix{netip.MustParsePrefix("10.77.0.0/32")}
			f.Wires, f.Endpoints, f.Certificates = nil, nil, nil
		}, []code.Code{code.NetworkAddress}},
		"link down": {func(f *Facts) { eth0(f).Up = false }, []code.Code{code.LinkDown}},
		"no own address of the family": {func(f *Facts) {
			v(f).Addresses = []netip.Prefix{netip.MustParsePrefix("fd77::100/128")}
			v(f).Interface = "eth0"
			f.Wires, f.Endpoints, f.Certificates = nil, nil, nil
		}, []code.Code{code.NoOwnAddress, code.NoSubnet}},
		"small MTU": {func(f *Facts) { f.MTU["eth0"] = 1000 }, []code.Code{code.SmallMTU}},
		"second link in the subnet": {func(f *Facts) {
			f.Links = append(f.Links, link.Link{Index: 3, Name: "eth1", Up: true, Addresses: []link.Address{{Prefix: netip.MustParsePrefix("10.77.0.51/24")}}})
		}, []code.Code{code.SecondLink}},
		"arp_ignore 8": {func(f *Facts) { f.Sysctls["net/ipv4/conf/eth0/arp_ignore"] = 8 }, []code.Code{code.ARPIgnore}},
		"arp_filter":   {func(f *Facts) { f.Sysctls["net/ipv4/conf/all/arp_filter"] = 1 }, []code.Code{code.ARPFilter}},
		"a macvlan, for a virtual MAC": {func(f *Facts) {
			v(f).VRRP.VirtualMAC, eth0(f).Kind = "auto", "macvlan"
		}, []code.Code{code.VirtualMACInterface}},
		"the name of a virtual MAC's interface is taken": {func(f *Facts) {
			v(f).VRRP.VirtualMAC = "dummy0"
			f.Links = append(f.Links, link.Link{Index: 3, Name: "dummy0", Kind: "dummy"})
		}, []code.Code{code.VirtualMACInterface}},
		"arp_filter for all, with a virtual MAC": {func(f *Facts) {
			v(f).VRRP.VirtualMAC, f.Sysctls["net/ipv4/conf/all/arp_filter"] = "auto", 1
		}, []code.Code{code.ARPFilter}},
		"rp_filter and arp_filter of the interface, with a virtual MAC": {func(f *Facts) {
			v(f).VRRP.VirtualMAC, f.Sysctls["net/ipv4/conf/eth0/arp_filter"], f.Default4 = "auto", 1, []string{"eth1"}
		}, nil},
		"proxy_arp":                      {func(f *Facts) { f.Sysctls["net/ipv4/conf/eth0/proxy_arp"] = 1 }, []code.Code{code.ProxyARP}},
		"strict rp_filter, route beside": {func(f *Facts) { f.Default4 = []string{"eth1"} }, []code.Code{code.StrictRPFilter}},
		"strict rp_filter, a rule that loses replies": {func(f *Facts) {
			f.Default4, f.Replies = []string{"eth1"}, map[string]Replies{"apiserver": {Lost: "they leave by eth1", Remedy: "ip rule add", ByRule: true}}
		}, []code.Code{code.RepliesLost}},
		"strict rp_filter, a rule that sends replies here": {func(f *Facts) {
			f.Default4, f.Replies = []string{"eth1"}, map[string]Replies{"apiserver": {ByRule: true}}
		}, nil},
		"ip_nonlocal_bind": {func(f *Facts) { f.Sysctls["net/ipv4/ip_nonlocal_bind"] = 1 }, []code.Code{code.NonlocalBind}},
		"IPv6 off": {func(f *Facts) {
			v(f).Addresses = append(v(f).Addresses, netip.MustParsePrefix("fd77::100/128"))
			f.NoIPv6 = true
		}, []code.Code{code.NoIPv6}},
		"IPv6 off, and no address of IPv4": {func(f *Facts) {
			v(f).Addresses = []netip.Prefix{netip.MustParsePrefix("fd77::100/128")}
			f.Sysctls["net/ipv6/conf/all/disable_ipv6"] = 1
			f.Wires, f.Endpoints, f.Certificates = nil, nil, nil
		}, []code.Code{code.NoIPv6}},
		"no IPv6 in the kernel, and no address of IPv4": {func(f *Facts) {
			v(f).Addresses = []netip.Prefix{netip.MustParsePrefix("fd77::100/128")}
			f.NoIPv6 = true
			f.Wires, f.Endpoints, f.Certificates = nil, nil, nil
		}, []code.Code{code.NoIPv6}},
		"accept_dad 2": {func(f *Facts) {
			v(f).Addresses = append(v(f).Addresses, netip.MustParsePrefix("fd77::100/128"))
			f.Sysctls["net/ipv6/conf/eth0/accept_dad"] = 2
		}, []code.Code{code.DADDisables}},
		"accept_ra 1 and forwarding": {func(f *Facts) {
			v(f).Addresses = append(v(f).Addresses, netip.MustParsePrefix("fd77::100/128"))
			f.Sysctls["net/ipv6/conf/eth0/accept_ra"], f.Sysctls["net/ipv6/conf/eth0/forwarding"] = 1, 1
			eth0(f).Addresses = append(eth0(f).Addresses, link.Address{Prefix: netip.MustParsePrefix("2001:db8::5/64"), Valid: time.Hour})
		}, []code.Code{code.RouterAdverts}},
		"no capability":               {func(f *Facts) { f.Missing = []string{"NET_RAW"}; daemonless(f) }, []code.Code{code.NoCapability}},
		"no nftables":                 {func(f *Facts) { f.Nftables.Netdev = errors.New("operation not supported") }, []code.Code{code.NoNftables}},
		"no egress hook":              {func(f *Facts) { f.Nftables.Egress = errors.New("operation not supported") }, []code.Code{code.NoEgress}},
		"fence that is not in place":  {func(f *Facts) { f.Daemon.Fenced["apiserver"] = "no nftables" }, []code.Code{code.NoNftables}},
		"woken late":                  {func(f *Facts) { f.Lateness.Worst = 80 * time.Millisecond }, []code.Code{code.Late}},
		"woken late, says the daemon": {func(f *Facts) { f.Daemon.Lateness = 80 * time.Millisecond }, []code.Code{code.Late}},
		"cloud":                       {func(f *Facts) { f.Machine = Machine{Vendor: "Amazon EC2", Product: "m5.large"} }, []code.Code{code.FilteringCloud}},
		"Azure": {func(f *Facts) {
			f.Machine = Machine{Vendor: "Microsoft Corporation", Product: "Virtual Machine", Asset: "7783-7084-3265-9085-8269-3286-77"}
		}, []code.Code{code.FilteringCloud}},
		"OpenStack":                  {func(f *Facts) { f.Machine = Machine{Vendor: "RDO", Product: "OpenStack Compute"} }, []code.Code{code.FilteringCloud}},
		"port taken":                 {func(f *Facts) { f.PortTaken = true }, []code.Code{code.PortTaken}},
		"answered by a foreign host": {func(f *Facts) { w(f).Claims[0].MAC = otherMAC }, []code.Code{code.DuplicateAddress}},
		"112 dropped in, here":       {func(f *Facts) { advert(f).Arrived = false }, []code.Code{code.VRRPInDropped}},
		"112 dropped out, here":      {func(f *Facts) { w(f).OutVRRP = errors.New("operation not permitted") }, []code.Code{code.NotSent}},
		"9646 dropped in, here":      {func(f *Facts) { hello(f).Arrived = false }, []code.Code{code.MembersInDropped}},
		"9646 dropped out, here":     {func(f *Facts) { w(f).OutMembers = errors.New("operation not permitted") }, []code.Code{code.MembersOutDropped}},
		"112 lost on the way here":   {func(f *Facts) { w(f).Adverts = nil }, []code.Code{code.VRRPNotHeard}},
		"112 lost on the way there":  {func(f *Facts) { hello(f).Misses = []uint64{1} }, []code.Code{code.VRRPNotHeardThere}},
		"9646 lost on the way here":  {func(f *Facts) { w(f).Hellos = w(f).Hellos[:1] }, []code.Code{code.MembersNotHeard}},
		"9646 lost on the way there": {func(f *Facts) { hello(f).Hears = nil }, []code.Code{code.MembersNotHeardThere}},
		"nobody heard":               {func(f *Facts) { w(f).Hellos, w(f).Adverts, w(f).Claims = w(f).Hellos[:1], nil, nil }, []code.Code{code.Alone}},
		"peer not heard":             {func(f *Facts) { v(f).VRRP.Peers = []netip.Addr{own, peer, other} }, []code.Code{code.PeerSilent}},
		"VRID of another cluster": {func(f *Facts) {
			w(f).Adverts = append(w(f).Adverts, Advert{Source: other, Arrived: true, VRID: 51, Version: 3, Addresses: []netip.Addr{other}})
		}, []code.Code{code.ForeignVRID}},
		"another VRID for the address":          {func(f *Facts) { hello(f).VRID, advert(f).VRID = 52, 52 }, []code.Code{code.OtherVRID}},
		"another version of VRRP":               {func(f *Facts) { hello(f).Version, advert(f).Version = 2, 2 }, []code.Code{code.VersionDiffers}},
		"another interval":                      {func(f *Facts) { hello(f).Interval = time.Second }, []code.Code{code.OtherInterval}},
		"other addresses":                       {func(f *Facts) { advert(f).Addresses = append(advert(f).Addresses, other) }, []code.Code{code.OtherAddresses}},
		"other addresses of a backup":           {func(f *Facts) { w(f).Digests, hello(f).Addresses = map[string]uint32{"apiserver": 5}, 6 }, []code.Code{code.OtherAddresses}},
		"another MTU there":                     {func(f *Facts) { hello(f).MTU = 9000 }, []code.Code{code.OtherMTU}},
		"other software":                        {func(f *Facts) { hello(f).Software = "1.1.0" }, []code.Code{code.OtherSoftware}},
		"another key, so that it hears nothing": {func(f *Facts) { hello(f).KeyID, hello(f).Hears = "efgh", nil }, []code.Code{code.WrongKey}},
		"clock so far that it hears nothing":    {func(f *Facts) { hello(f).Ahead, hello(f).Hears = time.Minute, nil }, []code.Code{code.Clocks}},
		"another key":                           {func(f *Facts) { hello(f).KeyID = "efgh" }, []code.Code{code.WrongKey}},
		"no key there":                          {func(f *Facts) { hello(f).KeyID = "" }, []code.Code{code.KeyMissing}},
		"no key here":                           {func(f *Facts) { f.Key = Key{} }, []code.Code{code.KeyUnexpected}},
		"clock behind":                          {func(f *Facts) { hello(f).Ahead = -20 * time.Second }, []code.Code{code.Clocks}},
		"raft filtered": {func(f *Facts) {
			f.Connections = []Connect{{To: netip.AddrPortFrom(peer, 9646), Err: errors.New("i/o timeout")}}
		}, []code.Code{code.RaftDropped}},
		"raft not running": {func(f *Facts) {
			f.Connections = []Connect{{To: netip.AddrPortFrom(peer, 9646), Err: errors.New("refused"), Refused: true}}
		}, []code.Code{code.RaftRefused}},
		"certificate without the address": {func(f *Facts) { f.Certificates[0].Addresses = nil }, []code.Code{code.CertificateWithoutAddress}},
		"kubeconfig that goes elsewhere":  {func(f *Facts) { f.Endpoints[0].Host, f.Endpoints[0].Address = own.String(), own }, []code.Code{code.EndpointDiffers}},
		"controlPlaneEndpoint elsewhere": {func(f *Facts) {
			f.Endpoints[0] = Endpoint{Key: "controlPlaneEndpoint", Host: "api.example.org", Resolves: []netip.Addr{other}}
		}, []code.Code{code.ControlPlaneEndpointDiffers}},
		"no controlPlaneEndpoint": {func(f *Facts) {
			f.Endpoints[0] = Endpoint{Key: "controlPlaneEndpoint"}
		}, []code.Code{code.ControlPlaneEndpointDiffers}},
		"controlPlaneEndpoint without an address": {func(f *Facts) {
			f.Endpoints[0] = Endpoint{Key: "controlPlaneEndpoint", Host: "api.example.org"}
		}, []code.Code{code.ControlPlaneEndpointDiffers}},
		"check on the address": {func(f *Facts) { v(f).Check.URL = "https://10.77.0.100:6443/livez" }, []code.Code{code.CheckOnAddress}},
		"check on a name of the address": {func(f *Facts) {
			v(f).Check.URL, f.Names = "https://api.example.org:6443/livez", map[string][]netip.Addr{"api.example.org": {vip}}
		}, []code.Code{code.CheckOnAddress}},
		"TCP check on the address": {func(f *Facts) { v(f).Check.URL = "tcp://10.77.0.100:6443" }, []code.Code{code.CheckOnAddress}},
		"a certificate in a file that expires": {func(f *Facts) {
			f.Files = []CertificateFile{{File: "/etc/kubernetes/pki/apiserver-etcd-client.crt", Left: 14 * 24 * time.Hour}, {File: "a", Left: 15 * 24 * time.Hour}}
		}, []code.Code{code.CertificateExpires}},
		"a certificate of keepvip that has expired": {func(f *Facts) {
			f.Files = []CertificateFile{{File: "/etc/keepvip/raft.pem", Left: -time.Hour, Own: true}}
		}, []code.Code{code.CertificateExpired}},
		"in the subnet of services": {func(f *Facts) {
			f.Subnets = []ClusterSubnet{
				{File: "/etc/kubernetes/manifests/kube-apiserver.yaml", Line: 3, Flag: "--service-cluster-ip-range", Subnet: netip.MustParsePrefix("10.76.0.0/14")},
				{Flag: "--cluster-cidr", Subnet: netip.MustParsePrefix("10.244.0.0/16")},
			}
		}, []code.Code{code.ClusterNetwork}},
		"kube-proxy ipvs without strictARP": {func(f *Facts) { f.Links = append(f.Links, link.Link{Index: 9, Name: "kube-ipvs0"}) }, []code.Code{code.IPVSStrictARP}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f := good(t)
			tt.fault(&f)
			found := Judge(f)
			var codes []code.Code
			for _, n := range found {
				codes = append(codes, n.Code)
				assert.NotEmpty(t, n.Name, "%s", n.Code)
				assert.NotEmpty(t, n.Remedy, "%s", n.Code)
				assert.NotEmpty(t, n.What, "%s", n.Code)
			}
			assert.ElementsMatch(t, tt.want, codes, "%+v", found)
		})
	}
}

func TestJudgeLetsOrdinaryHostsBe(t *testing.T) {
	tests := map[string]func(*Facts){
		"Hyper-V outside Azure": func(f *Facts) {
			f.Machine = Machine{Vendor: "Microsoft Corporation", Product: "Virtual Machine", Asset: "5013-7764-1225-0463-3344-1231-52"}
		},
		"an ingress beside an apiserver that is elsewhere": func(f *Facts) {
			f.VIPs[0].Check.URL, f.Certificates = "http://127.0.0.1:80/healthz", nil
			f.Endpoints[0].Host, f.Endpoints[0].Address = other.String(), other
		},
		"peers behind a router": func(f *Facts) {
			f.VIPs[0].VRRP.Peers, f.VIPs[0].VRRP.MinTTL = []netip.Addr{own, peer, other}, 250
		},
		"a certificate for all names of a domain": func(f *Facts) {
			f.Certificates[0].Addresses, f.Certificates[0].DNS = []netip.Addr{own}, []string{"kubernetes", "*.Example.org"}
			f.Endpoints[0] = Endpoint{File: "/etc/kubernetes/admin.conf", Key: "server", Host: "api.example.org", Resolves: []netip.Addr{vip}}
		},
	}
	for name, change := range tests {
		f := good(t)
		change(&f)
		assert.Empty(t, Judge(f), name)
	}
}

func TestJudgePutsTheWorstFirst(t *testing.T) {
	f := good(t)
	f.Sysctls["net/ipv4/ip_nonlocal_bind"] = 1
	f.MTU["eth0"] = 600
	f.Links[1].Up = false
	found := Judge(f)
	require.Len(t, found, 3)
	assert.Equal(t, []Severity{Error, Warning, Note}, []Severity{found[0].Severity, found[1].Severity, found[2].Severity})
	assert.Equal(t, Count{Errors: 1, Warnings: 1, Notes: 1}, Tally(found))
}

func TestLatenessSaysWhichIntervalItWouldCarry(t *testing.T) {
	tests := []struct {
		late, want time.Duration
	}{
		{10 * time.Millisecond, 100 * time.Millisecond},
		{80 * time.Millisecond, 200 * time.Millisecond},
		{260 * time.Millisecond, 550 * time.Millisecond},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, carried(tt.late), "%v", tt.late)
	}
}
