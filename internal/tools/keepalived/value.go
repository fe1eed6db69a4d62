package keepalived

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/keepvip/keepvip/internal/tools/keepalived/syntax"
)

// statement is a line that is being read, with its block if it has one, and where to put what there is to say of it.
type statement struct {
	*syntax.Node
	*findings
}

// number reads the value of a line; one that is no number, or not in the range, is a fault that says what keepalived does instead.
func (n statement) number(least, most int64, instead string) (int, bool) {
	v, ok := signed(n.Words[1])
	if begins := leading(n.Words[1]); !ok && begins >= least && begins <= most && lenient(n.Words[0]) {
		n.slip(CodeValue, n.At, fmt.Sprintf("%s %q is no number: keepalived takes %d, and its -t refuses it", n.Words[0], n.Words[1], begins), fmt.Sprintf("write %s %d", n.Words[0], max(begins, 1))).Harmless = begins > 0
		return int(begins), true
	}
	if !ok || v < least || v > most {
		n.fault(CodeValue, n.At, fmt.Sprintf("%s %q, want %d to %d: keepalived %s", n.Words[0], n.Words[1], least, most, instead), "write a number in that range")
		return 0, false
	}
	return int(v), true
}

// lenient says whether keepalived takes what a value begins with, where that is a number.
func lenient(keyword string) bool {
	switch keyword {
	case "interval", "timeout", "rise", "fall", "weight":
		return true
	}
	return strings.HasPrefix(keyword, "garp_") || strings.HasPrefix(keyword, "vrrp_garp_master_")
}

// atLeastOne is number for what keepalived raises to 1.
func (n statement) atLeastOne(most int64) (int, bool) {
	v, ok := n.number(0, most, "leaves the value that there was")
	if ok && v == 0 {
		n.slip(CodeValue, n.At, n.Words[0]+" 0: keepalived takes 1", "write 1")
		v = 1
	}
	return v, ok
}

// duration reads a decimal number of seconds.
func (n statement) duration(least, most time.Duration, instead string) (time.Duration, bool) {
	d, ok := seconds(n.Words[1])
	if !ok || d < least || d > most {
		n.fault(CodeValue, n.At, fmt.Sprintf("%s %q, want %v to %v seconds: keepalived %s", n.Words[0], n.Words[1], least.Seconds(), most.Seconds(), instead), "write a number in that range")
		return 0, false
	}
	return d, true
}

// withNumber is a keyword with a number behind it.
func withNumber[T any](least, most int64, instead string, set func(*T, int)) keyword[T] {
	return keyword[T]{words: 2, read: func(into *T, n statement) {
		if v, ok := n.number(least, most, instead); ok {
			set(into, v)
		}
	}}
}

// withTime is a keyword with a number of seconds behind it.
func withTime[T any](least, most time.Duration, instead string, set func(*T, time.Duration)) keyword[T] {
	return keyword[T]{words: 2, read: func(into *T, n statement) {
		if d, ok := n.duration(least, most, instead); ok {
			set(into, d)
		}
	}}
}

// flag reads a keyword that may have a yes or no behind it.
func (n statement) flag() (value, ok bool) {
	if len(n.Words) < 2 {
		return true, true
	}
	if value, ok = boolean(n.Words[1]); !ok {
		n.fault(CodeValue, n.At, fmt.Sprintf("%s %q, want on, off or nothing: keepalived ignores the line", n.Words[0], n.Words[1]), "")
	}
	return value, ok
}

// alone reads a keyword that counts as yes whatever is behind it.
func (n statement) alone() bool {
	if len(n.Words) > 1 {
		if value, ok := boolean(n.Words[1]); ok && !value {
			n.fault(codeArgument, n.At, fmt.Sprintf("%s %s: keepalived does not read the %q, and the line means yes", n.Words[0], n.Words[1], n.Words[1]), "remove the line")
			return true
		}
		n.extra(1)
	}
	return true
}

// extra says that words behind the first count of a line are not read. Those behind auth_type are not told: one of them can be the
// password.
func (n statement) extra(count int) {
	switch {
	case len(n.Words) <= count:
	case n.Words[0] == "auth_type":
		n.found(Warning, codeExtra, n.At, "auth_type: keepalived does not read what is behind the first word", "write one keyword a line")
	default:
		n.found(Warning, codeExtra, n.At, fmt.Sprintf("%s: keepalived does not read %q", n.Words[0], strings.Join(n.Words[count:], " ")), "write one keyword a line")
	}
}

// user reads the user and group in the words of a line from a place on.
func user(words []string, from int) (u User) {
	if len(words) > from {
		u.Name = words[from]
	}
	if len(words) > from+1 {
		u.Group = words[from+1]
	}
	return u
}

// address reads an IP address without a zone.
func address(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(s)
	return a, err == nil && a.Zone() == ""
}

// host reads an address of a host or a group: keepalived reads nothing from a slash or a dash on.
func (n statement) host(s string) (netip.Addr, bool) {
	cut := strings.IndexAny(s, "/-")
	if cut < 0 {
		return address(s)
	}
	a, ok := address(s[:cut])
	if ok {
		n.found(Note, CodeIgnored, n.At, fmt.Sprintf("keepalived reads %s, and nothing of %q", a, s[cut:]), "write the address alone")
	}
	return a, ok
}

// command reads a script: all in quotes with its arguments, or a single word.
func (n statement) command(withUser bool) (*Command, bool) {
	words, closed := syntax.Arguments(n.Raw)
	if !closed {
		n.fault(syntax.CodeQuote, n.At, n.Words[0]+": a quote is not closed", "close it on the same line")
		return nil, false
	}
	if len(words) < 2 || strings.TrimSpace(words[1]) == "" {
		n.fault(CodeMissing, n.At, n.Words[0]+" has no script", "write the path of a program behind it")
		return nil, false
	}
	c := &Command{At: n.At, Text: words[1]}
	if c.Args, closed = syntax.Arguments(words[1]); !closed {
		n.fault(syntax.CodeQuote, n.At, n.Words[0]+": a quote inside of the script is not closed", "close it")
		return nil, false
	}
	c.Shell = strings.HasPrefix(c.Text, "<")
	switch {
	case withUser:
		c.User = user(words, 2)
	case len(words) > 2:
		n.found(Warning, "script-arguments", n.At, fmt.Sprintf("keepalived does not read what is behind the script: %q", strings.Join(words[2:], " ")),
			`put the script and its arguments between double quotes: script "/path/to/check arg"`)
	}
	return c, len(c.Args) > 0
}
