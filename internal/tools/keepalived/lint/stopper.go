package lint

import (
	"path"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// stopsKeepalived: a script that stops keepalived moves the address once, and a node without keepalived takes no part any more.
func stopsKeepalived(c *keepalived.Config, say say) {
	commands(c, func(cmd *keepalived.Command, name string) {
		if stops(cmd.Text) {
			say(keepalived.Warning, "stops-keepalived", cmd.At,
				name+" stops keepalived itself to move the address: the node takes no part until someone starts it, and keepvip is not stopped by that",
				"let a check without a weight fail, so that the address leaves and the node takes part again when it succeeds; by hand keepvip drain does so")
		}
	})
}

// stops says whether one of the commands in a text ends keepalived. Signal 0 only asks whether it is there.
func stops(text string) bool {
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";|&()`\n", r) }) {
		words := strings.FieldsFunc(part, func(r rune) bool { return strings.ContainsRune(" \t\"'", r) })
		at := slices.IndexFunc(words, func(w string) bool {
			return slices.Contains([]string{"systemctl", "service", "rc-service", "pkill", "killall", "kill"}, path.Base(w)) || w == "/etc/init.d/keepalived"
		})
		if at < 0 {
			continue
		}
		has := func(these ...string) bool {
			return slices.ContainsFunc(words[at+1:], func(w string) bool { return slices.Contains(these, w) })
		}
		switch path.Base(words[at]) {
		case "keepalived": // its init script
			if has("stop") {
				return true
			}
		case "pkill", "killall":
			if has("keepalived") && !has("-0", "-HUP", "-SIGHUP", "-1", "-USR1", "-USR2") {
				return true
			}
		case "kill":
			// kill $(cat /run/keepalived.pid) and kill $(pidof keepalived): the parenthesis begins another part.
			if !has("-0", "-HUP", "-SIGHUP", "-1", "-USR1", "-USR2") && asksForPID(text) {
				return true
			}
		default:
			if has("stop", "kill") && has("keepalived", "keepalived.service") {
				return true
			}
		}
	}
	return false
}

func asksForPID(text string) bool {
	return strings.Contains(text, "pidof keepalived") || strings.Contains(text, "pgrep keepalived") || strings.Contains(text, "/keepalived.pid")
}
