package kubeadm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// kubeVIP is what gives away the files and commands of the program that keepvip takes the place of.
const kubeVIP = "kube-vip"

// template is a text with the objects of a cluster.
type template struct {
	editor
	doc   int      // of the KubeadmControlPlane
	spec  []string // path of its kubeadmConfigSpec
	notes []string
}

// TemplateEndpoint is the controlPlaneEndpoint that a template of Cluster API names: in its Cluster, in the infrastructure's cluster
// or in the KubeadmControlPlane. It may be a variable. The zero Endpoint: none of them does.
func TemplateEndpoint(name string, text []byte) (Endpoint, error) {
	t := template{editor: editor{name: name, text: text}}
	docs, err := t.documents()
	if err != nil {
		return Endpoint{}, err
	}
	for _, d := range docs {
		if e := endpointOf(d); e.Host != "" {
			return e, nil
		}
	}
	return Endpoint{}, nil
}

// MergeControlPlane puts the part into a template, called name in errors: the KubeadmControlPlane (or KubeadmControlPlaneTemplate) in
// it gets the files and commands, and loses those of kube-vip; every other line stays as it is. The notes, a line each, say what was
// taken out and what is left to a person. With an error nothing is rendered.
func MergeControlPlane(name string, text []byte, cfg ControlPlaneConfig) (merged []byte, notes []string, err error) {
	files, err := cfg.files()
	if err != nil {
		return nil, nil, err
	}
	t := template{editor: editor{name: name, text: slices.Clone(text)}}
	for _, step := range []func() error{
		t.locate,
		func() error { return t.endpoint(cfg) },
		t.dropKubeVIP,
		func() error { return t.dropOtherForm(t.doc, cfg.Files, t.at("files"), t.at("preKubeadmCommands")) },
		func() error { return t.putFiles(files) },
		func() error { return t.putCommands(cfg.commands()) },
	} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	t.noteLeftovers()
	return t.text, t.notes, nil
}

// locate finds the one KubeadmControlPlane.
func (t *template) locate() error {
	docs, err := t.documents()
	if err != nil {
		return err
	}
	found := 0
	for i, d := range docs {
		if !strings.HasPrefix(textAt(d, "apiVersion"), controlPlaneAPI) {
			continue
		}
		switch textAt(d, "kind") {
		case "KubeadmControlPlane":
			t.doc, t.spec = i, []string{"spec", "kubeadmConfigSpec"}
		case "KubeadmControlPlaneTemplate":
			t.doc, t.spec = i, []string{"spec", "template", "spec", "kubeadmConfigSpec"}
		default:
			continue
		}
		found++
	}
	if found != 1 {
		return t.fail(0, "%d objects of kind KubeadmControlPlane or KubeadmControlPlaneTemplate, want one", found)
	}
	return nil
}

func (t *template) at(keys ...string) []string { return append(slices.Clone(t.spec), keys...) }

// endpoint sees to it that the cluster's endpoint is ours, and that the certificate names all addresses.
func (t *template) endpoint(cfg ControlPlaneConfig) error {
	docs, err := t.documents()
	if err != nil {
		return err
	}
	named := false
	for _, d := range docs {
		got := endpointOf(d)
		if got.Host == "" {
			continue
		}
		named = true
		if got.Host != cfg.Endpoint.Host || got.Port != 0 && got.Port != cfg.Endpoint.Port {
			return t.fail(d.Line, "controlPlaneEndpoint %s of %s, want %s", got, textAt(d, "kind"), cfg.Endpoint)
		}
	}
	if !named {
		path := t.at("clusterConfiguration", "controlPlaneEndpoint")
		if err := t.set(t.doc, path, cfg.Endpoint.String()); err != nil {
			return err
		}
		t.notes = append(t.notes, fmt.Sprintf("no object had a controlPlaneEndpoint: %s stands in %s now; give the Cluster the same in spec.controlPlaneEndpoint", cfg.Endpoint, whole(path)))
	}
	for _, san := range cfg.CertSANs {
		same := func(n *yaml.Node) bool { return n.Value == san }
		if err := t.putItem(t.doc, t.at("clusterConfiguration", "apiServer", "certSANs"), san, same); err != nil {
			return err
		}
	}
	return nil
}

// endpointOf is the endpoint that one object names, without a port where that is a variable.
func endpointOf(d *yaml.Node) Endpoint {
	for _, path := range [][]string{{"spec", "controlPlaneEndpoint"}, {"spec", "template", "spec", "controlPlaneEndpoint"}} {
		if host := textAt(at(d, path...), "host"); host != "" {
			port, _ := strconv.ParseUint(textAt(at(d, path...), "port"), 10, 16)
			return Endpoint{Host: host, Port: uint16(port)}
		}
	}
	for _, path := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		spec := at(at(d, path...), "kubeadmConfigSpec", "clusterConfiguration")
		if text := textAt(spec, "controlPlaneEndpoint"); text != "" {
			host, port := splitEndpoint(text)
			n, _ := strconv.ParseUint(port, 10, 16)
			return Endpoint{Host: host, Port: uint16(n)}
		}
	}
	return Endpoint{}
}

// dropKubeVIP takes out the files of kube-vip and the commands that prepare them.
func (t *template) dropKubeVIP() error {
	files, err := t.drop(t.doc, t.at("files"), func(n *yaml.Node) bool {
		return strings.Contains(textAt(n, "path"), kubeVIP) || podRuns(textAt(n, "content"), kubeVIP)
	})
	if err != nil {
		return err
	}
	for _, n := range files {
		t.notes = append(t.notes, "took out the file "+textAt(n, "path"))
	}
	for _, key := range []string{"preKubeadmCommands", "postKubeadmCommands"} {
		commands, err := t.drop(t.doc, t.at(key), func(n *yaml.Node) bool { return strings.Contains(n.Value, kubeVIP) })
		if err != nil {
			return err
		}
		for _, n := range commands {
			t.notes = append(t.notes, fmt.Sprintf("took out of %s: %s", key, strings.Join(strings.Fields(n.Value), " ")))
		}
	}
	return nil
}

// podRuns tells that a text is a pod with an image of that name.
func podRuns(text, image string) bool {
	var p struct {
		Kind string `yaml:"kind"`
		Spec struct {
			Containers []struct {
				Image string `yaml:"image"`
			} `yaml:"containers"`
		} `yaml:"spec"`
	}
	if yaml.Unmarshal([]byte(text), &p) != nil || p.Kind != "Pod" {
		return false
	}
	for _, c := range p.Spec.Containers {
		if strings.Contains(c.Image, image) {
			return true
		}
	}
	return false
}

func (t *template) putFiles(files []controlPlaneFile) error {
	for _, f := range files {
		if err := t.putItem(t.doc, t.at("files"), f, func(n *yaml.Node) bool { return textAt(n, "path") == f.Path }); err != nil {
			return err
		}
	}
	return nil
}

func (t *template) putCommands(commands []string) error {
	for i, c := range commands {
		path := t.at("preKubeadmCommands")
		same := func(n *yaml.Node) bool { return n.Value == c }
		list, err := t.listAt(t.doc, path)
		if err != nil {
			return err
		}
		if i < len(list) && same(list[i]) {
			continue
		}
		if _, err := t.drop(t.doc, path, same); err != nil {
			return err
		}
		if err := t.insert(t.doc, path, i, c); err != nil {
			return err
		}
	}
	return nil
}

// noteLeftovers points at what still speaks of kube-vip, such as a patch of a ClusterClass.
func (t *template) noteLeftovers() {
	for i, l := range t.lines() {
		if strings.Contains(l, kubeVIP) {
			t.notes = append(t.notes, fmt.Sprintf("%s is still named in line %d of the result: %s", kubeVIP, i+1, strings.TrimSpace(l)))
		}
	}
}
