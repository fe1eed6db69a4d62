package kubeadm

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/keepvip/keepvip/kubeadm/yamledit"
)

// The apiserver's argument by which it tells a client of HTTP/2, at so many of its requests by chance, to connect again. Where the load is spread,
// an apiserver that has come back gets its share that way. What is under way on the old connection goes on to its end, so no watch breaks.
const (
	goawayArg    = "goaway-chance"
	goawayChance = "0.001" // of at most 0.02
	extraArgsKey = "extraArgs"
)

// argument is one of a list, as v1beta4 of kubeadm and v1beta2 of Cluster API have them.
type argument struct {
	Name  string `yaml:"name"`
	Value string `yaml:"value"`
}

// hasGoaway reports whether the apiServer of a ClusterConfiguration has the argument, with whatever value.
func hasGoaway(apiServer *yaml.Node) bool {
	_, line := extraArg(apiServer, extraArgsKey, goawayArg)
	return line > 0
}

// addGoaway adds the argument to the apiServer at a path of keys, unless it is there: to a list, or to a mapping.
func addGoaway(e *yamledit.Editor, doc int, apiServer []string, list bool) error {
	docs, err := e.Documents()
	if err != nil || hasGoaway(yamledit.At(docs[doc], apiServer...)) {
		return err
	}
	path := append(slices.Clone(apiServer), extraArgsKey)
	if list {
		return e.Add(doc, path, argument{goawayArg, goawayChance})
	}
	return e.Set(doc, append(path, goawayArg), goawayChance)
}
