package kubeadm

import (
	"fmt"
	"regexp"
	"sync"
)

// A reference as distribution/reference has it, without its length limits: [registry/]path, then a tag, a digest or both. The expressions are
// large, and a process that renders no manifest has none of them.
var (
	imageReference = lazily(`^[A-Za-z0-9\[][A-Za-z0-9.:_/\[\]-]*?(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
	imageName      = lazily(`^(([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\])(:[0-9]+)?/)?` + imagePart + `(/` + imagePart + `)*$`)
)

const imagePart = `[a-z0-9]+((\.|__?|-+)[a-z0-9]+)*`

func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func checkImage(image string) error {
	m := imageReference().FindStringSubmatch(image)
	if m == nil || !imageName().MatchString(image[:len(image)-len(m[1])-len(m[2])]) {
		return fmt.Errorf("kubeadm: image %q, want a reference such as registry.example/keepvip:v1.0.0", image)
	}
	if m[1] == "" && m[2] == "" {
		return fmt.Errorf("kubeadm: image %q without tag or digest, want one: a restart must not change the version", image)
	}
	return nil
}
