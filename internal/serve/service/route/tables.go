package route

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/keepvip/keepvip/internal/base/state"
	"github.com/keepvip/keepvip/internal/config"
	"github.com/keepvip/keepvip/internal/kernel/hostroute"
)

// tablesFile lists, in the state directory, the tables beside the default one that this node has put routes into. A route may outlive a keepvip that
// is killed, and whoever removes it may have another configuration by then, or none.
const tablesFile = "routes.json"

// mostTables is more than the file ever needs, in bytes.
const mostTables = 1 << 16

// Tables are those that routes of this node may be in, the default one among them, also with an error.
func Tables(dir string) ([]hostroute.Table, error) {
	out := []hostroute.Table{{Number: config.DefaultTable, Protocol: config.DefaultProtocol}}
	path := filepath.Join(dir, tablesFile)
	b, err := state.Load(path, mostTables)
	if err != nil || b == nil {
		return out, err
	}
	var known []hostroute.Table
	if err := json.Unmarshal(b, &known); err != nil {
		return out, fmt.Errorf("%s: %w: remove it; routes of an earlier run may stay in tables that it named", path, err)
	}
	for _, t := range known {
		if t.Number < 1 || t.Protocol < 5 || t.Protocol > 255 { // below are the routes of the kernel and of the boot
			return out, fmt.Errorf("%s: table %d with protocol %d is none of keepvip's: remove the file; routes of an earlier run may stay in tables that it names", path, t.Number, t.Protocol)
		}
	}
	return append(out, known...), nil
}

// Remember lists the table of v from now on. A file that cannot be read is replaced all the same.
func Remember(dir string, v config.VIP) error {
	known, err := Tables(dir)
	t := TableOf(v)
	if slices.Contains(known, t) {
		return err
	}
	b, _ := json.Marshal(append(known[1:], t)) // never fails for these types
	return errors.Join(err, state.Replace(filepath.Join(dir, tablesFile), append(b, '\n')))
}
