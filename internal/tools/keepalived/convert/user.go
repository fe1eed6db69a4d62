package convert

import (
	"fmt"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// Dropped is why keepalived takes no notice of a script on this host, though it may be there, and what to do. It is "" where keepalived runs
// it, and where nobody knows.
func (h Host) Dropped(cfg *keepalived.Config, own keepalived.User, program string) (why, remedy string) {
	u, word := cfg.Runner(own)
	secure := cfg.Global.ScriptSecurity
	switch {
	case h.HasUser == nil:
	case word == "" && secure && !h.HasUser(defaultRunner):
		return "enable_script_security is given, no user is, and there is no user keepalived_script here",
			"write script_user root, or another user, in global_defs, or make the user: useradd -r -s /usr/sbin/nologin keepalived_script"
	case word != "" && !h.HasUser(u.Spelled()):
		return fmt.Sprintf("there is no user %s here", u.Spelled()), "make the user, or write another one"
	}
	if secure && u.Root() && h.Unsafe != nil {
		if err := h.Unsafe(program); err != nil {
			return fmt.Sprintf("enable_script_security is given, and %v", err), "correct owner and mode, or give the script another user"
		}
	}
	return "", ""
}

// defaultRunner is whom keepalived runs scripts as without another user, where this one exists.
const defaultRunner = "keepalived_script"

// runner is whom keepalived runs a script as, and why it does not run the script at all: the zero trouble where it does.
func (c *converter) runner(own keepalived.User, program string, from source) (keepalived.User, source, trouble) {
	u, word := c.cfg.Runner(own)
	given := word != "" || c.cfg.Global.ScriptSecurity && c.opt.Default == ""
	if why, remedy := c.opt.Host.Dropped(c.cfg, own, program); why != "" && given && (word == "" || c.opt.InMemory) {
		return u, from, trouble{why, remedy}
	}
	switch {
	case word == "script_user":
		from = placed(c.cfg.Global.Where(word))
	case word == "" && c.opt.Default != "":
		u, from = keepalived.User{Name: c.opt.Default}, byDefault
	case word == "":
		u, from = keepalived.User{Name: "root"}, source{why: "keepalived's default is keepalived_script, or root"}
	}
	return u, from, trouble{}
}

// user is whom a check runs as. It is not made where keepalived does not make it.
func (c checking) user(s *keepalived.Script, program string) (user string, from source, ok bool) {
	u, from, dropped := c.runner(s.Command.User, program, given(&s.Block, "user"))
	switch {
	case dropped.text != "":
		c.changed(s.Where("script"), fmt.Sprintf("%s is not checked, as in keepalived, which drops it: %s", s.Name, dropped.text), dropped.remedy)
		return "", from, false
	case !u.Root():
		return u.Spelled(), from, true
	case c.opt.Root:
		c.asRoot = from
		return u.Spelled(), from, true
	}
	who := "root"
	switch {
	case from.at.File == "" && c.opt.Host.HasUser == nil:
		who = "keepalived_script or root"
	case from.at.File != "":
		from.why = "root there"
	}
	c.changed(s.Where("script"), fmt.Sprintf("keepalived runs %s as %s, and keepvip as %s, without capabilities", s.Name, who, c.opt.User),
		"try it with keepvip check --once; --check-user root keeps root; a script that needs more is run by a timer that writes a file, for a check of kind file")
	return c.opt.User, from, true
}

// rootChecks lets checks run as root, where there are some: as keepalived does, which looks at the way to a script only with
// enable_script_security.
func (c *converter) rootChecks() {
	switch at := c.cfg.Global.Where("enable_script_security"); {
	case c.asRoot == nowhere && c.cfg.Global.ScriptSecurity:
		c.note(at, "enable_script_security: no check runs as root here")
	case c.asRoot == nowhere:
	case c.cfg.Global.ScriptSecurity:
		c.out.set("checksAsRoot", "safe", source{at, "scripts run as root"})
	default:
		c.out.set("checksAsRoot", "any", source{c.asRoot.at, "scripts run as root, without enable_script_security"})
	}
}
