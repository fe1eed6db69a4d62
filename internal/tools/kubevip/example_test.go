package kubevip_test

import (
	"fmt"
	"net/netip"

	"github.com/keepvip/keepvip/internal/tools/kubevip"
)

// What kube-vip is run with becomes options of keepvip, and a finding for each setting.
func ExampleConvert() {
	const pod = `apiVersion: v1
kind: Pod
metadata: {name: kube-vip}
spec:
  containers:
  - name: kube-vip
    image: ghcr.io/kube-vip/kube-vip:v1.0.0
    args: [manager]
    env:
    - {name: vip_arp, value: "true"}
    - {name: cp_enable, value: "true"}
    - {name: vip_leaderelection, value: "true"}
    - {name: vip_interface, value: eth0}
    - {name: address, value: 10.0.0.100}
`
	r, err := kubevip.Convert("kube-vip.yaml", []byte(pod), netip.Addr{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range r.Options {
		fmt.Println("--"+o.Flag, o.Values)
	}
	for _, f := range r.Findings {
		fmt.Println(f.At("kube-vip.yaml"))
	}
	// Output:
	// --vip [10.0.0.100]
	// --interface [eth0]
	// kube-vip.yaml:7: changed: image ghcr.io/kube-vip/kube-vip:v1.0.0: keepvip's image (--image)
	// kube-vip.yaml:10: carried over: vip_arp true: gratuitous ARP and unsolicited neighbour advertisements, the first one when the address is bound
	// kube-vip.yaml:11: carried over: cp_enable true: the address of the control plane is what keepvip keeps
	// kube-vip.yaml:12: changed: vip_leaderelection true: the nodes elect among themselves, with VRRP and without the apiserver
	// kube-vip.yaml:13: carried over: vip_interface eth0: --interface=eth0
	// kube-vip.yaml:14: carried over: address 10.0.0.100: --vip=10.0.0.100
}
