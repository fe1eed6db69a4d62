package release

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/packaging/sbom"
)

var copyrightLine = regexp.MustCompile(`(?m)^\s*(Copyright (?:\(c\)|©|[0-9]|The |20|19).*?)\s*$`)

// copyright says who owns what and under which licence, in the form of Debian's DEP-5, which people and programs read. The modules that are
// linked into the program are named by their import path.
func copyright(licence []byte, licences map[string]sbom.Licence) []byte {
	var b strings.Builder
	b.WriteString("Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n" +
		"Upstream-Name: keepvip\n" +
		"Upstream-Contact: https://github.com/keepvip/keepvip/issues\n" +
		"Source: https://github.com/keepvip/keepvip\n" +
		"Comment: The program is linked from its own sources and from the modules below.\n\n")
	stanza(&b, "*", []string{"The keepvip authors"}, "Apache-2.0", string(licence))
	for _, path := range slices.Sorted(maps.Keys(licences)) {
		l := licences[path]
		stanza(&b, path+"/*", ownersOf(l.Text), l.ID, l.Text)
	}
	return []byte(strings.TrimRight(b.String(), "\n") + "\n")
}

func stanza(b *strings.Builder, files string, owners []string, id, text string) {
	// DEP-5 writes what SPDX says in small letters.
	id = strings.NewReplacer(" AND ", " and ", " OR ", " or ").Replace(id)
	fmt.Fprintf(b, "Files: %s\nCopyright: %s\nLicense: %s\n%s\n", files, strings.Join(owners, "\n           "), id, folded(text))
}

// ownersOf are the lines of a licence that say whose the work is.
func ownersOf(text string) (out []string) {
	for _, m := range copyrightLine.FindAllStringSubmatch(text, -1) {
		owner := strings.TrimSpace(strings.TrimPrefix(m[1], "Copyright "))
		if !slices.Contains(out, owner) {
			out = append(out, owner)
		}
	}
	if out == nil {
		return []string{"as the licence says"}
	}
	return out
}

// folded is a text as the lines of one field: each is indented, and an empty one is a dot.
func folded(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		if line = strings.TrimRight(line, " \t\r\n\f"); line == "" {
			line = "."
		}
		b.WriteString(" " + line + "\n")
	}
	return b.String()
}
