package kubeadm

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// servesServices are the notes' words for what a kube-vip does beside the control plane.
const servesServices = "its kube-vip serves Services of type LoadBalancer, too"

// task is what a kube-vip does. One that says neither has been told nothing that keepvip knows.
type task struct{ controlPlane, services bool }

// servicesAlone is a kube-vip that keepvip does not take the place of.
func (t task) servicesAlone() bool { return t.services && !t.controlPlane }

// taskOf is the task of the pods that a file has, by their variables and flags.
func taskOf(file *yaml.Node) (t task) {
	content, _ := yamledit.ContentAt(file)
	if !strings.Contains(content, kubeVIP) {
		return task{}
	}
	docs, err := yamledit.Parse([]byte(content))
	if err != nil {
		return task{}
	}
	for _, d := range docs {
		for _, spec := range [][]string{{"spec", "containers"}, {"spec", "template", "spec", "containers"}} {
			for _, c := range itemsAt(d, spec) {
				if strings.Contains(yamledit.TextAt(c, "image"), kubeVIP) {
					t.controlPlane = t.controlPlane || isOn(c, "cp_enable", "controlplane")
					t.services = t.services || isOn(c, "svc_enable", "services")
				}
			}
		}
	}
	return t
}

// isOn tells that a container has a switch on, as a variable or a flag. A value that is not there, or is no switch, may be anything.
func isOn(container *yaml.Node, variable, flag string) bool {
	on := false
	for _, key := range []string{"command", "args"} {
		for _, arg := range itemsAt(container, []string{key}) {
			name, value, given := strings.Cut(strings.TrimLeft(arg.Value, "-"), "=")
			if name == flag && strings.HasPrefix(arg.Value, "-") {
				on = !given || mayBeOn(value)
			}
		}
	}
	for _, e := range itemsAt(container, []string{"env"}) {
		if yamledit.TextAt(e, "name") == variable {
			on = yamledit.At(e, "valueFrom") != nil || mayBeOn(yamledit.TextAt(e, "value"))
		}
	}
	return on
}

func mayBeOn(value string) bool {
	on, err := strconv.ParseBool(value)
	return on || err != nil && value != ""
}

// setsUpControlPlane is what a text has that would make a kube-vip for the control plane.
var setsUpControlPlane = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`cp_enable|controlplane|kube-vip["']?[\s\\]+manifest\b`)
})

// kept are the paths of the files that stay because their kube-vip serves Services alone.
type kept []string

// keptIn looks through a list of files.
func keptIn(files []*yaml.Node) (k kept) {
	for _, n := range files {
		if taskOf(n).servicesAlone() {
			k = append(k, yamledit.TextAt(n, "path"))
		}
	}
	return k
}

func (k kept) notes() (out []string) {
	for _, path := range k {
		out = append(out, fmt.Sprintf("left the file %s, and what belongs to it: its kube-vip serves Services of type LoadBalancer alone (svc_enable without cp_enable)", path))
	}
	return out
}

// gone tells that a file or a command of kube-vip goes although a kube-vip stays: it names a file that goes, and none that stays.
func (k kept) gone(text string, dropped []string) bool {
	names := func(path string) bool { return path != "" && strings.Contains(text, path) }
	return len(k) == 0 || slices.ContainsFunc(dropped, names) && !slices.ContainsFunc(k, names)
}
