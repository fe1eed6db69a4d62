package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// slow is how long a check may take to act before it is a trap: clients give up sooner.
const slow = 10 * time.Second

// slowCheck: interval times fall is how long a dead service keeps the address.
func slowCheck(c *keepalived.Config, say say) {
	for _, s := range c.Scripts {
		takes := time.Duration(s.Fall) * s.Interval
		if takes <= slow {
			continue
		}
		keyword := "fall"
		if !s.Has(keyword) {
			keyword = "interval"
		}
		say(keepalived.Warning, "slow-check", s.Where(keyword),
			fmt.Sprintf("%s acts after %d failures, one every %v: a dead service keeps the address for %v", s.Name, s.Fall, s.Interval, takes),
			"write interval 1 and fall 2 or 3")
	}
}

// untracked: a check that no instance and no group tracks is never made.
func untracked(c *keepalived.Config, say say) {
	tracked := map[string]bool{}
	note := func(t keepalived.Tracking) {
		for _, s := range t.Scripts {
			tracked[s.Name] = true
		}
	}
	for _, i := range c.Instances {
		note(i.Track)
	}
	for _, g := range c.Groups {
		note(g.Track)
	}
	for _, s := range c.Scripts {
		if !tracked[s.Name] {
			say(keepalived.Warning, "untracked", s.At, fmt.Sprintf("nothing tracks vrrp_script %s: keepalived never runs it, and its failure moves no address", s.Name),
				"name it in the track_script of a vrrp_instance, or remove it")
		}
	}
}

// weightsSaturate: the priority stays between 1 and 254, whatever the weights add up to.
func weightsSaturate(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		if i.Priority == 255 {
			continue
		}
		up, down := i.Priority, i.Priority
		for _, t := range slices.Concat(i.Track.Interfaces, i.Track.Scripts, i.Track.Processes) {
			// Positive: added while up. Negative: subtracted while down. Reversed: the other way round.
			if gain := t.Weight.Value; gain > 0 != t.Weight.Reverse {
				up += max(gain, -gain)
			} else {
				down -= max(gain, -gain)
			}
		}
		if up > 254 || down < 1 {
			say(keepalived.Warning, "weights-clamped", i.Where("priority"),
				fmt.Sprintf("the weights take the priority %d of %s down to %d and up to %d, and keepalived keeps it between 1 and 254: some checks then make no difference", i.Priority, i.Name, down, up),
				"write a priority and weights that stay inside")
		}
	}
}

// conditionEverywhere: a check of weight 0 that fails on all nodes leaves nobody.
func conditionEverywhere(c *keepalived.Config, say say) {
	for _, i := range c.Instances {
		for _, t := range slices.Concat(i.Track.Scripts, i.Track.Processes) {
			if t.Weight.Value == 0 && !t.Weight.Reverse {
				say(keepalived.Note, "condition", t.At, fmt.Sprintf("%s has no weight: while it fails on all nodes nobody holds the addresses of %s", t.Name, i.Name),
					"write a weight, such as -20, where the last node should keep them")
			}
		}
	}
}

// shellWords are what a shell understands and a program does not.
var shellWords = []string{"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", ">/dev/null", "2>/dev/null", "&>/dev/null"}

// builtins are words that only a shell has.
var builtins = []string{"!", "if", "for", "while", "[[", "exit", "cd", "source", ".", "export", "ulimit"}

// shellScript: keepalived calls programs, and no shell.
func shellScript(c *keepalived.Config, say say) {
	commands(c, func(cmd *keepalived.Command, name string) {
		switch first := cmd.Args[0]; {
		case cmd.Shell:
			say(keepalived.Warning, "script-shell", cmd.At, name+" begins with <: keepalived gives it to /bin/sh, which is no bash on Debian and Ubuntu",
				`write script "/bin/bash -c '...'"`)
		case slices.Contains(builtins, first) || strings.ContainsAny(first, "$`;|&<>(){}") || strings.Contains(first, "=") && !strings.HasPrefix(first, "/"):
			say(keepalived.Warning, "script-shell", cmd.At, fmt.Sprintf("%s: %q is for a shell, and keepalived calls programs: it disables the script, and the check counts as good for ever", name, first),
				`write script "/bin/sh -c '...'", or a file that is executable`)
		case shell(cmd.Args):
		default:
			at := slices.IndexFunc(cmd.Args, func(a string) bool {
				return slices.Contains(shellWords, a) || strings.Contains(a, "$(") || strings.Contains(a, "`") || strings.HasSuffix(a, ";") || strings.HasPrefix(a, "2>")
			})
			if at > 0 {
				say(keepalived.Warning, "script-shell", cmd.At, fmt.Sprintf("%s: keepalived calls %s without a shell, so %q is one of its arguments", name, first, cmd.Args[at]),
					`write script "/bin/sh -c '...'", or a file that is executable`)
			}
		}
		if cmd.CallsAnother() {
			say(keepalived.Warning, "script-link", cmd.At, name+": on Debian and Ubuntu pidof is a link, and keepalived calls killall5, which it leads to: the check always fails there",
				"write pgrep -x NAME, or a vrrp_track_process")
		}
		if first := cmd.Args[0]; !cmd.Shell && !strings.HasPrefix(first, "/") && !slices.Contains(builtins, first) {
			say(keepalived.Note, "script-path", cmd.At, fmt.Sprintf("%s: keepalived looks for %s on its own PATH", name, first), "write the whole path")
		}
	})
}

// shell says whether arguments give the rest to a shell: sh -c '...', and timeout 2 bash -c '...'.
func shell(args []string) bool {
	at := slices.IndexFunc(args, func(a string) bool {
		return slices.Contains([]string{"sh", "bash", "dash", "ash", "zsh"}, path.Base(a))
	})
	return at >= 0 && slices.ContainsFunc(args[at:], func(a string) bool { return strings.HasPrefix(a, "-") && strings.HasSuffix(a, "c") })
}

// Script is a program that a configuration names.
type Script struct {
	*keepalived.Command
	Name  string // what lines call it
	Check bool   // a vrrp_script; otherwise somebody is notified by it
}

// Scripts are all of a configuration, in the order of its blocks: checks, instances, groups.
func Scripts(c *keepalived.Config) (all []Script) {
	for _, s := range c.Scripts {
		all = append(all, Script{&s.Command, "vrrp_script " + s.Name, true})
	}
	notify := func(n keepalived.Notify, name string) {
		for _, cmd := range []*keepalived.Command{n.Master, n.Backup, n.Fault, n.Stop, n.Deleted, n.LowerPriority, n.Any} {
			if cmd != nil {
				all = append(all, Script{cmd, "the notify script of " + name, false})
			}
		}
	}
	for _, i := range c.Instances {
		notify(i.Notify, i.Name)
	}
	for _, g := range c.Groups {
		notify(g.Notify, g.Name)
	}
	return all
}

// commands visits every script of a configuration.
func commands(c *keepalived.Config, visit func(cmd *keepalived.Command, name string)) {
	for _, s := range Scripts(c) {
		visit(s.Command, s.Name)
	}
}

// scriptUser: with script security and no user, everything depends on a user that most hosts do not have.
func scriptUser(c *keepalived.Config, say say) {
	if !c.Global.ScriptSecurity {
		return
	}
	commands(c, func(cmd *keepalived.Command, name string) {
		if cmd.User.Name == "" && c.Global.ScriptUser.Name == "" {
			say(keepalived.Warning, "script-user", cmd.At,
				name+" has no user and there is no script_user: with enable_script_security keepalived drops it where the user keepalived_script does not exist, and the check is not made",
				"add script_user root to global_defs, or a user for this script")
		}
		if dir := worldWritable(cmd.Args[0]); dir != "" {
			say(keepalived.Warning, "script-insecure", cmd.At, fmt.Sprintf("%s is below %s, which others may write: with enable_script_security keepalived does not run it as root", cmd.Args[0], dir),
				"move it to a directory of root's")
		}
	})
}

// worldWritable is the directory that others may write and that a program is below.
func worldWritable(program string) string {
	for _, dir := range []string{"/tmp/", "/var/tmp/", "/dev/shm/", "/home/"} {
		if strings.HasPrefix(program, dir) {
			return strings.TrimSuffix(dir, "/")
		}
	}
	return ""
}

// scriptSecurity: without it scripts that others may change run as root.
func scriptSecurity(c *keepalived.Config, say say) {
	if c.Global.ScriptSecurity {
		return
	}
	said := false
	commands(c, func(cmd *keepalived.Command, _ string) {
		if !said {
			said = true
			say(keepalived.Warning, "script-security", cmd.At, "scripts are run and enable_script_security is not given: one that others may change runs as root",
				"add enable_script_security and script_user root to global_defs")
		}
	})
}
