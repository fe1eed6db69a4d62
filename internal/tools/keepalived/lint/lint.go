package lint

import (
	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// trap looks for one kind of trap, and says where each one is.
type trap func(c *keepalived.Config, say say)

// say is one finding.
type say func(s keepalived.Severity, code string, at syntax.Origin, text, remedy string)

var traps = []trap{
	ownerByState, nopreemptWeights, strictMode, sameVRID, exampleNumber, sameAddress, interfaceNames, slowCheck, untracked, stopsKeepalived, shellScript, scriptUser, scriptSecurity, unicastIPv6,
	unicastAnyone, ownPeer, weightsSaturate, conditionEverywhere, firstIPv6, password,
}

// Lint is all that there is to say about a configuration, in the order of the places.
func Lint(c *keepalived.Config) []keepalived.Finding {
	out := append([]keepalived.Finding{}, c.Findings...) // never nil
	for _, t := range traps {
		t(c, func(s keepalived.Severity, code string, at syntax.Origin, text, remedy string) {
			out = append(out, keepalived.Finding{Severity: s, Code: code, Origin: at, Text: text, Remedy: remedy})
		})
	}
	c.Sort(out)
	return out
}

// Count is how many findings there are of each severity.
type Count struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notes    int `json:"notes"`
}

// Tally counts findings.
func Tally(findings []keepalived.Finding) (n Count) {
	for _, f := range findings {
		switch f.Severity {
		case keepalived.Fault:
			n.Errors++
		case keepalived.Warning:
			n.Warnings++
		case keepalived.Note:
			n.Notes++
		}
	}
	return n
}
