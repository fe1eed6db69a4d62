package lint

import (
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// harmless are the kinds of faults that keepalived logs, and with which it works as meant: its own samples and many files that run have them.
var harmless = map[string]bool{"auth-pass-cut": true, keepalived.CodeIgnored: true}

// Grade makes notes of the faults that change nothing. keepalived -t complains of them all the same, so what stands in for it does not use it.
func Grade(findings []keepalived.Finding) []keepalived.Finding {
	out := slices.Clone(findings)
	for i := range out {
		if out[i].Severity == keepalived.Fault && (out[i].Harmless || harmless[out[i].Code]) {
			out[i].Severity = keepalived.Note
		}
	}
	return out
}
