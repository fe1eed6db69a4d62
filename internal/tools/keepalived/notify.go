package keepalived

import (
	"fmt"
	"regexp"
	"strings"
)

// notifyKeywords adds the notify keywords to the table of a block. The first one of a kind counts.
func notifyKeywords[T any](table map[string]keyword[T], of func(*T) *Notify) {
	add := func(word string, to func(*Notify) **Command) {
		table[word] = keyword[T]{words: 2, read: func(into *T, n statement) { readNotify(to(of(into)), n) }}
	}
	add("notify_master", func(n *Notify) **Command { return &n.Master })
	add("notify_backup", func(n *Notify) **Command { return &n.Backup })
	add("notify_fault", func(n *Notify) **Command { return &n.Fault })
	add("notify_stop", func(n *Notify) **Command { return &n.Stop })
	add("notify", func(n *Notify) **Command { return &n.Any })
	add("notify_master_rx_lower_pri", func(n *Notify) **Command { return &n.LowerPriority })
	table["notify_deleted"] = keyword[T]{read: func(into *T, n statement) {
		notify := of(into)
		notify.SayDeleted = true
		if len(n.Words) > 1 {
			readNotify(&notify.Deleted, n)
		}
	}}
}

func readNotify(to **Command, n statement) {
	c, ok := n.command(true)
	switch {
	case !ok:
	case *to != nil:
		n.fault(CodeDuplicate, n.At, fmt.Sprintf("%s is given already (%v): keepalived drops this one", n.Words[0], (*to).At), "remove one, or call both from a script")
	default:
		*to = c
		checkNotifyUser(n, c)
	}
}

// checkNotifyUser looks for an argument of a notify script that keepalived takes for the user whom the script runs as.
func checkNotifyUser(n statement, c *Command) {
	quoted := strings.HasPrefix(strings.TrimLeft(strings.TrimPrefix(n.Raw, n.Words[0]), " \t"), `"`)
	switch u := c.User.Name; {
	case u == "" || c.User.Root() || u == "keepalived_script" || quoted && userName.MatchString(u):
	default:
		n.found(Warning, "notify-user", n.At,
			fmt.Sprintf("%s: %q is no argument, but the user whom keepalived runs %s as: without such a user it never calls the script", n.Words[0], u, c.Args[0]),
			`put the script and its arguments between double quotes, and behind them nothing but a user: "/path/to/script arg"`)
	}
}

// userName is what useradd takes for a name, or a number.
var userName = regexp.MustCompile(`^[a-z0-9_][a-z0-9_.-]*$`)
