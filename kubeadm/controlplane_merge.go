package kubeadm

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// template is a text with the objects of a cluster.
type template struct {
	*yamledit.Editor
	doc   int          // of the KubeadmControlPlane
	lists bool         // its version has extraArgs as lists
	spec  []string     // path of its kubeadmConfigSpec
	given []*yaml.Node // the documents before the first change
	class Class
	stay  kept
	notes []string
}

// TemplateEndpoint is the controlPlaneEndpoint that a template of Cluster API names: in its Cluster, in the infrastructure's cluster
// or in the KubeadmControlPlane. It may be a variable. The zero Endpoint: none of them does.
func TemplateEndpoint(name string, text []byte) (Endpoint, error) {
	docs, err := yamledit.New(name, text).Documents()
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
// it gets the files and commands, and loses those of kube-vip; every other line stays as it is. Where the patch of a ClusterClass brings keepvip,
// those of kube-vip go and nothing is added. The notes, a line each, say what was taken out and what is left to a person. With an error nothing
// is rendered.
func MergeControlPlane(name string, text []byte, cfg ControlPlaneConfig) (merged []byte, notes []string, err error) {
	files, err := cfg.files()
	if err != nil {
		return nil, nil, err
	}
	t := template{Editor: yamledit.New(name, text)}
	for _, step := range []func() error{
		t.locate,
		t.readClass,
		t.unlessByClass(func() error { return t.onePort(cfg) }),
		t.unlessByClass(func() error { return t.endpoint(cfg) }),
		t.unlessByClass(func() error { return t.outsideOfTheCluster(cfg) }),
		func() error {
			stay, notes, err := dropKubeVIP(t.Editor, t.doc, t.at("files"), t.at("preKubeadmCommands"), t.at("postKubeadmCommands"))
			t.stay, t.notes = stay, append(t.notes, notes...)
			return err
		},
		t.unlessByClass(func() error {
			return mergeLists(t.Editor, t.doc, t.at("files"), files, t.at("preKubeadmCommands"), cfg.commands(), isText)
		}),
		func() error { return remains(t.Editor, t.stay) },
		t.slots,
		t.keepsList,
	} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return t.Bytes(), append(t.notes, leftovers(t.Bytes(), t.stay)...), nil
}

// locate finds the one KubeadmControlPlane.
func (t *template) locate() error {
	docs, err := t.Documents()
	if err != nil {
		return err
	}
	t.given = docs
	found := 0
	for i, d := range docs {
		spec := controlPlaneSpec(d)
		if spec == nil {
			continue
		}
		t.doc, t.spec = i, spec
		t.lists = yamledit.TextAt(d, "apiVersion") != controlPlaneAPI+"v1beta1"
		found++
	}
	if found != 1 {
		return t.Errorf(0, "%d objects of kind KubeadmControlPlane or KubeadmControlPlaneTemplate, want one", found)
	}
	return nil
}

func (t *template) readClass() (err error) {
	t.class, err = class{t.Editor, t.given, jsonPatches(t.given)}.read()
	if t.class.Keepvip > 0 {
		t.notes = append(t.notes, fmt.Sprintf("the patch in line %d brings keepvip: what is kube-vip's was taken out, and nothing put in", t.class.Keepvip))
	}
	return err
}

// keepsList notes that a patch has no list any more to add to.
func (t *template) keepsList() error {
	docs, err := t.Documents()
	if err == nil && t.class.Keepvip > 0 && len(itemsAt(docs[t.doc], t.at("files"))) == 0 {
		t.notes = append(t.notes, fmt.Sprintf("files is empty now: give it an entry, because Cluster API may drop an empty list, and the patch in line %d then has none to add to", t.class.Keepvip))
	}
	return err
}

// unlessByClass is a step that is left out where a ClusterClass brings keepvip.
func (t *template) unlessByClass(step func() error) func() error {
	return func() error {
		if t.class.Keepvip > 0 {
			return nil
		}
		return step()
	}
}

func (t *template) at(keys ...string) []string { return append(slices.Clone(t.spec), keys...) }

// endpoint sees to it that the cluster's endpoint is ours, that the certificate names all addresses, and that clients are spread.
func (t *template) endpoint(cfg ControlPlaneConfig) error {
	docs, err := t.Documents()
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
			return t.Errorf(d.Line, "controlPlaneEndpoint %s of %s, want %s", got, yamledit.TextAt(d, "kind"), cfg.Endpoint)
		}
	}
	for _, p := range jsonPatches(docs) {
		if host := p.fixedHost(); host != "" && host != cfg.Endpoint.Host {
			return t.Errorf(p.line(), "the patch of %s writes the address %s, want %s", p.path, host, cfg.Endpoint.Host)
		}
	}
	if !named {
		path := t.at("clusterConfiguration", "controlPlaneEndpoint")
		if err := t.Set(t.doc, path, cfg.Endpoint.String()); err != nil {
			return err
		}
		t.notes = append(t.notes, fmt.Sprintf("no object had a controlPlaneEndpoint: %s is in %s now; give the Cluster the same in spec.controlPlaneEndpoint", cfg.Endpoint, yamledit.Whole(path)))
	}
	for _, san := range cfg.CertSANs {
		if err := t.Put(t.doc, t.at("clusterConfiguration", "apiServer", "certSANs"), san, isText(san)); err != nil {
			return err
		}
	}
	if cfg.Spread {
		return addGoaway(t.Editor, t.doc, t.at("clusterConfiguration", "apiServer"), t.lists)
	}
	return nil
}

// outsideOfTheCluster: see [InitConfig.Outside]. An address that is a variable is not known yet.
func (t *template) outsideOfTheCluster(cfg ControlPlaneConfig) error {
	var vips []netip.Addr
	for _, s := range append([]string{cfg.Endpoint.Host}, cfg.CertSANs...) {
		if a, err := netip.ParseAddr(s); err == nil && !slices.Contains(vips, a) {
			vips = append(vips, a)
		}
	}
	docs, err := t.Documents()
	if err != nil {
		return err
	}
	var errs []error
	for i, d := range docs {
		if yamledit.TextAt(d, "kind") == "Cluster" {
			errs = append(errs, insideOf(t.Editor, d, vips, "spec.clusterNetwork", "services.cidrBlocks", "pods.cidrBlocks")...)
		}
		if i == t.doc {
			errs = append(errs, insideOf(t.Editor, yamledit.At(d, t.at("clusterConfiguration")...), vips, "networking", "serviceSubnet", "podSubnet")...)
		}
	}
	return errors.Join(errs...)
}

// endpointOf is the endpoint that one object names, without a port where that is a variable.
func endpointOf(d *yaml.Node) Endpoint {
	for _, path := range [][]string{{"spec"}, {"spec", "template", "spec"}} {
		spec := yamledit.At(d, path...)
		host, port := yamledit.TextAt(spec, "controlPlaneEndpoint", "host"), yamledit.TextAt(spec, "controlPlaneEndpoint", "port")
		if host == "" {
			host, port = splitEndpoint(yamledit.TextAt(spec, "kubeadmConfigSpec", "clusterConfiguration", "controlPlaneEndpoint"))
		}
		if host != "" {
			n, _ := strconv.ParseUint(port, 10, 16)
			return Endpoint{Host: host, Port: uint16(n)}
		}
	}
	return Endpoint{}
}

// isText matches a scalar.
func isText(s string) yamledit.Match {
	return func(n *yaml.Node) bool { return n.Value == s }
}
