package convert

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
)

// command writes what is run, as whom.
func (c checking) command(k *check, s *keepalived.Script) bool {
	args, from, ok := c.program(s)
	if !ok {
		return false
	}
	user, as, ok := c.user(s, args[0])
	if !ok {
		return false
	}
	k.kind = "exec"
	args = c.lookedFor(args, s, from, user)
	k.set("command", args, from)
	k.set("user", user, as)
	return true
}

// program is what keepalived calls for a check.
func (c checking) program(s *keepalived.Script) (args []string, from source, ok bool) {
	args, from, p := c.called(&s.Command, "the script of "+s.Name, placed(s.Where("script")))
	if name := s.Command.Args[0]; !s.Command.Shell && !filepath.IsAbs(name) && strings.ContainsAny(name, "$`(){};&|") {
		c.changed(from.at, fmt.Sprintf("%s is not checked, as in keepalived, which calls programs without a shell, and finds none that is called %s", s.Name, name),
			`write the path that the shell would come to, or script "/bin/sh -c '...'"`)
		return nil, from, false
	}
	if p.text != "" {
		c.refuse(from.at, p.text, p.remedy)
	}
	return args, from, p.text == ""
}

// trouble is why keepvip cannot call a program, and what to do; the zero trouble: it can.
type trouble struct{ text, remedy string }

// called is what keepalived calls: text that begins with < by the shell, a bare name by the path that it finds when it starts.
func (c *converter) called(command *keepalived.Command, what string, from source) (args []string, at source, p trouble) {
	args = slices.Clone(command.Args)
	switch name := args[0]; {
	case slices.ContainsFunc(args, func(a string) bool { return !utf8.ValidString(a) }):
		return nil, from, trouble{what + " has bytes that are no text", "put the command into a file of its own"}
	case command.Shell && slices.ContainsFunc(args[1:], func(a string) bool { return strings.Contains(a, "'") }):
		return nil, from, trouble{what + " is text for a shell with a single quote inside", "put it into a file that begins with #!/bin/sh"}
	case command.Shell:
		from.why = "keepalived gives it to a shell"
		return []string{"/bin/sh", "-c", shellText(args)}, from, p
	case filepath.IsAbs(name):
		return args, from, p
	case !strings.Contains(name, "/") && c.opt.Find != nil && filepath.IsAbs(c.opt.Find(name)):
		args[0] = c.opt.Find(name)
		from.why = "keepalived searches its PATH when it starts"
		c.say(keepalived.Note, codeChanged, from.at, fmt.Sprintf("%s has no whole path: here %s is %s, which keepvip does not search for again", what, name, args[0]), "")
		return args, from, p
	default:
		return nil, from, trouble{what + " has no whole path, and keepvip does not search for programs", "write the path of the program: command -v " + plain(name)}
	}
}

// shellText is what keepalived gives to the shell: the first word as it is, and the others between single quotes.
func shellText(args []string) string {
	text := args[0]
	for _, a := range args[1:] {
		text += " '" + a + "'"
	}
	return text
}
