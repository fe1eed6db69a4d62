package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
	"github.com/keepvip/keepvip/internal/tools/keepalived/lint"
	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
	"github.com/keepvip/keepvip/internal/tools/kubevip"
)

// conversionDoc is what convert prints as JSON.
type conversionDoc struct {
	File     string               `json:"file"`
	Result   string               `json:"result,omitempty"` // what is printed without --output json; absent where the file is refused
	Findings []keepalived.Finding `json:"findings"`         // never null
	lint.Count
}

func printConversion(cmd *cobra.Command, path string, result []byte, findings []keepalived.Finding) error {
	doc := conversionDoc{File: path, Result: string(result), Findings: findings, Count: lint.Tally(findings)}
	if doc.Findings == nil {
		doc.Findings = []keepalived.Finding{}
	}
	return failed(printObject(cmd.OutOrStdout(), kindConversion, doc))
}

// printKubeVIP prints what a kube-vip comes to, or why it is refused.
func printKubeVIP(cmd *cobra.Command, path string, r *kubevip.Result, out []byte, why error) error {
	if why == nil {
		return printConversion(cmd, path, out, findingsOf(path, r.Findings))
	}
	findings := reasonsOf(path, why)
	if err := printConversion(cmd, path, nil, findings); err != nil {
		return err
	}
	return fmt.Errorf("%s is refused, for what the findings say", path)
}

// reasonsOf are the findings about a kube-vip that is refused.
func reasonsOf(path string, why error) []keepalived.Finding {
	reasons := kubevip.Refused{{File: path, Text: why.Error()}}
	errors.As(why, &reasons)
	out := make([]keepalived.Finding, len(reasons))
	for i, r := range reasons {
		out[i] = keepalived.Finding{Severity: keepalived.Fault, Code: "refused", Origin: syntax.Origin{File: r.File, Line: r.Line}, Text: r.Text}
	}
	return out
}

// findingsOf are those about a kube-vip, in the form of those about a keepalived.conf. With line 0 they are about the file as a whole.
func findingsOf(path string, all []kubevip.Finding) []keepalived.Finding {
	out := make([]keepalived.Finding, len(all))
	for i, f := range all {
		out[i] = keepalived.Finding{Severity: keepalived.Note, Code: "carried", Origin: syntax.Origin{File: path, Line: f.Line}, Text: f.What + ": " + f.Why}
		switch f.Fate {
		case kubevip.Changed:
			out[i].Severity, out[i].Code = keepalived.Warning, "changed"
		case kubevip.Lost:
			out[i].Severity, out[i].Code = keepalived.Warning, keepalived.CodeUnsupported
		case kubevip.Unneeded:
			out[i].Code = keepalived.CodeIgnored
		case kubevip.Carried:
		}
	}
	return out
}
