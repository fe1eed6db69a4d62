package kubeadm_test

import (
	"bytes"
	"fmt"

	"github.com/keepvip/keepvip/kubeadm"
)

func ExamplePod() {
	manifest, err := kubeadm.Pod(kubeadm.PodConfig{
		Node:  kubeadm.Node{Args: []string{"--vip=10.77.0.100"}, Socket: "/run/keepvip/keepvip.sock", StateDir: "/var/lib/keepvip"},
		Image: "ghcr.io/keepvip/keepvip:v0.1.0", Metrics: "127.0.0.1:9645",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", bytes.SplitAfterN(manifest, []byte("\n"), 5)[:4])
	// Output:
	// [# keepvip as a static pod. The same file fits every control-plane node:
	//  # put it there as /etc/kubernetes/manifests/keepvip.yaml before kubeadm init or join.
	//  apiVersion: v1
	//  kind: Pod
	// ]
}
