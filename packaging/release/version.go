package release

import (
	"fmt"
	"regexp"
	"strings"
)

var semver = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$`)

// Version is a release's number without a leading v: "1.2.3" or "1.2.3-rc.1".
type Version string

// ParseVersion takes "1.2.3" and "v1.2.3". Build metadata after a + is refused: a tag of an image may not have it.
func ParseVersion(s string) (Version, error) {
	v := strings.TrimPrefix(s, "v")
	if !semver.MatchString(v) {
		return "", fmt.Errorf("release: version %q, want three numbers such as 1.2.3, or 1.2.3-rc.1", s)
	}
	return Version(v), nil
}

// Tag is how git, the program and the image write it.
func (v Version) Tag() string { return "v" + string(v) }
