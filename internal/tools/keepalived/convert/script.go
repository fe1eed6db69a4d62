package convert

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/keepvip/keepvip/internal/tools/keepalived"
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
func (c checking) script(t keepalived.Tracked) *check {
	for _, s := range c.cfg.Scripts {
		if s.Name != t.Name {
			continue
		}
		k := &check{name: s.Name, nameAt: s.At, weightAt: given(&s.Block, "weight")}
		from := given(&s.Block, "script")
		if s.Command.CallsAnother() {
			c.changed(from.at, fmt.Sprintf("%s works as written: on Debian and Ubuntu keepalived calls killall5 in the place of pidof, and the check always fails", s.Name),
				"compare which node holds the address before and after")
		}
		if program := asksForProcess(s.Command.Args); program != "" {
			k.kind = "process"
			k.set("process", program, from)
			k.set("quorum", 1, source{why: "looked for at each interval, and counted by rise and fall"})
			c.changed(from.at, fmt.Sprintf("%s becomes a check of kind process: keepvip itself looks for %s, at the same interval and with the same rise and fall", s.Name, program),
				"remove quorum, and keepvip sees the end of the program immediately, also that of one that is only started anew")
		} else if address := asksForPort(s.Command); address != "" {
			k.kind = "tcp"
			k.set("address", address, from)
			c.changed(from.at, fmt.Sprintf("%s becomes a check of kind tcp: keepvip itself connects to %s, whatever the host's shell can do, and sees a refused connection at once", s.Name, address), "")
		} else if !c.command(k, s) {
			return nil
		}
		c.timing(k, s, t.Weight.Reverse)
		return k
	}
	return nil
}

var program = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s/:-][^\s/:]{0,62}$`) })

// asksForProcess is the program that a command of the usual kinds looks for: killall -0 NAME, pidof NAME, pgrep -x NAME, pkill -0 -x NAME.
func asksForProcess(args []string) string {
	if len(args) == 0 {
		return ""
	}
	name := args[len(args)-1]
	known := [][]string{{"killall", "-0"}, {"pidof"}, {"pgrep", "-x"}, {"pkill", "-0", "-x"}, {"pkill", "-x", "-0"}}
	for _, k := range known {
		if len(args) == len(k)+1 && base(args[0]) == k[0] && slices.Equal(args[1:len(k)], k[1:]) && program().MatchString(name) && utf8.ValidString(name) {
			return name
		}
	}
	return ""
}

var devTCP = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^<\s*/dev/tcp/([A-Za-z0-9][-A-Za-z0-9.:]*)/([0-9]+)$`)
})

// asksForPort is the address that a command of the usual kinds connects to: </dev/tcp/HOST/PORT, nc -z HOST PORT.
func asksForPort(command keepalived.Command) string {
	host, port := "", ""
	if m := devTCP().FindStringSubmatch(strings.TrimSpace(command.Text)); m != nil {
		host, port = m[1], m[2]
	}
	if a := command.Args; len(a) == 4 && base(a[0]) == "nc" && a[1] == "-z" {
		host, port = a[2], a[3]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || !hostName().MatchString(host) {
		return ""
	}
	return net.JoinHostPort(host, port)
}

var hostName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9:][-A-Za-z0-9.:]*$`) })

// timing writes interval, timeout, rise and fall as keepalived has them, unless keepvip does the same by itself.
func (c checking) timing(k *check, s *keepalived.Script, reverse bool) {
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
	k.set("interval", interval, given(&s.Block, "interval"))
	if k.kind != "process" {
		k.set("timeout", timeout, from)
	}
	k.rise, k.fall = counted{rise, given(&s.Block, "rise")}, counted{fall, given(&s.Block, "fall")}
	switch {
	case s.InitFail && reverse:
		c.note(s.Where("init_fail"), "init_fail: a check that is turned round is good from its first result on that keepalived takes for a failure")
	case s.InitFail:
		k.set("initFail", true, given(&s.Block, "init_fail"))
	}
}
