package kubeadm

import (
	"cmp"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// Class is what the ClusterClass of a template does to the control plane when a cluster is built.
type Class struct {
	Keepvip int      // the line of the patch that brings keepvip; 0: there is none
	Left    []string // files and commands of kube-vip in the control plane's own template, with their lines
}

// ReadClass reads the ClusterClass of a text, called name in errors. It refuses one that would run kube-vip when a cluster is built, and one
// whose address is only known then, unless its own patch brings keepvip. Without a ClusterClass there is nothing to refuse.
func ReadClass(name string, text []byte) (Class, error) {
	e := yamledit.New(name, text)
	docs, err := e.Documents()
	if err != nil {
		return Class{}, err
	}
	return class{e, docs, jsonPatches(docs)}.read()
}

// class is a text with its patches.
type class struct {
	*yamledit.Editor
	docs    []*yaml.Node
	patches []jsonPatch
}

func (c class) read() (Class, error) {
	out := Class{Left: traces(c.docs)}
	for _, p := range c.patches {
		if c.bringsKeepvip(p) {
			out.Keepvip = cmp.Or(out.Keepvip, p.line())
			if err := errors.Join(c.fits(p), c.twice(p)); err != nil {
				return out, err
			}
		}
	}
	remedy := "take this out, with the variable that it alone has, and begin again"
	if _, _, varies := c.endpoint(); out.Keepvip == 0 && varies {
		remedy = "take this out, with the variable that it alone has, and " + c.patchRemedy()
	} else if out.Keepvip == 0 {
		remedy += "; where each cluster has an address of its own, " + c.patchRemedy()
	}
	errs := append(stays(c.Editor, c.classes(), nil, remedy), c.contents(remedy)...)
	if p, _, ok := c.endpoint(); ok && out.Keepvip == 0 && len(errs) == 0 {
		errs = append(errs, c.Errorf(p.line(), "the patch of %s gives each cluster an address of its own, and keepvip would have a fixed one: %s", p.path, c.patchRemedy()))
	}
	return out, errors.Join(errs[:min(len(errs), mostRemains)]...)
}

func (c class) classes() []*yaml.Node {
	return slices.DeleteFunc(slices.Clone(c.docs), func(d *yaml.Node) bool { return yamledit.TextAt(d, "kind") != "ClusterClass" })
}

// template is the text of the value that a patch gives, be it one of Go or a mapping.
func (p jsonPatch) template() *yaml.Node {
	if n := yamledit.At(p.node, "valueFrom", "template"); n != nil {
		var doc yaml.Node
		if yaml.Unmarshal([]byte(n.Value), &doc) == nil && len(doc.Content) > 0 {
			return doc.Content[0]
		}
		return n
	}
	return yamledit.At(p.node, "value")
}

// filesOfTemplate is where a KubeadmControlPlaneTemplate has its files.
var filesOfTemplate = []string{"spec", "template", "spec", "kubeadmConfigSpec", "files"}

// filesIn is what of a patch's path is below the files of a control plane.
func (p jsonPatch) filesIn() (rest []string, ok bool) {
	return p.below(filesOfTemplate)
}

// bringsKeepvip knows the patch of packaging/clusterapi by the file that it adds, and one that fills the file of that name.
func (c class) bringsKeepvip(p jsonPatch) bool {
	rest, ok := p.filesIn()
	if !ok || p.op == "remove" {
		return false
	}
	if path, named := c.fills(rest); named {
		return isKeepvip(path)
	}
	n := p.template()
	if n != nil && n.Kind == yaml.ScalarNode { // of Go, and no YAML yet
		return keepvipFile().MatchString(n.Value) && strings.Contains(n.Value, "kind: Pod")
	}
	file := yamledit.TextAt(n, "path")
	content, _ := yamledit.ContentAt(n)
	return file == UnitPath || isKeepvip(file) && strings.Contains(content, "kind: Pod") // its configuration may have the same name
}

func isKeepvip(file string) bool {
	return path.Base(file) == path.Base(ManifestPath) || file == UnitPath
}

var keepvipFile = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^path:.*/keepvip\.(yaml|service)["']?\s*$`) })

// fills is the path of the file whose content a patch writes by its number.
func (c class) fills(rest []string) (path string, ok bool) {
	if len(rest) != 2 || rest[1] != "content" && rest[1] != "contentFrom" {
		return "", false
	}
	n, numbered := slot(rest[0])
	for _, d := range c.docs {
		if files := itemsAt(d, filesOfTemplate); numbered && n < len(files) {
			return yamledit.TextAt(files[n], "path"), true
		}
	}
	return "", false
}

// contents are the errors about patches that write the content of a file of kube-vip.
func (c class) contents(remedy string) (errs []error) {
	for _, p := range c.patches {
		rest, _ := p.filesIn()
		from := yamledit.TextAt(p.node, "valueFrom", "variable")
		if file, ok := c.fills(rest); ok && named.MatchString(file) && !named.MatchString(from) {
			errs = append(errs, c.Errorf(p.line(), "kube-vip would stay beside keepvip, by the patch that writes %s; %s", file, remedy))
		}
	}
	return errs
}

// fits refuses a patch that Cluster API would not apply: it goes by the apiVersion as it is written.
func (c class) fits(p jsonPatch) error {
	got := yamledit.At(p.selector, "apiVersion")
	if want := c.version(); got != nil && got.Value != want && !strings.Contains(got.Value+want, "${") {
		return c.Errorf(got.Line, "the patch that brings keepvip is for %s, and the KubeadmControlPlaneTemplate is of %s: want the same, because Cluster API compares them as they are written", got.Value, want)
	}
	return nil
}

// twice refuses a file that the template has, too: Cluster API wants each path once.
func (c class) twice(p jsonPatch) error {
	rest, _ := p.filesIn()
	if _, fills := c.fills(rest); fills {
		return nil
	}
	for _, d := range c.docs {
		for _, n := range itemsAt(d, filesOfTemplate) {
			if at := yamledit.At(n, "path"); at != nil && isKeepvip(at.Value) {
				return c.Errorf(at.Line, "%s is a file here, and the patch in line %d brings it, too: take out one of them, because Cluster API wants each path once", at.Value, p.line())
			}
		}
	}
	return nil
}

// version is that of the control plane's template, as the class refers to it.
func (c class) version() string {
	for _, d := range c.classes() {
		for _, key := range []string{"ref", "templateRef"} {
			if v := yamledit.TextAt(d, "spec", "controlPlane", key, "apiVersion"); v != "" {
				return v
			}
		}
	}
	for _, d := range c.docs {
		if yamledit.TextAt(d, "kind") == "KubeadmControlPlaneTemplate" {
			return yamledit.TextAt(d, "apiVersion")
		}
	}
	return controlPlaneAPI + "v1beta2"
}

// endpoint is the patch that writes the host of the cluster's endpoint from a variable, and the variable as templates of Go have it; "" for
// one that has no such form.
func (c class) endpoint() (p jsonPatch, variable string, ok bool) {
	for _, p := range c.patches {
		host := p.keys[len(p.keys)-1] == "host" && slices.Contains(p.keys, endpointKey)
		if !host && p.keys[len(p.keys)-1] != endpointKey {
			continue
		}
		from, template := yamledit.TextAt(p.node, "valueFrom", "variable"), yamledit.TextAt(p.node, "valueFrom", "template")
		switch {
		case strings.Contains(from, "["): // an index is none of a template's
			return p, "", true
		case from != "" && host:
			return p, "{{ ." + from + " }}", true
		case from != "":
			return p, "{{ ." + from + ".host }}", true
		case template != "" && host:
			return p, strings.TrimSpace(template), true
		case template != "":
			return p, strings.TrimSpace(yamledit.TextAt(p.template(), "host")), true
		}
	}
	return jsonPatch{}, "", false
}

var plainVariable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{\{-? *\.[A-Za-z0-9_.]+ *-?\}\}$`) })

const endpointKey = "controlPlaneEndpoint"

// patchRemedy says how keepvip gets into a class, and what becomes of the rest of kube-vip.
func (c class) patchRemedy() string {
	const of = " of packaging/clusterapi/clusterclass.yaml, with the apiVersion "
	out := "put in the patch and the variables" + of + c.version()
	if _, variable, _ := c.endpoint(); plainVariable().MatchString(variable) {
		out = "put in the patch and the variable keepvipImage" + of + c.version() + " and with " + variable + " in place of {{ .controlPlaneVip }}"
	}
	out += ", and begin again: keepvip manifest kubeadmcontrolplane --template FILE"
	if left := traces(c.docs); len(left) > 0 {
		return out + " then takes out what is left of kube-vip: " + strings.Join(left, ", ")
	}
	return out + " then has nothing to add"
}
