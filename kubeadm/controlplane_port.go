package kubeadm

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// TemplateBindPort is the port that the apiservers of a template of Cluster API listen on: the bindPort of its KubeadmControlPlane, or
// kubeadm's. 0: that is a variable, or there is no such object.
func TemplateBindPort(name string, text []byte) (uint16, error) {
	t := template{Editor: yamledit.New(name, text)}
	docs, err := t.Documents()
	if err != nil {
		return 0, err
	}
	for _, d := range docs {
		if t.spec = controlPlaneSpec(d); t.spec != nil {
			init, _ := t.bindPorts(d)
			return t.bindPort(init)
		}
	}
	return 0, nil
}

// controlPlaneSpec is the path of the kubeadmConfigSpec of a KubeadmControlPlane, or of its template; nil for other objects.
func controlPlaneSpec(d *yaml.Node) []string {
	if !strings.HasPrefix(yamledit.TextAt(d, "apiVersion"), controlPlaneAPI) {
		return nil
	}
	switch yamledit.TextAt(d, "kind") {
	case "KubeadmControlPlane":
		return []string{"spec", "kubeadmConfigSpec"}
	case "KubeadmControlPlaneTemplate":
		return []string{"spec", "template", "spec", "kubeadmConfigSpec"}
	}
	return nil
}

// bindPorts are those of the first node, and of the nodes that join; nil where there is none.
func (t *template) bindPorts(d *yaml.Node) (init, join *yaml.Node) {
	given := func(keys ...string) *yaml.Node {
		n := yamledit.At(d, t.at(append(keys, "localAPIEndpoint", "bindPort")...)...)
		if n == nil || n.Tag == "!!null" || n.Value == "0" { // kubeadm's default
			return nil
		}
		return n
	}
	return given("initConfiguration"), given("joinConfiguration", "controlPlane")
}

func (t *template) bindPort(n *yaml.Node) (uint16, error) {
	switch {
	case n == nil:
		return defaultAPIPort, nil
	case strings.Contains(n.Value, "${"):
		return 0, nil
	case portNumber(n.Value) == 0:
		return 0, t.Errorf(n.Line, "bindPort %q, want a port from 1 to 65535", n.Value)
	}
	return portNumber(n.Value), nil
}

// onePort sees to it that the apiservers of all nodes listen on one port: the check of keepvip is the same on all of them.
func (t *template) onePort(cfg ControlPlaneConfig) error {
	first, joins := t.bindPorts(t.given[t.doc])
	port, err := t.bindPort(first)
	if err != nil {
		return err
	}
	other, err := t.bindPort(joins)
	switch {
	case err != nil:
		return err
	case port == 0 || other == 0:
		variable := first
		if port != 0 {
			variable = joins
		}
		t.notes = append(t.notes, fmt.Sprintf("the bindPort in line %d is a variable: keepvip's check has to ask at that port, too (--check)", variable.Line))
		return nil
	case port != other && joins != nil:
		return t.Errorf(joins.Line, "bindPort %d of joinConfiguration, want %d as of initConfiguration: the check of keepvip is the same on all nodes", other, port)
	case port != other:
		t.notes = append(t.notes, fmt.Sprintf("the bindPort in line %d is for the first node alone: nodes that join listen on %d, unless joinConfiguration.controlPlane.localAPIEndpoint has it, too", first.Line, other))
	}
	for _, d := range t.given {
		n := yamledit.At(d, "spec", "clusterNetwork", "apiServerPort")
		if n != nil && yamledit.TextAt(d, "kind") == "Cluster" && portNumber(n.Value) != 0 && portNumber(n.Value) != port && !cfg.Spread {
			t.notes = append(t.notes, fmt.Sprintf("the apiServerPort %s in line %d is no bindPort: the apiservers listen on %d (localAPIEndpoint.bindPort)", n.Value, n.Line, port))
		}
	}
	return nil
}
