package doctor

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/keepvip/keepvip/internal/kernel/link"
)

func TestJudgeKubelet(t *testing.T) {
	own6 := netip.MustParseAddr("fd77::11")
	only6 := func(f *Facts) {
		f.Links[1].Addresses = []link.Address{{Prefix: netip.PrefixFrom(own6, 64)}, {Prefix: netip.PrefixFrom(vip, 32), Ours: true}}
	}
	for name, tt := range map[string]struct {
		kubelet Kubelet
		change  func(*Facts)
		want    []string // severity and what
	}{
		"a node IP": {Kubelet{NodeIPs: []netip.Addr{own}, Serving: &Serving{Addresses: []netip.Addr{own}}}, nil, nil},
		"none":      {Kubelet{From: "by its command line"}, nil, []string{"note the kubelet has no --node-ip (by its command line), and looks for the node's address by itself each time it starts"}},
		"the virtual one": {Kubelet{From: "by f", NodeIPs: []netip.Addr{own6, vip}}, nil, []string{
			"error the kubelet has --node-ip 10.77.0.100 (by f), which is a virtual address",
		}},
		"a name that stands for the virtual one": {Kubelet{From: "by f", Name: "n1", Resolves: []netip.Addr{own, vip}}, nil, []string{
			"error the kubelet has no --node-ip (by f), and the name n1 of this node stands for 10.77.0.100, a virtual address",
		}},
		"that name, and a node IP": {Kubelet{Name: "n1", Resolves: []netip.Addr{vip}, NodeIPs: []netip.Addr{own}}, nil, nil},
		"IPv6 first": {Kubelet{From: "by f"}, only6, []string{
			"warning the kubelet has no --node-ip (by f), and prefers IPv4: this host has addresses of its own in IPv6 alone (fd77::11), so the kubelet takes a virtual one while this node holds it",
		}},
		"IPv6 first, and a node IP": {Kubelet{NodeIPs: []netip.Addr{own6}}, only6, nil},
		"IPv4 first, and only IPv6 has a default route": {Kubelet{From: "by f"}, func(f *Facts) {
			f.Default4 = nil
			f.Links[1].Addresses = append(f.Links[1].Addresses, link.Address{Prefix: netip.PrefixFrom(own6, 64)})
		}, []string{"warning the kubelet has no --node-ip (by f), and this host has no default route of IPv4: it goes by that of IPv6"}},
		"a certificate for a name alone": {Kubelet{NodeIPs: []netip.Addr{own}, Serving: &Serving{DNS: []string{"n1"}}}, nil, []string{
			"note the certificate that the kubelet shows names no address of this host",
		}},
		"one for the virtual address": {Kubelet{NodeIPs: []netip.Addr{own}, Serving: &Serving{Addresses: []netip.Addr{vip}}}, nil, []string{
			"warning the certificate that the kubelet shows names no address of this host, but the virtual address 10.77.0.100",
		}},
		"one that the apiserver verifies": {Kubelet{NodeIPs: []netip.Addr{own}, Serving: &Serving{DNS: []string{"n1"}}, Verified: true}, nil, []string{
			"warning the certificate that the kubelet shows names no address of this host, and the apiserver verifies it " +
				"(--kubelet-certificate-authority): logs and exec of this node's pods fail",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			f := good(t)
			f.Kubelet = &tt.kubelet
			if tt.change != nil {
				tt.change(&f)
			}
			out := &findings{}
			judgeKubelet(out, f)
			var got []string
			for _, n := range out.sorted() {
				got = append(got, string(n.Severity)+" "+n.What)
				assert.NotEmpty(t, n.Remedy)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}
