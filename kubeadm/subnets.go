package kubeadm

import (
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// insideOf are the errors of virtual addresses that are in a subnet of the cluster's own: one of the values of keys below path in d, each
// a text with commas or a list. A value that is no subnet, such as a variable, says nothing.
func insideOf(t *yamledit.Editor, d *yaml.Node, vips []netip.Addr, path string, keys ...string) (errs []error) {
	for _, key := range keys {
		n := yamledit.At(d, append(strings.Split(path, "."), strings.Split(key, ".")...)...)
		if n == nil {
			continue
		}
		for _, value := range append([]*yaml.Node{n}, n.Content...) {
			for s := range strings.SplitSeq(value.Value, ",") {
				subnet, err := netip.ParsePrefix(strings.TrimSpace(s))
				if err != nil {
					continue
				}
				for _, a := range vips {
					if subnet.Contains(a) {
						errs = append(errs, t.Errorf(value.Line, "%s %s contains the virtual address %s, want an address of the nodes' own subnet, or another %s", key, subnet, a, key))
					}
				}
			}
		}
	}
	return errs
}
