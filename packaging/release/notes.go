package release

import (
	"fmt"
	"regexp"
	"strings"
)

var sectionHeading = regexp.MustCompile(`(?m)^## (.+)$`)

// notes are what CHANGELOG.md says of a version, with how to check what was downloaded. A version without a section of its own is what is
// called Unreleased there.
func notes(changelog []byte, v Version) ([]byte, error) {
	sections := map[string]string{}
	text := string(changelog)
	found := sectionHeading.FindAllStringSubmatchIndex(text, -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(text[at[2]:at[3]], "v"), " ")
		sections[name] = strings.TrimSpace(text[at[1]:end])
	}
	body, ok := sections[string(v)]
	if !ok {
		body, ok = sections["Unreleased"]
	}
	if !ok || body == "" {
		return nil, fmt.Errorf("release: CHANGELOG.md has no section ## %s and no ## Unreleased", v)
	}
	return fmt.Appendf(nil, "# keepvip %s\n\n%s\n\n## Install, and check what you have got\n\n"+
		"https://github.com/keepvip/keepvip/blob/%s/docs/install.md\n", v.Tag(), body, v.Tag()), nil
}
