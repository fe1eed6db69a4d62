package convert

import (
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/keepalived"
)

// Bounds of keepvip's checks.
const (
	longestInterval = 10 * time.Minute
	longestTimeout  = time.Minute
	mostResults     = 1000
	mostNumber      = 65536
	latest          = time.Hour // within which a failure has to be seen
)

// given is the line of a keyword, or keepalived's default.
func given(b *keepalived.Block, keyword string) source {
	if b.Has(keyword) {
		return placed(b.Where(keyword))
	}
	return byDefault
}

// script makes a check of a vrrp_script.
func (c *converter) script(t keepalived.Tracked) *check {
	for _, s := range c.cfg.Scripts {
		if s.Name != t.Name {
			continue
		}
		k := &check{name: s.Name, nameAt: s.At, weightAt: given(&s.Block, "weight")}
		from := given(&s.Block, "script")
		if program := asksForProcess(s.Command.Args); program != "" {
			k.kind = "process"
			k.add(from, "process: %s", scalar(program))
			c.changed(from.at, fmt.Sprintf("%s becomes a check of kind process: keepvip itself looks for %s, and sees its end at once", s.Name, program), "")
		} else if address := asksForPort(s.Command); address != "" {
			k.kind = "tcp"
			k.add(from, "address: %s", scalar(address))
			c.changed(from.at, fmt.Sprintf("%s becomes a check of kind tcp: keepvip itself connects to %s, whatever the host's shell can do, and sees a refused connection at once", s.Name, address), "")
		} else if !c.command(k, s) {
			return nil
		}
		c.timing(k, s, t.Weight.Reverse)
		return k
	}
	return nil
}

var program = regexp.MustCompile(`^[^\s/:-][^\s/:]{0,62}$`)

// asksForProcess is the program that a command of the usual kinds looks for: killall -0 NAME, pidof NAME, pgrep -x NAME.
func asksForProcess(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := args[len(args)-1]
	known := [][]string{{"killall", "-0"}, {"pidof"}, {"pgrep", "-x"}}
	for _, k := range known {
		if len(args) == len(k)+1 && base(args[0]) == k[0] && slices.Equal(args[1:len(k)], k[1:]) && program.MatchString(name) && utf8.ValidString(name) {
			return name
		}
	}
	return ""
}

var devTCP = regexp.MustCompile(`^<\s*/dev/tcp/([A-Za-z0-9][-A-Za-z0-9.:]*)/([0-9]+)$`)

// asksForPort is the address that a command of the usual kinds connects to: </dev/tcp/HOST/PORT, nc -z HOST PORT.
func asksForPort(command keepalived.Command) string {
	host, port := "", ""
	if m := devTCP.FindStringSubmatch(strings.TrimSpace(command.Text)); m != nil {
		host, port = m[1], m[2]
	}
	if a := command.Args; len(a) == 4 && base(a[0]) == "nc" && a[1] == "-z" {
		host, port = a[2], a[3]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !hostName.MatchString(host) {
		return ""
	}
	return net.JoinHostPort(host, port)
}

var hostName = regexp.MustCompile(`^[A-Za-z0-9:][-A-Za-z0-9.:]*$`)

// command writes what is run, as whom.
func (c *converter) command(k *check, s *keepalived.Script) bool {
	at := s.Where("script")
	switch {
	case s.Command.Shell:
		c.refuse(at, fmt.Sprintf("the script of %s is text for a shell, and keepvip has none", s.Name), "put it into a file that begins with #!/bin/sh")
		return false
	case !filepath.IsAbs(s.Command.Args[0]):
		c.refuse(at, fmt.Sprintf("the script of %s has no whole path, and keepvip does not search for programs", s.Name), "write the path of the program: command -v "+plain(s.Command.Args[0]))
		return false
	case slices.ContainsFunc(s.Command.Args, func(a string) bool { return !utf8.ValidString(a) }):
		c.refuse(at, fmt.Sprintf("the script of %s has bytes that are no text", s.Name), "put the command into a file of its own")
		return false
	}
	k.kind = "exec"
	k.add(placed(at), "command: %s", words(s.Command.Args))
	user, from := c.user(s)
	k.add(from, "user: %s", scalar(user))
	return true
}

// user is whom a script runs as: never root.
func (c *converter) user(s *keepalived.Script) (string, source) {
	u, from := s.Command.User, given(&s.Block, "user")
	if u.Name == "" {
		u, from = c.cfg.Global.ScriptUser, byDefault
		if u.Name != "" {
			from = placed(c.cfg.Global.Where("script_user"))
		}
	}
	remedy := "try it with keepvip check --once; a script that needs more is run by a timer that writes a file, for a check of kind file"
	switch {
	case u.Name == "":
		c.changed(s.Where("script"), fmt.Sprintf("keepalived runs %s as keepalived_script or root, and keepvip as %s, without capabilities", s.Name, c.opt.User), remedy)
		return c.opt.User, source{why: "keepalived's default is keepalived_script, or root"}
	case u.Name == "root" || strings.Trim(u.Name, "0") == "":
		c.changed(s.Where("script"), fmt.Sprintf("keepalived runs %s as root, and keepvip as %s, without capabilities", s.Name, c.opt.User), remedy)
		from.why = "root there"
		return c.opt.User, from
	}
	if u.Group != "" && u.Group != u.Name {
		c.changed(from.at, fmt.Sprintf("the group %s: keepvip takes the user's own group", u.Group), "write ids as user, such as 1000:1000, if it matters")
	}
	return u.Name, from
}

// timing writes interval, timeout, rise and fall as keepalived has them, unless keepvip does the same by itself. Where the check is turned
// round, so are its counts.
func (c *converter) timing(k *check, s *keepalived.Script, reverse bool) {
	interval := min(s.Interval, longestInterval)
	timeout, from := s.Timeout, given(&s.Block, "timeout")
	if timeout == 0 {
		timeout, from = s.Interval, source{why: "keepalived's default: the interval"}
	}
	timeout = min(timeout, longestTimeout)
	most := min(mostResults, int(latest/max(interval, timeout))) // keepvip bounds the fall alone, which reversing makes of the rise
	rise, fall := min(s.Rise, mostResults), min(s.Fall, most)
	if reverse {
		rise = min(s.Rise, most)
	}
	if interval != s.Interval || timeout != s.Timeout && s.Timeout > 0 || timeout != s.Interval && s.Timeout == 0 || rise != s.Rise || fall != s.Fall {
		c.changed(s.At, fmt.Sprintf("%s: keepvip has an interval of %v, a timeout of %v, rise and fall of %d at most, and sees a failure within an hour", s.Name, longestInterval, longestTimeout, mostResults), "")
	}
	k.add(given(&s.Block, "interval"), "interval: %s", duration(interval))
	if k.kind != "process" {
		k.add(from, "timeout: %s", duration(timeout))
	}
	k.counted = true
	riseAt, fallAt := given(&s.Block, "rise"), given(&s.Block, "fall")
	if reverse {
		rise, riseAt, fall, fallAt = fall, fallAt, rise, riseAt
	}
	if rise != 2 { // keepvip's default
		k.add(riseAt, "rise: %d", rise)
	}
	if fall != 3 && (k.kind != "process" || reverse) { // keepvip's default
		k.add(fallAt, "fall: %d", fall)
	}
	switch {
	case s.InitFail && reverse:
		c.note(s.Where("init_fail"), "init_fail: a check that is turned round is good from its first result on that keepalived takes for a failure")
	case s.InitFail:
		k.add(given(&s.Block, "init_fail"), "initFail: true")
	}
}
