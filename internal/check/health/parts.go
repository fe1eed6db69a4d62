package health

import (
	"regexp"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/base/code"
)

// failedPart is a line of an apiserver's answer 500 on /readyz, /livez or /healthz: "[-]etcd failed: reason withheld".
var failedPart = regexp.MustCompile(`(?m)^\[-\]([A-Za-z0-9][-A-Za-z0-9._/]{0,62}) failed`)

// shutdownPart fails from the moment that an apiserver has been told to end. It goes on serving for its
// --shutdown-delay-duration, for others to take over in.
const shutdownPart = "shutdown"

// explainParts reads which parts of an apiserver have failed. An orderly shutdown is definite: it needs no counting.
func explainParts(r Result, body []byte) Result {
	const most = 5
	var parts []string
	for _, m := range failedPart.FindAllSubmatch(body, 100) {
		parts = append(parts, string(m[1]))
	}
	switch {
	case slices.Contains(parts, shutdownPart):
		r.Outcome, r.Code, r.Reason = Down, code.CheckLeaving, r.Reason+": shutting down"
	case len(parts) > most:
		r.Hint = "failed: " + strings.Join(parts[:most], ", ") + ", ..."
	case len(parts) > 0:
		r.Hint = "failed: " + strings.Join(parts, ", ")
	}
	return r
}
