package kubeadm

import (
	"cmp"
	"errors"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// mergedLists are the lists that a merge may change.
var mergedLists = [][]string{
	{"files"},
	{"preKubeadmCommands"},
	{"postKubeadmCommands"},
	{"clusterConfiguration", "apiServer", "certSANs"},
	{"clusterConfiguration", "apiServer", extraArgsKey},
}

// slots refuses a patch of a ClusterClass that would write into another entry of a list than before the merge, or over what the merge
// added.
func (t *template) slots() error {
	docs, err := t.Documents()
	if err != nil {
		return err
	}
	patches := jsonPatches(t.given)
	var errs []error
	for _, keys := range mergedLists {
		l := change{name: keys[len(keys)-1], path: t.at(keys...)}
		l.before, l.after = itemsAt(t.given[t.doc], l.path), itemsAt(docs[t.doc], l.path)
		if equal(l.before, l.after) {
			continue
		}
		for _, p := range patches {
			if why := l.disturbs(p, patches); why != "" {
				errs = append(errs, t.Errorf(p.line(), "the patch of %s %s", p.path, why))
			}
		}
	}
	return errors.Join(errs...)
}

// change is what became of a list.
type change struct {
	name          string
	path          []string
	before, after []*yaml.Node
}

// disturbs says why a patch does not fit the list any more, or "".
func (c change) disturbs(p jsonPatch, all []jsonPatch) string {
	end := "/" + strings.Join(c.path, "/") + "/-"
	if p.holds(c.path) {
		if !c.adds() {
			return ""
		}
		return "writes the whole list " + c.name + ", and what keepvip adds to it would be lost: have it add each entry to " + end + ", and begin again"
	}
	rest, ok := p.below(c.path)
	if !ok {
		return ""
	}
	n, numbered := slot(rest[0])
	if !numbered || n == len(c.before) && p.op == "add" && len(rest) == 1 && c.stays(n-1) {
		return "" // behind all entries
	}
	last := n
	for _, other := range all { // what is taken out before lets the number reach further
		if r, below := other.below(c.path); below && len(r) == 1 && other.op == "remove" {
			last++
		}
	}
	if c.stays(last) {
		return ""
	}
	had, has := nameIn(c.before, n), nameIn(c.after, n)
	remedy := "have it add the whole entry to " + end + ", or take out what is kube-vip's and set the number anew, and begin again"
	if c.name == "preKubeadmCommands" && c.adds() { // keepvip's come first
		remedy = "have it add the whole entry to " + end + ", and begin again"
	}
	if n < len(c.before) && !contains(c.after, c.before[n]) {
		remedy = "take this patch out, with the variable that only it has, and begin again"
	}
	return "would write into another entry: " + c.name + "/" + rest[0] + " is " + had + ", and " + has + " in the result; " + remedy
}

// adds tells that there are entries that were not there.
func (c change) adds() bool {
	for _, n := range c.after {
		if !contains(c.before, n) {
			return true
		}
	}
	return false
}

// stays tells that the entries up to a number are what they were.
func (c change) stays(last int) bool {
	return last < len(c.before) && last < len(c.after) && equal(c.before[:last+1], c.after[:last+1])
}

func contains(list []*yaml.Node, item *yaml.Node) bool {
	for _, n := range list {
		if equal([]*yaml.Node{n}, []*yaml.Node{item}) {
			return true
		}
	}
	return false
}

// equal compares what nodes say, and not how.
func equal(a, b []*yaml.Node) bool {
	before, err := yamledit.Decode(a)
	after, other := yamledit.Decode(b)
	return err == nil && other == nil && reflect.DeepEqual(before, after)
}

func itemsAt(d *yaml.Node, path []string) []*yaml.Node {
	if n := yamledit.At(d, path...); n != nil && n.Kind == yaml.SequenceNode {
		return n.Content
	}
	return nil
}

// nameIn is an entry of a list as an error has it.
func nameIn(list []*yaml.Node, n int) string {
	if n >= len(list) {
		return "no entry"
	}
	return cmp.Or(yamledit.TextAt(list[n], "path"), yamledit.TextAt(list[n], "name"), wordsOf(list[n]))
}
