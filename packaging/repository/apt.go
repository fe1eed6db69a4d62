package repository

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/packaging/archive"
)

// Names of the one suite and component that there are.
const (
	suite     = "stable"
	component = "main"
	pool      = "pool/main/k/keepvip/"
)

// Apt lays Debian packages out, which are given by the names of their files. signer may be nil: then apt takes the repository only where it
// is told to trust it.
func Apt(debs map[string][]byte, at time.Time, signer Signer) (map[string][]byte, error) {
	out, lists := map[string][]byte{}, map[string]*strings.Builder{}
	for _, name := range slices.Sorted(maps.Keys(debs)) {
		text, err := control(debs[name])
		if err != nil {
			return nil, fmt.Errorf("repository: %s: %w", name, err)
		}
		arch := field(text, "Architecture")
		if arch == "" {
			return nil, fmt.Errorf("repository: %s: no architecture", name)
		}
		if lists[arch] == nil {
			lists[arch] = &strings.Builder{}
		}
		fmt.Fprintf(lists[arch], "%s\nFilename: %s\nSize: %d\nSHA256: %x\n\n", strings.TrimRight(text, "\n"), pool+name, len(debs[name]), sha256.Sum256(debs[name]))
		out[pool+name] = debs[name]
	}
	indexes := map[string][]byte{}
	for arch, list := range lists {
		plain := []byte(list.String())
		packed, err := archive.Gzip(plain)
		if err != nil {
			return nil, err
		}
		base := component + "/binary-" + arch + "/Packages"
		indexes[base], indexes[base+".gz"] = plain, packed
	}
	release := aptRelease(slices.Sorted(maps.Keys(lists)), indexes, at)
	top := "dists/" + suite + "/"
	for name, data := range indexes {
		out[top+name] = data
	}
	out[top+"Release"] = release
	if signer == nil {
		return out, nil
	}
	var err error
	if out[top+"Release.gpg"], err = signer.Armored(release); err != nil {
		return nil, err
	}
	out[top+"InRelease"], err = signer.Clear(release)
	return out, err
}

// aptRelease lists the indexes with their sums. It has no date of expiry: what lies on a server of one's own stays good.
func aptRelease(architectures []string, indexes map[string][]byte, at time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "Origin: keepvip\nLabel: keepvip\nSuite: %s\nCodename: %s\nDate: %s\nArchitectures: %s\nComponents: %s\n",
		suite, suite, at.UTC().Format("Mon, 02 Jan 2006 15:04:05 UTC"), strings.Join(architectures, " "), component)
	b.WriteString("Description: keepvip, a floating IP address for a Kubernetes control plane\nSHA256:\n")
	for _, name := range slices.Sorted(maps.Keys(indexes)) {
		fmt.Fprintf(&b, " %x %d %s\n", sha256.Sum256(indexes[name]), len(indexes[name]), name)
	}
	return []byte(b.String())
}
