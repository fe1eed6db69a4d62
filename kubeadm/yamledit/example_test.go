package yamledit_test

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

func Example() {
	e := yamledit.New("user-data", []byte(`#cloud-config
hostname: cp-1   # changed by the provisioner

runcmd:
- [kubeadm, init]   # last
`))
	now := func(n *yaml.Node) bool { return n.Value == "date" }
	if err := e.PutAt(0, []string{"runcmd"}, 0, "date", now); err != nil {
		fmt.Println(err)
	}
	fmt.Print(string(e.Bytes()))
	// Output:
	// #cloud-config
	// hostname: cp-1   # changed by the provisioner
	//
	// runcmd:
	// - date
	// - [kubeadm, init]   # last
}
