package convert

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// lookedFor makes a pgrep of a pkill that sends signal 0. Both find the same processes by the same words, and pkill takes the right to signal
// them, which no user but root has; keepvip's root has it not in every unit.
func (c checking) lookedFor(args []string, s *keepalived.Script, from source, user string) []string {
	at := slices.Index(args, "-0")
	given, _ := c.cfg.Runner(s.Command.User)
	if base(args[0]) != "pkill" || at < 0 || given.Name != "" && !given.Root() {
		return args
	}
	args = slices.Delete(slices.Clone(args), at, at+1)
	args[0] = filepath.Join(filepath.Dir(args[0]), "pgrep")
	c.say(keepalived.Note, codeChanged, from.at, fmt.Sprintf("%s: pkill -0 becomes pgrep, which finds the same processes and needs no right to signal them; it runs as %s", s.Name, user), "")
	return args
}
