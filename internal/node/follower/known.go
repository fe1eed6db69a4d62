package follower

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/keepvip/keepvip/internal/base/state"
)

const (
	// knownName is in the state directory.
	knownName = "followed.json"
	// knownFormat is its version, and mostKnown more than it ever needs, in bytes.
	knownFormat = 1
	mostKnown   = 1 << 20
	// mostPeers is how many members are kept of an entry.
	mostPeers = 16
)

// known are the own addresses of members by the first virtual address, as the last run knew them. They are only asked, and believed if they answer
// as members do.
type known map[netip.Addr][]netip.Addr

type knownFile struct {
	Version int   `json:"version"`
	Members known `json:"members"`
}

// readKnown returns nothing when there is no file. An error is none of importance: members are found in other ways, too.
func readKnown(dir string) (known, error) {
	path := filepath.Join(dir, knownName)
	b, err := state.Load(path, mostKnown)
	if b == nil || err != nil {
		return known{}, err
	}
	k, err := parseKnown(b)
	if err != nil {
		return known{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// parseKnown takes no more for granted than that somebody has written b.
func parseKnown(b []byte) (known, error) {
	if len(b) > mostKnown {
		return nil, fmt.Errorf("more than %d bytes", mostKnown)
	}
	var d knownFile
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, err
	}
	if d.Version != knownFormat {
		return nil, fmt.Errorf("version %d, want %d", d.Version, knownFormat)
	}
	for group, list := range d.Members {
		bad := func(a netip.Addr) bool { return !a.IsValid() || a.Zone() != "" || a.Is4In6() }
		if bad(group) || len(list) > mostPeers || slices.ContainsFunc(list, bad) {
			return nil, fmt.Errorf("members of %v: %v, want at most %d addresses", group, list, mostPeers)
		}
	}
	if d.Members == nil {
		d.Members = known{}
	}
	return d.Members, nil
}

func (k known) equal(o known) bool { return maps.EqualFunc(k, o, slices.Equal) }

// write replaces the file as a whole.
func (k known) write(dir string) error {
	b, err := json.Marshal(knownFile{Version: knownFormat, Members: k})
	if err != nil {
		return err
	}
	return state.Replace(filepath.Join(dir, knownName), append(b, '\n'))
}
