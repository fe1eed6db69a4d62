package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keepvip/keepvip/internal/base/code"
)

// looksLikeCode tells a code from the name of a virtual address, which is for whoever writes the configuration to choose.
var looksLikeCode = regexp.MustCompile(`^KV[0-9]+$`)

// codesDoc is what `keepvip explain KV302 -o json` prints.
type codesDoc struct {
	Codes []code.Entry `json:"codes"`
}

// codesOf are the entries of words that are all codes; ok is false if none is one.
func codesOf(words []string) (doc codesDoc, ok bool, err error) {
	for _, word := range words {
		if !looksLikeCode.MatchString(word) {
			continue
		}
		entry := code.Code(word).Entry()
		if entry.Code == "" {
			return doc, true, fmt.Errorf("%s: there is no such code, want one of docs/troubleshooting.md, as %s", word, code.HolderSilent)
		}
		doc.Codes = append(doc.Codes, entry)
	}
	if len(doc.Codes) > 0 && len(doc.Codes) < len(words) {
		return doc, true, fmt.Errorf("%s: codes and names of virtual addresses, want either", strings.Join(words, " "))
	}
	return doc, len(doc.Codes) > 0, nil
}

// codesText is a paragraph for each code.
func codesText(doc codesDoc) string {
	var b strings.Builder
	for i, e := range doc.Codes {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s %s\n%s", e.Code, e.Name, wrapped(e.Means, "  "))
		fmt.Fprintf(&b, "  look:   %s", strings.TrimLeft(wrapped(e.Look, "          "), " "))
		fmt.Fprintf(&b, "  remedy: %s", strings.TrimLeft(wrapped(e.Remedy, "          "), " "))
	}
	return b.String()
}

// orCodes completes codes, once a word begins as they do, and what names completes otherwise.
func orCodes(names cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		if !strings.HasPrefix(begun, "KV") {
			return names(cmd, args, begun)
		}
		var out []string
		for _, e := range code.All() {
			out = append(out, string(e.Code)+"\t"+e.Name)
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
