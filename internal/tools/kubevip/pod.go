package kubevip

import (
	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// fromPod reads one container of an object, and says what of the pod around it does not go over.
func fromPod(d, c *yaml.Node) source {
	out := source{line: c.Line}
	for _, key := range []string{"command", "args"} {
		out.settings = append(out.settings, argSettings(items(yamledit.At(c, key)))...)
	}
	for _, e := range items(yamledit.At(c, "env")) {
		name := yamledit.TextAt(e, "name")
		s := setting{name: name, value: yamledit.TextAt(e, "value"), line: e.Line, rank: inEnv, row: rowOf(func(r *row) bool { return r.env == name })}
		switch value := yamledit.At(e, "value"); {
		case yamledit.At(e, "valueFrom") != nil:
			s.hidden = "by valueFrom"
		case value != nil && value.Kind != yaml.ScalarNode:
			s.hidden = severalValues
		}
		out.settings = append(out.settings, s)
	}
	out.around = around(d, c)
	return out
}

// around are findings about the pod.
func around(d, c *yaml.Node) (out []Finding) {
	spec := podOf(d)
	add := func(n *yaml.Node, v fate, what, why string) {
		if n != nil {
			out = append(out, Finding{Line: n.Line, Fate: v, What: what, Why: why})
		}
	}
	if kind := yamledit.TextAt(d, "kind"); kind != "Pod" {
		add(d, Changed, "kind "+kind, "a static pod runs on the nodes that have its manifest: put it onto those on which kube-vip ran (-o daemonset prints a DaemonSet)")
	}
	image := yamledit.At(c, "image")
	add(image, Changed, "image "+show(yamledit.TextAt(c, "image")), "keepvip's image (--image)")
	add(yamledit.At(c, "envFrom"), Lost, "envFrom", "what it brings is not in this file: look through it")
	for _, key := range []string{"initContainers", "containers"} {
		for _, other := range items(yamledit.At(spec, key)) {
			if other != c {
				add(other, Lost, "container "+show(yamledit.TextAt(other, "name")), "it is not kube-vip")
			}
		}
	}
	add(yamledit.At(spec, "hostAliases"), Unneeded, "hostAliases", "keepvip asks 127.0.0.1 by its address")
	add(yamledit.At(spec, "serviceAccountName"), Unneeded, "serviceAccountName "+show(yamledit.TextAt(spec, "serviceAccountName")), "keepvip needs no rights in the cluster")
	for _, v := range items(yamledit.At(spec, "volumes")) {
		add(v, Unneeded, "volume "+show(yamledit.TextAt(v, "name")), "keepvip needs no kubeconfig; its pod mounts what its own options name")
	}
	return out
}
